//! Laws that hold exactly for every server. One connection on one core takes the cycles of a replay
//! without clocks. Requests are conserved. Clients are either in a request or think (Little's law
//! for a closed loop). No core idles while threads wait.

use crate::timing::definitions;
use crate::timing::steps;
use crate::timing::steps::Step;
use corehop_simulator::core_model::{CoreModel, InOrder, Reference, ServedBy};
use corehop_simulator::timing::{
    Annotate, CoreOutcome, Load, Needs, Outcome, QUANTUM_CYCLES, SCHEDULERS, Setting, Streams,
    simulate,
};
use corehop_simulator::{CoreId, Machine, ReplayOptions, Split, replay};
use corehop_traces::{Execution, FunctionId, Kind, RequestId, Trace, WriterOptions};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

const FUNCTIONS: u32 = 4;

fn machine() -> Machine {
    let text = "\
name = \"tiny\"
cores = 4
line_size_bytes = 64
memory_latency_cycles = 199
hop_cost_cycles = 1009
l1i = { size_bytes = 128, ways = 1, latency_cycles = 2 }
l1d = { size_bytes = 128, ways = 2, latency_cycles = 3 }
l2 = { size_bytes = 512, ways = 4, latency_cycles = 11 }
l3 = { size_bytes = 960, ways = 5, latency_cycles = 41 }
";
    Machine::from_toml(text, Path::new("tiny.toml")).unwrap()
}

/// A server whose threads serve this many requests each, alternately, of different lengths.
fn server(threads: u32, requests: u32) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.trace");
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(&path, &options, "f0", 0x10_000).unwrap();
    definitions::functions(&mut writer, (module, 0x10_000), FUNCTIONS).unwrap();
    let mut steps = Vec::new();
    // An additional request of each thread marks the end of the last one.
    for request in 0..=requests {
        for thread in 0..threads {
            for step in 0..10 + (request * 7 + thread * 3) % 11 {
                let own = u64::from(thread * 4096 + (step * request) % 13 * 64);
                steps.push(Step {
                    thread,
                    begins_request: step == 0,
                    block: step % FUNCTIONS,
                    data: vec![(own, step % 3 == 0), (20_000 + u64::from(step) * 64, false)],
                });
            }
        }
    }
    let numbers: Vec<u64> = (1..).take(((requests + 1) * threads) as usize).collect();
    steps::perform(writer, &vec![1; threads as usize], &steps, &numbers).unwrap();
    Trace::open(&path).unwrap()
}

fn setting<'a>(machine: &'a Machine, split: &'a Split, connections: usize) -> Setting<'a> {
    Setting {
        cores: 2,
        split: Some(split),
        warm_up: 0,
        ..Setting::closed_loop(machine, connections, 40)
    }
}

fn split() -> Split {
    Split::new([(FunctionId(0), CoreId(0)), (FunctionId(2), CoreId(1))])
}

fn run(streams: &Streams, setting: &Setting<'_>) -> Outcome {
    simulate(streams, setting, InOrder::new).unwrap()
}

#[test]
fn one_connection_on_one_core_takes_the_cycles_of_a_replay() {
    let (machine, split, trace) = (machine(), split(), server(1, 12));
    let streams = Streams::new(&trace, &[&split]).unwrap();
    let options = ReplayOptions {
        requests: Some((0..12).map(RequestId).collect()),
        ..ReplayOptions::default()
    };
    let replayed = replay(&trace, &machine, &Split::default(), &options).unwrap();
    let timed = run(
        &streams,
        &Setting {
            cores: 1,
            requests: 12,
            ..setting(&machine, &split, 1)
        },
    );
    assert_eq!(timed.per_core[0].counters, replayed.counters);
    assert_eq!(timed.elapsed_cycles, replayed.counters.cycles);
    assert_eq!(timed.per_core[0].busy_cycles, replayed.counters.cycles);
    assert_eq!(
        timed.latencies.iter().sum::<u64>(),
        replayed.counters.cycles
    );
    let timed = run(
        &streams,
        &Setting {
            scheduler: "split".parse().unwrap(),
            requests: 12,
            ..setting(&machine, &split, 1)
        },
    );
    let replayed = replay(&trace, &machine, &split, &options).unwrap();
    let counters: Vec<_> = timed.per_core.iter().map(|core| core.counters).collect();
    assert_eq!((counters, timed.hops()), (replayed.per_core, replayed.hops));
    assert_eq!(timed.elapsed_cycles, replayed.counters.cycles);
}

#[test]
fn every_cycle_of_a_client_is_thought_or_waited_for_a_request() {
    let (machine, split, trace) = (machine(), split(), server(1, 12));
    let streams = Streams::new(&trace, &[&split]).unwrap();
    for scheduler in SCHEDULERS {
        let timed = run(
            &streams,
            &Setting {
                scheduler: scheduler.name.parse().unwrap(),
                load: Load::Closed {
                    think_cycles: 777,
                    exponential: false,
                },
                ..setting(&machine, &split, 1)
            },
        );
        // N = X (R + Z) with one client: it completes as many requests as think times.
        let latencies: u64 = timed.latencies.iter().sum();
        assert_eq!(
            timed.elapsed_cycles,
            latencies + 40 * 777,
            "{}",
            scheduler.name
        );
    }
}

#[test]
fn threads_in_the_system_are_on_cores_or_in_queues() {
    let (machine, split, trace) = (machine(), split(), server(3, 12));
    let streams = Streams::new(&trace, &[&split]).unwrap();
    for scheduler in SCHEDULERS {
        let timed = run(
            &streams,
            &Setting {
                scheduler: scheduler.name.parse().unwrap(),
                quantum_cycles: 1,
                ..setting(&machine, &split, 3)
            },
        );
        let sum = |of: fn(&CoreOutcome) -> u64| timed.per_core.iter().map(of).sum::<u64>();
        let in_system = sum(|core| core.busy_cycles) + sum(|core| core.queued_cycles);
        // Three clients that do not think are always in the system. At the end, a core may be a
        // reference or a hop ahead or behind.
        let always = 3 * timed.elapsed_cycles;
        let most = u64::from(machine.hop_cost_cycles + machine.memory_latency_cycles);
        let off = in_system.abs_diff(always);
        assert!(off <= 2 * most, "{}: {in_system} {always}", scheduler.name);
    }
}

#[test]
fn no_core_idles_while_threads_wait() {
    let (machine, split, trace) = (machine(), split(), server(4, 12));
    let streams = Streams::new(&trace, &[&split]).unwrap();
    for name in ["free", "steal", "steal-random"] {
        for cores in 1..=4 {
            let timed = run(
                &streams,
                &Setting {
                    cores,
                    scheduler: name.parse().unwrap(),
                    requests: 100,
                    ..setting(&machine, &split, 4)
                },
            );
            let idle: Vec<u64> = timed.per_core.iter().map(|core| core.idle_cycles).collect();
            // The last request's core has not started the next thread yet.
            let idling = idle.iter().filter(|&&cycles| cycles > 0).count();
            assert!(idling <= 1, "{name} on {cores}: {idle:?}");
            assert!(
                idle.iter().sum::<u64>() <= QUANTUM_CYCLES + 199,
                "{name}: {idle:?}"
            );
        }
    }
}

/// Records the calls of a core model.
#[derive(Clone)]
struct Diary(Rc<RefCell<Vec<Told>>>, u64);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Instructions(u32),
    Reference(Kind, u8),
    Switch,
}

impl CoreModel for Diary {
    fn instructions(&mut self, count: u32) {
        self.0.borrow_mut().push(Told::Instructions(count));
    }

    fn reference(&mut self, reference: Reference) {
        assert!(reference.served_by != ServedBy::OtherL2);
        let told = Told::Reference(reference.kind, reference.address_from);
        self.0.borrow_mut().push(told);
        self.1 += 1;
    }

    fn mispredicted(&mut self, _depends_on: u8) {
        unreachable!("no branches are predicted");
    }

    fn switch(&mut self) {
        self.0.borrow_mut().push(Told::Switch);
    }

    fn wait_until(&mut self, cycle: u64) {
        self.1 = self.1.max(cycle);
    }

    fn cycle(&self) -> u64 {
        self.1
    }
}

/// Reports as many instructions as the code block's number plus one, and a source load for the
/// second access.
struct MadeUp;

impl Annotate for MadeUp {
    fn execution(&mut self, execution: &Execution<'_>, address_from: &mut Vec<u8>) -> u32 {
        address_from.extend([0, 9]);
        execution.code_block + 1
    }
}

#[test]
fn a_core_model_is_told_of_instructions_before_their_references_and_of_addresses() {
    let (machine, split, trace) = (machine(), split(), server(1, 1));
    let streams = Streams::annotated(
        (&trace, trace.executions()),
        &[&split],
        &mut MadeUp,
        Needs::default(),
    )
    .unwrap();
    let diary = Rc::new(RefCell::new(Vec::new()));
    let setting = Setting {
        requests: 1,
        ..setting(&machine, &split, 1)
    };
    simulate(&streams, &setting, |_| Diary(diary.clone(), 0)).unwrap();
    let mut expected = Vec::new();
    for step in 0..10 {
        expected.push(Told::Instructions(step % FUNCTIONS + 1));
        let own = if step % 3 == 0 {
            Kind::Store
        } else {
            Kind::Load
        };
        expected.push(Told::Reference(Kind::Fetch, 0));
        expected.push(Told::Reference(own, 9));
        expected.push(Told::Reference(Kind::Load, 0));
    }
    expected.push(Told::Switch);
    assert_eq!(*diary.borrow(), expected);
    assert_eq!(streams.references(1), 30);
    // Five bytes for each reference, and one more entry for each execution.
    assert!(streams.size_bytes() < 8 * 30 + 24 * 8 + 10 * 5 + 10 * 48);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (machine, split, trace) = (machine(), split(), server(2, 2));
    let streams = Streams::new(&trace, &[&split]).unwrap();
    let good = setting(&machine, &split, 2);
    let refused = |setting: Setting<'_>| {
        let refused = simulate(&streams, &setting, InOrder::new);
        refused.unwrap_err().to_string()
    };
    assert!(
        refused(Setting {
            connections: 3,
            ..good
        })
        .starts_with(
            "the trace has 2 connections (threads that serve requests), but 3 were requested: "
        )
    );
    let expected = "5 cores: machine tiny has 4, use 1 to 4";
    assert_eq!(refused(Setting { cores: 5, ..good }), expected);
    let expected = "0 connections: use 1 to 1024";
    assert_eq!(
        refused(Setting {
            connections: 0,
            ..good
        }),
        expected
    );
    let expected = "no requests to count: count at least one";
    assert_eq!(
        refused(Setting {
            requests: 0,
            ..good
        }),
        expected
    );
    assert!(
        refused(Setting {
            quantum_cycles: 0,
            ..good
        })
        .starts_with("a quantum of 0 cycles")
    );
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e6] {
        let load = Load::Open {
            requests_per_million_cycles: rate,
        };
        assert!(refused(Setting { load, ..good }).ends_with("at most 1000000"));
    }
    let scheduler = "split".parse().unwrap();
    let needs = refused(Setting {
        scheduler,
        split: None,
        ..good
    });
    assert_eq!(needs, "scheduler split needs a plan: add --plan");
    let many = refused(Setting {
        scheduler,
        cores: 1,
        ..good
    });
    assert!(
        many.starts_with("the split uses 2 cores, but the replay 1"),
        "{many}"
    );
}
