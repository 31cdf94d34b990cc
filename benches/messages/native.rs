//! The native experiment: `benches/programs/messages.c`, whose functions `corehop` hooks for hops.

use crate::experiments::Experiment;
use crate::patched::{Outcome, Program, quartiles};
use crate::simulated::{Point, Rates, Way};

/// Measures all ways at all points of all experiments, in rounds over all of them; returns medians.
pub fn measure(
    program: &Program,
    experiments: &[Experiment],
    rounds: usize,
    duration_ms: u32,
) -> Outcome<Vec<Vec<Vec<Rates>>>> {
    let mut runs: Vec<(Way, Point, Vec<[f64; 4]>)> = Vec::new();
    for experiment in experiments {
        for &point in &experiment.points {
            runs.extend(experiment.ways.iter().map(|&way| (way, point, Vec::new())));
        }
    }
    for _ in 0..rounds {
        for (way, point, printed) in &mut runs {
            let backend = (*way == Way::Hop).then_some("carrier");
            let told = program.run(backend, &words(*way, *point, duration_ms, program))?;
            let told = <[f64; 4]>::try_from(told);
            printed.push(told.map_err(|_| "messages.c did not print four numbers")?);
        }
    }
    let mut rates = runs.iter().map(|(_, _, printed)| rates(printed));
    let mut of_point =
        |experiment: &Experiment| rates.by_ref().take(experiment.ways.len()).collect();
    let of = |experiment: &Experiment| {
        experiment
            .points
            .iter()
            .map(|_| of_point(experiment))
            .collect()
    };
    Ok(experiments.iter().map(of).collect())
}

fn words(way: Way, point: Point, duration_ms: u32, program: &Program) -> Vec<String> {
    let [first, second] = program.processors.map(|cpu| cpu as u64);
    let numbers = [
        point.local_lines,
        point.section_lines,
        point.modified_lines,
        point.message_bytes,
        point.threads.into(),
        duration_ms.into(),
        1,
        first,
        second,
    ];
    let numbers = numbers.iter().map(u64::to_string);
    [way.name().to_owned()].into_iter().chain(numbers).collect()
}

fn rates(printed: &[[f64; 4]]) -> Rates {
    let median = |place: usize| {
        let all: Vec<f64> = printed.iter().map(|numbers| numbers[place]).collect();
        quartiles(&all)[1]
    };
    Rates {
        rounds: median(0),
        cycles_per_round: median(1) + median(2),
        busy: median(3),
        counted: None,
    }
}
