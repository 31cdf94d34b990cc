//! The cycles of a request with a given number of simultaneous connections, and the resulting
//! throughput.
//!
//! Connections that share a core evict each other's lines, and stores of one invalidate lines of
//! the others, with and without a split. So a request's cycles come from a replay of that many
//! connections: the first ones of the trace, with their requests interleaved as recorded. A
//! connection is a thread that serves requests. Without a split, each connection stays on one core,
//! and cores are assigned round robin. With a split, all connections use the split's cores. If more
//! connections are requested than the trace has, all connections of the trace are replayed.
//!
//! Then each core of the split is a station that serves one request at a time. Without a split, all
//! cores together are one station, because any free core serves the next waiting request.

use corehop_simulator::queueing::{Network, asymptotic, throughput};
use corehop_simulator::{Error, Machine, Replay, ReplayOptions, Setting, Split, replay_all};
use corehop_traces::{RequestId, ThreadId, Trace};

/// The subject of the replay.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The trace with the requests to replay.
    pub trace: &'a Trace,
    /// The simulated machine.
    pub machine: &'a Machine,
    /// The cores on which the plan runs threads.
    pub split: &'a Split,
    /// Number of cores, with and without the split.
    pub cores: u32,
    /// The requests to replay, warm-up requests first.
    pub requests: &'a [RequestId],
    /// Number of warm-up requests; less than the number of requests.
    pub warm_up: usize,
}

/// Mean cycles of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    /// Number of connections of the trace that were replayed at once.
    pub connections: u32,
    /// Number of cores without the split.
    pub cores: u32,
    /// Without the split.
    pub baseline: f64,
    /// On each core of the split, hops included.
    pub split: Vec<f64>,
}

/// Requests per million cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Number of connections.
    pub connections: u32,
    /// Without a split.
    pub before: f64,
    /// With the split, if service times are exponentially distributed.
    pub after: f64,
    /// Upper bound with the split: no request waits until some core is always busy.
    pub at_most: f64,
}

impl Subject<'_> {
    /// Returns the threads that serve the counted requests, in order of their first request.
    pub fn connections(&self) -> Vec<ThreadId> {
        let mut threads = Vec::new();
        for &request in &self.requests[self.warm_up..] {
            let thread = self.thread(request);
            if !threads.contains(&thread) {
                threads.push(thread);
            }
        }
        threads
    }

    /// Replays the given number of the trace's connections, or all if there are fewer.
    ///
    /// # Errors
    /// Fails if the trace cannot be replayed.
    pub fn demands(&self, connections: u32) -> Result<Demands, Error> {
        let all = self.connections();
        let some = &all[..all.len().min(connections as usize)];
        let is_some =
            |request: &RequestId| some.len() == all.len() || some.contains(&self.thread(*request));
        let chosen = |of: &[RequestId]| of.iter().copied().filter(is_some).collect::<Vec<_>>();
        let (warming, counted) = self.requests.split_at(self.warm_up);
        let warming = chosen(warming);
        let options = ReplayOptions {
            warm_up_requests: warming.len(),
            requests: Some([warming, chosen(counted)].concat()),
            progress: None,
            page_sizes: None,
        };
        let baseline = Split::threads_in_turn(some, self.cores);
        let settings = [&baseline, self.split].map(|split| Setting {
            machine: self.machine,
            split,
        });
        let replays = replay_all(self.trace, &settings, &options)?;
        let [before, after] = &replays[..] else {
            unreachable!("a replay for each setting");
        };
        Ok(Demands::of((some.len() as u32, self.cores), before, after))
    }

    fn thread(&self, request: RequestId) -> ThreadId {
        self.trace.requests()[request.index()].thread
    }
}

impl Demands {
    /// Computes the demands from two replays of this many connections on this many cores.
    pub fn of((connections, cores): (u32, u32), before: &Replay, after: &Replay) -> Demands {
        let a_request = |cycles: u64, of: &Replay| cycles as f64 / of.requests.max(1) as f64;
        let split = after.per_core.iter();
        Demands {
            connections,
            cores,
            baseline: a_request(before.counters.cycles, before),
            split: split.map(|core| a_request(core.cycles, after)).collect(),
        }
    }

    /// Predicts the throughput of this many connections. Each sends its next request `think_time`
    /// cycles after the last answer.
    pub fn throughput(&self, connections: u32, think_time: f64) -> Throughput {
        let before = Network::of_equal_cores(self.baseline, self.cores, think_time);
        let after = Network::of_stages(&self.split, think_time);
        let [before, after_cores] = [&before, &after].map(|of| 1e6 * throughput(of, connections));
        let at_most = 1e6 * asymptotic(&after, connections).most;
        Throughput {
            connections,
            before,
            after: after_cores,
            at_most: if at_most.is_finite() { at_most } else { 0.0 },
        }
    }
}
