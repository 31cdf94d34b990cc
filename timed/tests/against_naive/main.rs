//! Random small traces, machines and settings: the engine and a naive event simulation agree on
//! every counter, for every scheduler, both loads, both core models and every prefetcher.

mod case;
mod core;
#[path = "../../../core_model/tests/naive/mod.rs"]
mod interval;
mod naive;
#[path = "../../../simulator/tests/oracle/mod.rs"]
mod oracle;
mod policy;
mod prefetches;
mod program;
#[path = "../../../simulator/tests/random/mod.rs"]
mod random;
#[path = "../../../simulator/tests/steps/mod.rs"]
mod steps;

use case::{Case, cases};
use corehop_core_model::{CoreModel, InOrder, Interval};
use corehop_simulator::Machine;
use corehop_timed::{Setting, Streams, Unknown, simulate, simulate_all};
use naive::naive;
use program::{MadeUp, Script, scripts};
use proptest::test_runner::TestCaseResult;
use random::{equal, holds};

#[test]
fn every_counter_is_equal_for_every_scheduler_load_core_model_and_prefetcher() {
    holds("timed replays equal the naive one", cases(), |case| {
        let trace = program::record(&case.steps);
        let split = case.planned.split();
        let scripts: Vec<Script> = scripts(&case.steps);
        let streams = match case.interval {
            true => {
                let annotate = &mut MadeUp::default();
                Streams::annotated(&trace, &[&split], annotate, case.prefetcher)
            }
            false => Streams::annotated(&trace, &[&split], &mut Unknown, case.prefetcher),
        };
        let streams = match streams {
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
            prefetcher: case.prefetcher,
            load: case.load,
            seed: case.seed,
            quantum_cycles: case.quantum_cycles,
            warm_up: case.warm_up,
            requests: case.requests,
        };
        match case.interval {
            true => holds_for(&case, &scripts, (&streams, &setting), Interval::new),
            false => holds_for(&case, &scripts, (&streams, &setting), InOrder::new),
        }
    });
}

fn holds_for<M: CoreModel>(
    case: &Case,
    scripts: &[Script],
    (streams, setting): (&Streams, &Setting<'_>),
    core: fn(&Machine) -> M,
) -> TestCaseResult {
    let outcome = simulate(streams, setting, core).unwrap();
    equal(&outcome, &naive(case, scripts))?;
    let both = simulate_all(streams, &[*setting; 2], core).unwrap();
    equal(&both, &vec![outcome.clone(), outcome])
}
