//! The expected result: from the plan's own search, and from a replay with the measured cost of
//! hops.

use super::arguments::Arguments;
use crate::failure::Failure;
use crate::open::open;
use crate::options::machines;
use crate::terminal::progress::during;
use corehop_partitioner::attribution::demands::Subject;
use corehop_partitioner::machine_list::first;
use corehop_partitioner::requests::complete;
use corehop_plan::Plan;
use corehop_simulator::{Machine, Replay, ReplayOptions, Setting, Split, replay_all};
use corehop_traces::Trace;
use serde::Serialize;

/// The prediction from the trace and the plan.
#[derive(Debug, Default, Serialize)]
pub struct Predicted {
    /// L2 misses as a multiple of those on one core: from the trace, or else from the plan.
    pub l2_misses_ratio: Option<f64>,
    /// Throughput as a multiple of that of the same connections without a plan.
    pub throughput_ratio: Option<f64>,
    /// The simulated machine.
    pub machine: Option<String>,
    /// The assumed cost of a hop on it, in cycles.
    pub hop_cost_cycles: Option<u32>,
}

/// Input of a prediction, except the cost of a hop here, which is measured.
pub struct Prediction {
    expected: Option<f64>,
    replay: Option<(Trace, Split, Machine)>,
    cores: u32,
    connections: u32,
}

impl Prediction {
    /// Returns a prediction without expectations.
    pub fn none() -> Prediction {
        Prediction {
            expected: None,
            replay: None,
            cores: 1,
            connections: 1,
        }
    }

    /// Opens the trace, if one is given, and checks that the plan fits it.
    pub fn prepare(arguments: &Arguments, plan: &Plan) -> Result<Prediction, Failure> {
        let expected = plan.expected.map(|expected| {
            let judged = expected.held_out;
            let before = judged.baseline_fetch_misses + judged.baseline_data_misses;
            (judged.split_fetch_misses + judged.split_data_misses) as f64 / before.max(1) as f64
        });
        let mut prediction = Prediction {
            expected,
            replay: None,
            cores: plan.cores,
            connections: arguments.connections,
        };
        if let Some(trace) = &arguments.trace {
            let planned = first(&plan.machine).0;
            let named = arguments.machine.as_deref().unwrap_or(planned);
            machines::tell_host([named]);
            let machine = Machine::named_or_path(named)?;
            let trace = open(trace)?;
            let split = Split::of_plan(plan, &trace)?;
            prediction.replay = Some((trace, split, machine));
        }
        Ok(prediction)
    }

    /// Predicts with hops of this duration in nanoseconds; 0 uses the cost in the machine file.
    pub fn with_hops_of(self, hop_ns: f64) -> Result<Predicted, Failure> {
        let Some((trace, split, mut machine)) = self.replay else {
            return Ok(Predicted {
                l2_misses_ratio: self.expected,
                ..Predicted::default()
            });
        };
        let measured = machines::clock_ghz().map(|ghz| (hop_ns * ghz) as u32);
        if let Some(cycles) = measured.filter(|cycles| *cycles > 0) {
            machine.set_hop_cost(cycles);
        }
        // All requests are replayed; the first half warms up the caches.
        let requests = complete(trace.requests());
        let subject = Subject {
            trace: &trace,
            machine: &machine,
            split: &split,
            cores: self.cores,
            requests: &requests,
            warm_up: requests.len() / 2,
        };
        let options = ReplayOptions {
            warm_up_requests: subject.warm_up,
            requests: Some(requests.clone()),
            progress: None,
            page_sizes: None,
        };
        let splits = [Split::default(), split.clone()];
        let settings = splits.each_ref().map(|split| Setting {
            machine: &machine,
            split,
        });
        let (replays, demands) = during("replaying", || {
            let replays = replay_all(&trace, &settings, &options)?;
            Ok::<_, corehop_simulator::Error>((replays, subject.demands(self.connections)?))
        })?;
        let [before, after] = &replays[..] else {
            unreachable!("a replay for each setting");
        };
        let misses = |replay: &Replay| replay.counters.l2.misses() as f64;
        // The same formula as in `corehop explain`.
        let expected = demands.throughput(self.connections, 0.0);
        let throughput = expected.after / expected.before;
        Ok(Predicted {
            l2_misses_ratio: Some(misses(after) / misses(before).max(1.0)),
            throughput_ratio: Some(throughput).filter(|ratio| ratio.is_finite()),
            machine: Some(machine.name.clone()),
            hop_cost_cycles: Some(machine.hop_cost_cycles),
        })
    }
}
