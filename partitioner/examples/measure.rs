//! Scratch.
use corehop_partitioner::candidates::{Candidates, Rule};
use corehop_partitioner::evaluate::{Evaluator, Term, rounds};
use corehop_partitioner::progress::Silent;
use corehop_partitioner::requests::{Parts, Searched};
use corehop_partitioner::strategy::{Search, Strategy, search};
use corehop_simulator::{Alone, Machine, Prepared, ReplayOptions};
use corehop_traces::Trace;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |place: usize, default: u64| -> u64 {
        arguments.get(place).map_or(default, |a| a.parse().unwrap())
    };
    let (requests, within, cores) = (number(1, 10), number(2, 0), number(3, 3) as u32);
    let strategy = match arguments.get(4).map(|s| &**s) {
        Some("bound") => Some(Strategy::Bound),
        Some("local") => Some(Strategy::Local),
        _ => Some(Strategy::Exhaustive),
    };
    let limit = arguments
        .get(5)
        .map(|a| Duration::from_secs_f64(a.parse().unwrap()));
    rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build_global()
        .unwrap();
    let trace = Trace::open("/tmp/wt/sea/traces/samples/mariadb-tpcc.trace".as_ref()).unwrap();
    let parts = Parts::of(trace.requests(), Searched::Sample(requests as usize), 1).unwrap();
    let learning: Vec<u32> = parts.learning().collect();
    let rule = Rule {
        group_within: within,
        ..Rule::default()
    };
    let functions = Candidates::of(&trace, &learning, &rule)
        .unwrap()
        .representatives();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let begun = Instant::now();
    let options = ReplayOptions {
        requests: Some(parts.searched.clone()),
        ..ReplayOptions::default()
    };
    let prepared = Prepared::new(&trace, &[&machine], &functions, &options).unwrap();
    let alone = Alone::new(&prepared, &machine, rounds(parts.searched.len())).unwrap();
    println!(
        "prepared {:.2} s, {} functions, {} occurrences, {} touches",
        begun.elapsed().as_secs_f64(),
        functions.len(),
        alone.occurrences().len(),
        alone.touches()
    );
    alone.statistics();
    let terms = [Term::l2(alone)];
    let mut evaluator = Evaluator::new(&terms, &functions);
    let wanted = Search {
        cores,
        functions: cores,
        strategy,
        seed: 1,
        keep: 5,
        until: limit.map(|l| begun + l),
        progress: &Silent,
    };
    let ranking = search(&mut evaluator, &wanted);
    println!(
        "{:.2} s: {} evaluated, {} sets, {} simulations of residues ({:.1} % of sets x residues)",
        begun.elapsed().as_secs_f64(),
        ranking.evaluated,
        evaluator.sets_known(),
        evaluator.simulations(),
        100.0 * evaluator.simulations() as f64 / (evaluator.sets_known() * 64) as f64
    );
    println!(
        "best {:?} floor {} gap {:?}",
        ranking.best[0],
        ranking.floor,
        ranking.gap()
    );
    corehop_simulator::print_counts();
}
