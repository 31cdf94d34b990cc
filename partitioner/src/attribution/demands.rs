//! What a request takes with so many connections at once, and what throughput follows from that.
//!
//! Connections that share a core evict each other's lines, and stores of one take lines from the
//! others, with a split and without. So what a request takes is asked of a replay with as many of
//! the trace's connections: the first ones, whose requests are replayed as they were interleaved.
//! A connection is a thread that serves requests. Without a split each stays on a core, and cores
//! are given out in turn; with it all use the split's cores. Where there are more connections than
//! the trace has, all of the trace's stand for them.
//!
//! Then each core of the split is a station that serves one request at a time, and without a split
//! all cores are one station, since any that is free serves whoever waits.

use corehop_simulator::queueing::{Network, asymptotic, throughput};
use corehop_simulator::{Error, Machine, Replay, ReplayOptions, Setting, Split, replay_all};
use corehop_traces::{RequestId, ThreadId, Trace};

/// What is replayed.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The requests, and others.
    pub trace: &'a Trace,
    /// The machine that is simulated.
    pub machine: &'a Machine,
    /// Where the plan has threads run.
    pub split: &'a Split,
    /// How many cores there are, with the split and without.
    pub cores: u32,
    /// The requests to replay; those that warm up come first.
    pub requests: &'a [RequestId],
    /// How many of them warm the caches, fewer than all.
    pub warm_up: usize,
}

/// Cycles of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    /// How many of the trace's connections were replayed at once.
    pub connections: u32,
    /// How many cores there are without the split.
    pub cores: u32,
    /// Without the split.
    pub baseline: f64,
    /// On each core of the split, hops included.
    pub split: Vec<f64>,
}

/// Requests in a million cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// How many connections there are.
    pub connections: u32,
    /// Without a split.
    pub before: f64,
    /// With the split, where times vary as exponential ones do.
    pub after: f64,
    /// With the split, where no request waits before some core is always busy.
    pub at_most: f64,
}

impl Subject<'_> {
    /// The threads that serve the requests that are counted, in the order in which they begin to.
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

    /// Replays so many of the trace's connections, all of them where there are no more.
    ///
    /// # Errors
    /// What replaying the trace says.
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
    /// What these replays counted, of so many connections on so many cores.
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

    /// What so many connections get, each of which has its next request so many cycles after the
    /// last answer.
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
