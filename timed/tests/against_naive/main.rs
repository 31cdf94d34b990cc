//! Random small traces, machines and settings: the engine and a naive event simulation agree on
//! every counter, for every scheduler and both loads.

mod case;
mod naive;
#[path = "../../../simulator/tests/oracle/mod.rs"]
mod oracle;
mod policy;
mod program;
#[path = "../../../simulator/tests/random/mod.rs"]
mod random;
#[path = "../../../simulator/tests/steps/mod.rs"]
mod steps;

use case::cases;
use corehop_core_model::InOrder;
use corehop_timed::{Setting, Streams, simulate, simulate_all};
use naive::naive;
use program::{Script, scripts};
use random::{equal, holds};

#[test]
fn every_counter_is_equal_for_every_scheduler_and_load() {
    holds("timed replays equal the naive one", cases(), |case| {
        let trace = program::record(&case.steps);
        let split = case.planned.split();
        let scripts: Vec<Script> = scripts(&case.steps);
        let streams = match Streams::new(&trace, &[&split]) {
            Ok(streams) => streams,
            Err(error) => {
                let expected = "no thread of the trace served a whole request";
                assert!(error.to_string().starts_with(expected), "{error}");
                return equal(scripts.len(), 0);
            }
        };
        equal(streams.connections(), scripts.len())?;
        let setting = Setting {
            machine: &case.machine,
            cores: case.cores,
            connections: case.connections(scripts.len()),
            repeat_connections: true,
            split: Some(&split),
            scheduler: case.choice(),
            load: case.load,
            seed: case.seed,
            quantum_cycles: case.quantum_cycles,
            warm_up: case.warm_up,
            requests: case.requests,
        };
        let outcome = simulate(&streams, &setting, InOrder::new).unwrap();
        equal(&outcome, &naive(&case, &scripts))?;
        let both = simulate_all(&streams, &[setting; 2], InOrder::new).unwrap();
        equal(&both, &vec![outcome.clone(), outcome])
    });
}
