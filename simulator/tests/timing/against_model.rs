//! Compares the timed replay with mean value analysis (`corehop_simulator::queueing`). The two
//! implementations are independent.
//!
//! The model's only input from a timed replay is the number of cycles of a request on each core. If
//! its assumptions hold, both have the same throughput: requests and think times are exponential,
//! and waiting threads are served in order of arrival. The lengths of requests are random, a
//! thousand for each connection; the sampling error is below one percent. If only the times are
//! constant instead, the replay is between the model and its upper bound.

use crate::timing::definitions;
use crate::timing::steps;
use crate::timing::steps::Step;
use corehop_simulator::core_model::InOrder;
use corehop_simulator::queueing::{Network, asymptotic, throughput};
use corehop_simulator::timing::{Load, Outcome, Setting, Streams, simulate};
use corehop_simulator::{CoreId, Machine, Split};
use corehop_traces::{FunctionId, Trace, WriterOptions};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

const CONNECTIONS: u32 = 6;

const THINK_CYCLES: u64 = 700;

/// Functions and the mean number of their executions, of four cycles each.
type Phases<'a> = &'a [(u32, f64)];

/// Schedulers with one request each. Without a split, its length is one number. With a split, the
/// first phase runs on the thread's current core, which is core 1 after the previous request. All
/// threads that wait for a core demand the same average time of it; the model does not cover short
/// visits among long ones.
const REQUESTS: [(&str, Phases<'_>); 2] = [
    ("free", &[(2, 80.0)]),
    ("split", &[(2, 25.0), (0, 30.0), (1, 25.0)]),
];

/// Every reference except the first hits, and hops cost almost nothing.
fn machine() -> Machine {
    let text = "\
name = \"roomy\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 10
hop_cost_cycles = 1
l1i = { size_bytes = 1024, ways = 16, latency_cycles = 4 }
l1d = { size_bytes = 1024, ways = 16, latency_cycles = 4 }
l2 = { size_bytes = 2048, ways = 16, latency_cycles = 5 }
";
    Machine::from_toml(text, Path::new("roomy.toml")).unwrap()
}

/// A server of requests; `length` returns the length of a phase from its mean.
fn server(requests: usize, phases: Phases<'_>, mut length: impl FnMut(f64) -> u64) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.trace");
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(&path, &options, "f0", 0x10_000).unwrap();
    definitions::functions(&mut writer, (module, 0x10_000), 3).unwrap();
    let mut steps = Vec::new();
    // An additional request of each thread marks the end of the last one.
    for _ in 0..=requests {
        for thread in 0..CONNECTIONS {
            let mut begins_request = true;
            for &(block, mean) in phases {
                for _ in 0..length(mean) {
                    steps.push(Step {
                        thread,
                        begins_request,
                        block,
                        data: Vec::new(),
                    });
                    begins_request = false;
                }
            }
        }
    }
    let numbers: Vec<u64> = (1..).take((requests + 1) * CONNECTIONS as usize).collect();
    steps::perform(writer, &[1; CONNECTIONS as usize], &steps, &numbers).unwrap();
    Trace::open(&path).unwrap()
}

/// Samples exponential lengths, at least 1.
fn drawn(mean: f64, random: &mut ChaCha8Rng) -> u64 {
    let uniform: f64 = random.random();
    (-(1.0 - uniform).ln() * mean).ceil() as u64
}

/// One kind of load on the server's connections.
struct Subject {
    machine: Machine,
    split: Split,
    streams: Streams,
    load: Load,
    counted: u64,
}

impl Subject {
    fn new(trace: &Trace, load: Load, counted: u64) -> Subject {
        let split = Split::new([0, 1].map(|index| (FunctionId(index), CoreId(index))));
        Subject {
            machine: machine(),
            streams: Streams::new(trace, &[&split]).unwrap(),
            split,
            load,
            counted,
        }
    }

    fn simulated(&self, scheduler: &str, connections: u32) -> Outcome {
        let setting = Setting {
            cores: 2,
            split: Some(&self.split),
            scheduler: scheduler.parse().unwrap(),
            load: self.load,
            quantum_cycles: 20,
            warm_up: 100,
            ..Setting::closed_loop(&self.machine, connections as usize, self.counted)
        };
        simulate(&self.streams, &setting, InOrder::new).unwrap()
    }
}

/// Returns the network that corresponds to the scheduler, with the measured times of requests on
/// the cores.
fn network(scheduler: &str, outcome: &Outcome, think_cycles: u64) -> Network {
    let of_core = |core: &corehop_simulator::timing::CoreOutcome| {
        core.busy_cycles as f64 / outcome.requests as f64
    };
    let demands: Vec<f64> = outcome.per_core.iter().map(of_core).collect();
    let think_time = think_cycles as f64;
    match scheduler {
        "free" => Network::of_equal_cores(demands.iter().sum(), 2, think_time),
        _ => Network::of_stages(&demands, think_time),
    }
}

fn requests_per_cycle(outcome: &Outcome) -> f64 {
    outcome.requests_per_million_cycles() / 1e6
}

#[test]
fn where_its_assumptions_hold_the_model_is_a_hundredth_off_at_most() {
    for (scheduler, phases) in REQUESTS {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let trace = server(1000, phases, |mean| drawn(mean, &mut random));
        for think_cycles in [0, THINK_CYCLES] {
            let load = Load::Closed {
                think_cycles,
                exponential: true,
            };
            let subject = Subject::new(&trace, load, 20_000);
            for connections in [1, 2, 3, CONNECTIONS] {
                let outcome = subject.simulated(scheduler, connections);
                let simulated = requests_per_cycle(&outcome);
                let network = network(scheduler, &outcome, think_cycles);
                let off = throughput(&network, connections) / simulated - 1.0;
                let of = format!("{scheduler}, {connections} connections, think {think_cycles}");
                println!("{of}: {:+.2} %", off * 100.0);
                assert!(off.abs() < 0.01, "{of}: {off}");
            }
        }
    }
}

#[test]
fn requests_all_alike_are_served_faster_than_the_model_and_no_faster_than_its_bound() {
    let load = Load::Closed {
        think_cycles: THINK_CYCLES,
        exponential: false,
    };
    for (scheduler, phases) in REQUESTS {
        let trace = server(40, phases, |mean| mean as u64);
        let subject = Subject::new(&trace, load, 2000);
        for connections in 2..=CONNECTIONS {
            let outcome = subject.simulated(scheduler, connections);
            let simulated = requests_per_cycle(&outcome);
            let network = network(scheduler, &outcome, THINK_CYCLES);
            let least = throughput(&network, connections);
            let most = asymptotic(&network, connections).most;
            let of = format!("{scheduler}, {connections}: {least} {simulated} {most}");
            // Requests that are in progress when counting begins and ends.
            let edges = 1.0 + 2.0 * f64::from(CONNECTIONS) / 2000.0;
            assert!(
                least < simulated * edges && simulated < most * edges,
                "{of}"
            );
        }
    }
}
