//! Random small traces, machines and settings: the engine and a naive event simulation agree on
//! every counter, for these schedulers, both loads, every core model and prefetcher.

pub mod case;
mod core;
pub mod naive;
pub mod policy;
pub mod predictors;
pub mod prefetches;
pub mod program;

use crate::timing::random::{equal, holds};
use case::{Case, Model, cases};
use corehop_simulator::Machine;
use corehop_simulator::core_model::{CoreModel, InOrder, Interval, Window};
use corehop_simulator::timing::{Entry, Needs, Setting, Streams, Unknown, simulate, simulate_all};
use naive::naive;
use policy::Make;
use program::{MadeUp, Script, scripts};
use proptest::test_runner::TestCaseResult;

/// Tests this for these schedulers; `policy` is their second implementation.
pub fn every_counter_is_equal(schedulers: &[&'static Entry], policy: Make) {
    holds(
        "timed replays equal the naive one",
        cases(schedulers, policy),
        |case| {
            let trace = program::record(&case.steps);
            let split = case.planned.split();
            let scripts: Vec<Script> = scripts(&case.steps);
            let needs = Needs {
                prefetcher: case.prefetcher,
                branch_predictor: case.branch_predictor,
            };
            let streams = match case.model {
                Model::InOrder => {
                    Streams::annotated((&trace, trace.executions()), &[&split], &mut Unknown, needs)
                }
                Model::Interval | Model::Window => {
                    let annotate = &mut MadeUp::default();
                    Streams::annotated((&trace, trace.executions()), &[&split], annotate, needs)
                }
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
            let page_sizes = case.page_sizes();
            let setting = Setting {
                machine: &case.machine,
                cores: case.cores,
                connections: case.connections(scripts.len()),
                repeat_connections: true,
                split: Some(&split),
                scheduler: case.scheduler,
                prefetcher: case.prefetcher,
                branch_predictor: case.branch_predictor,
                page_sizes: page_sizes.as_ref(),
                random_pages: case.random_pages,
                load: case.load,
                seed: case.seed,
                quantum_cycles: case.quantum_cycles,
                warm_up: case.warm_up,
                requests: case.requests,
            };
            match case.model {
                Model::InOrder => holds_for(&case, &scripts, (&streams, &setting), InOrder::new),
                Model::Interval => holds_for(&case, &scripts, (&streams, &setting), Interval::new),
                Model::Window => holds_for(&case, &scripts, (&streams, &setting), Window::new),
            }
        },
    );
}

fn holds_for<M: CoreModel>(
    case: &Case,
    scripts: &[Script],
    (streams, setting): (&Streams, &Setting<'_>),
    core: fn(&Machine) -> M,
) -> TestCaseResult {
    let outcome = simulate(streams, setting, core).unwrap();
    equal(&outcome, &naive(case, scripts))?;
    let both = simulate_all(streams, &[*setting; 2], core, &|_| ()).unwrap();
    equal(&both, &vec![outcome.clone(), outcome])
}
