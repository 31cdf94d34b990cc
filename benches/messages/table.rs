//! Experiments in rows for people and as objects for programs.

use crate::experiments::Experiment;
use crate::simulated::{Point, Rates, Way};
use serde_json::{Value, json};

/// Prints an experiment: rounds, cycles a round, and how busy the server is; `unit` is the rounds'.
pub fn print(experiment: &Experiment, rates: &[Vec<Rates>], unit: &str) {
    println!("{}: rounds {unit}, and cycles a round\n", experiment.name);
    let names: String = experiment
        .ways
        .iter()
        .map(|way| format!("{:>11}", way.name()))
        .collect();
    println!(
        "{:>8}{:>8}{:>9}{:>7}{names}{names}{:>9}",
        "threads", "section", "modified", "bytes", "busy"
    );
    for (point, rates) in experiment.points.iter().zip(rates) {
        let rounds: String = rates
            .iter()
            .map(|rates| format!("{:>11.2}", rates.rounds))
            .collect();
        let cycles = rates
            .iter()
            .map(|rates| format!("{:>11.0}", rates.cycles_per_round));
        let cycles: String = cycles.collect();
        let copying = experiment.ways.iter().position(|&way| way == Way::Copying);
        let busy = copying.map_or(f64::NAN, |place| rates[place].busy * 100.0);
        println!("{}{rounds}{cycles}{busy:>7.0} %", place(point));
    }
    println!();
}

/// Prints what caches lost of a round: L1D misses, and lines that stores took from other cores.
pub fn counts(experiment: &Experiment, rates: &[Vec<Rates>]) {
    println!(
        "{}: L1D misses a round, and lines taken by stores\n",
        experiment.name
    );
    let names: String = experiment
        .ways
        .iter()
        .map(|way| format!("{:>11}", way.name()))
        .collect();
    println!(
        "{:>8}{:>8}{:>9}{:>7}{names}{names}",
        "threads", "section", "modified", "bytes"
    );
    for (point, rates) in experiment.points.iter().zip(rates) {
        let counted = |of: fn([f64; 2]) -> f64| {
            let counts = rates.iter().filter_map(|rates| rates.counted);
            counts
                .map(|counts| format!("{:>11.1}", of(counts)))
                .collect::<String>()
        };
        let (misses, taken) = (counted(|counts| counts[0]), counted(|counts| counts[1]));
        println!("{}{misses}{taken}", place(point));
    }
    println!();
}

fn place(point: &Point) -> String {
    format!(
        "{:>8}{:>8}{:>9}{:>7}",
        point.threads, point.section_lines, point.modified_lines, point.message_bytes
    )
}

/// An experiment's points, with what each way came to.
pub fn figures(experiment: &Experiment, rates: &[Vec<Rates>]) -> Value {
    let row = |(point, rates): (&Point, &Vec<Rates>)| {
        let mut row = json!({
            "threads": point.threads, "local_lines": point.local_lines,
            "section_lines": point.section_lines, "modified_lines": point.modified_lines,
            "message_bytes": point.message_bytes,
        });
        for (way, rates) in experiment.ways.iter().zip(rates) {
            row[way.name()] = json!({
                "rounds": rates.rounds, "cycles_per_round": rates.cycles_per_round,
                "busy": rates.busy, "l1d_misses_per_round": rates.counted.map(|of| of[0]),
                "lines_taken_per_round": rates.counted.map(|of| of[1]),
            });
        }
        row
    };
    experiment.points.iter().zip(rates).map(row).collect()
}

/// What the text says of its server, which copies, and the same of these displacements and
/// invalidations. A server that hops stands in its place in the last column.
pub fn beside_text(experiments: &[Experiment], rates: &[Vec<Vec<Rates>>]) {
    println!(
        "{:<58}{:>8}{:>10}{:>10}",
        "server beside lock", "text", "copying", "hop"
    );
    let place = |way: Way| Way::ALL.iter().position(|&other| other == way).unwrap_or(0);
    let of = |experiment: usize,
              point: &dyn Fn(&Point) -> bool,
              ratio: fn(&Rates, &Rates) -> f64| {
        let points = experiments[experiment]
            .points
            .iter()
            .zip(&rates[experiment]);
        let chosen: Vec<&Vec<Rates>> = points.filter(|(p, _)| point(p)).map(|(_, r)| r).collect();
        [Way::Copying, Way::Hop].map(|way| {
            let ratios = chosen
                .iter()
                .map(|rates| ratio(&rates[place(way)], &rates[place(Way::Lock)]));
            ratios.collect::<Vec<f64>>()
        })
    };
    let rounds: fn(&Rates, &Rates) -> f64 = |way, lock| way.rounds / lock.rounds;
    let cycles: fn(&Rates, &Rates) -> f64 =
        |way, lock| way.cycles_per_round / lock.cycles_per_round;
    let l1d = experiments[0].points[0].local_lines / 2;
    let most = |all: &Vec<f64>| all.iter().copied().fold(f64::NAN, f64::max);
    let least = |all: &Vec<f64>| all.iter().copied().fold(f64::NAN, f64::min);
    let row = |name: &str, text: &str, ours: [f64; 2]| {
        let ours = ours.map(|ours| {
            if ours.is_nan() {
                "-".into()
            } else {
                format!("{ours:.2}")
            }
        });
        println!("{name:<58}{text:>8}{:>10}{:>10}", ours[0], ours[1]);
    };
    let few = of(0, &|p| p.section_lines * 16 <= l1d, rounds);
    row(
        "rounds, section of up to a sixteenth of an L1D, at worst",
        "< 1",
        few.each_ref().map(least),
    );
    let fits = of(0, &|p| p.section_lines <= l1d, rounds);
    row(
        "rounds, section within an L1D, at best",
        "3",
        fits.each_ref().map(most),
    );
    let beyond = of(0, &|p| p.section_lines > l1d, rounds);
    row(
        "rounds, section beyond an L1D, at best",
        "1",
        beyond.each_ref().map(most),
    );
    let saved = of(0, &|p| p.section_lines <= l1d, cycles);
    row(
        "cycles a round, section within an L1D, at best",
        "0.77",
        saved.each_ref().map(least),
    );
    let beyond = of(0, &|p| p.section_lines > l1d, cycles);
    row(
        "cycles a round, section beyond an L1D, at best",
        "1",
        beyond.each_ref().map(least),
    );
    println!();
}
