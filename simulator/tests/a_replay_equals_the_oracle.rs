//! Traces are written and read back. The replay's counts equal those of the oracle, which receives
//! the core of each thread step by step. This holds for any number of host threads, alone or
//! together with other machines, directly from the file or prepared, and execution by execution.

use crate::naive::{Placed, naive};
use crate::numbered;
use crate::random::{equal, holds, machines};
use crate::recording::{FUNCTIONS, mappings, pages, programs, record, record_processes};
use crate::steps::Step;
use corehop_plan::{Argument, By, KthCall, Mode};
use corehop_simulator::{
    Counters, Error, Machine, Prepared, Replay, ReplayOptions, Replayer, Setting, Split, replay,
    replay_all,
};
use corehop_traces::{Calls, FunctionId, Index, Mapping, Page, RequestId, Trace};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::subsequence;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

fn ids(requests: Vec<u32>) -> Vec<RequestId> {
    requests.into_iter().map(RequestId).collect()
}

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

/// A recorded program, and the parameters of its replay.
#[derive(Clone, Debug)]
struct Case {
    steps: Vec<Step>,
    /// Empty for threads of one process.
    mappings: Vec<Mapping>,
    /// If not empty, lines are identified by physical addresses.
    pages: Vec<Page>,
    /// Numbers of the requests; missing numbers were not recorded.
    numbers: Vec<u64>,
    executions_per_chunk: usize,
    machine: Machine,
    /// Another machine that the same pass simulates.
    other: Machine,
    functions: Vec<u32>,
    /// Functions that select their core by argument 1 instead.
    by_argument: Vec<u32>,
    /// For each function: the number of calls before an object gets a core.
    after: Vec<u32>,
    /// For each function: its calls of a request that move to a core, if not all do.
    at_calls: Vec<BTreeSet<u32>>,
    delegated: Vec<u32>,
    every_other: bool,
    warm_up: usize,
    thread_per_core: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let functions = || subsequence((0..FUNCTIONS).collect::<Vec<_>>(), 0..=6);
    let some = || prop_oneof![Just(Vec::new()), functions()];
    let (by_argument, delegated) = (some(), some());
    let none = Just(vec![0; FUNCTIONS as usize]);
    let after = prop_oneof![none, vec(0..4u32, FUNCTIONS as usize)];
    let none = Just(vec![BTreeSet::new(); FUNCTIONS as usize]);
    let at_calls = prop_oneof![none, vec(btree_set(1..6u32, 0..4), FUNCTIONS as usize)];
    let replays = (
        ((functions(), at_calls), (by_argument, after), delegated),
        any::<bool>(),
        0usize..4,
        prop::bool::weighted(0.2),
    );
    let left_out = vec(prop::bool::weighted(0.2), 80);
    let recorded = (programs(), mappings(), pages(), left_out);
    let recordings = (recorded, 1usize..20, machines(), machines());
    (recordings, replays).prop_map(
        |((recorded, executions_per_chunk, machine, other), replays)| {
            let (steps, mappings, pages, left_out) = recorded;
            let (
                ((functions, at_calls), (by_argument, after), delegated),
                every_other,
                warm_up,
                thread_per_core,
            ) = replays;
            let numbers = (1..).zip(left_out).filter(|(_, left_out)| !left_out);
            let requests = steps.iter().filter(|step| step.begins_request).count();
            let numbers = numbers.map(|(number, _)| number).take(requests).collect();
            Case {
                steps,
                mappings,
                pages,
                numbers,
                executions_per_chunk,
                machine,
                other,
                functions,
                by_argument,
                after,
                at_calls,
                delegated,
                every_other,
                warm_up,
                thread_per_core,
            }
        },
    )
}

static POOLS: LazyLock<[ThreadPool; 3]> = LazyLock::new(|| {
    [1, 2, 3].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    })
});

impl Case {
    /// Returns the functions that move to a core at each call.
    fn functions(&self) -> Vec<(u32, u32)> {
        let fixed = |(function, _): &(u32, u32)| self.at_calls[*function as usize].is_empty();
        self.to_cores().into_iter().filter(fixed).collect()
    }

    fn at_calls(&self) -> Vec<(u32, u32, u32)> {
        let cores = self.machine.cores.min(self.other.cores);
        let to_cores = self.to_cores().into_iter();
        let called = to_cores.flat_map(|(function, core)| {
            let calls = (0..).zip(&self.at_calls[function as usize]);
            // Neighbouring calls move to neighbouring cores.
            calls.map(move |(place, &call)| (function, (core + place) % cores, call))
        });
        called.collect()
    }

    fn to_cores(&self) -> Vec<(u32, u32)> {
        if self.thread_per_core {
            return Vec::new();
        }
        let cores = self.machine.cores.min(self.other.cores);
        let cores = (0..cores).cycle();
        let by_argument = self.by_argument();
        let functions = self.functions.iter().copied().zip(cores);
        functions
            .filter(|(function, _)| !by_argument.contains(function))
            .collect()
    }

    fn by_argument(&self) -> Vec<u32> {
        match self.thread_per_core {
            true => Vec::new(),
            false => self.by_argument.clone(),
        }
    }

    /// Returns the number of cores on which threads start round-robin.
    fn start_cores(&self) -> Option<u32> {
        let cores = self.machine.cores.min(self.other.cores);
        self.thread_per_core.then_some(cores)
    }

    fn placed(&self) -> Placed {
        Placed {
            mappings: self.mappings.clone(),
            pages: self.pages.clone(),
            numbers: self.numbers.clone(),
            functions: self.functions(),
            by_argument: (
                self.by_argument(),
                self.machine.cores.min(self.other.cores),
                self.after.clone(),
            ),
            at_calls: self.at_calls(),
            delegated: self.delegated.clone(),
            start_cores: self.start_cores(),
            page_map: None,
            translated: None,
        }
    }

    /// Writes and opens the trace of the program.
    fn record(&self, folder: &Path) -> Trace {
        let path = folder.join("random.trace");
        let memory = (&self.mappings[..], &self.pages[..]);
        let most = self.executions_per_chunk;
        record_processes(&self.steps, &self.numbers, memory, most, &path).unwrap();
        let mut trace = Trace::open(&path).unwrap();
        trace.index_by(match self.pages.is_empty() {
            true => Index::Virtual,
            false => Index::Physical,
        });
        trace
    }

    fn split(&self, trace: &Trace) -> Split {
        let split = match self.start_cores() {
            Some(cores) => Split::thread_per_core(cores),
            None => numbered::split(self.functions())
                .delegating(self.delegated.iter().copied().map(FunctionId)),
        };
        let mode = |function: u32| match self.delegated.contains(&function) {
            true => Mode::Call,
            false => Mode::Enter,
        };
        let at_calls = self.at_calls().into_iter().map(|(function, core, call)| {
            let meant = KthCall { core, call };
            (FunctionId(function), meant, mode(function))
        });
        let at_calls: Vec<_> = at_calls.collect();
        let split = split.at_calls(trace, &at_calls).unwrap();
        let by_argument = self.by_argument().into_iter().map(|function| {
            let by = By {
                argument: Argument::ALL[0],
                after: self.after[function as usize],
            };
            (FunctionId(function), by, mode(function))
        });
        let by_argument: Vec<_> = by_argument.collect();
        match by_argument.is_empty() {
            true => split,
            false => {
                let cores = self.machine.cores.min(self.other.cores);
                split.by_argument(trace, &by_argument, cores).unwrap()
            }
        }
    }
}

/// Returns the counters of each core, replayed execution by execution.
fn one_by_one(trace: &Trace, machine: &Machine, split: &Split) -> Vec<Counters> {
    let calls = Calls::of(trace, &[true; FUNCTIONS as usize]).unwrap();
    let replayer = Replayer::new(machine, split).unwrap();
    let mut replayer = replayer.with_calls(Some(&calls));
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        replayer.execute(&execution);
    }
    replayer.finish().per_core
}

#[test]
fn counters_and_hops_are_equal() {
    holds("replays equal the oracle", cases(), |case| {
        let folder = tempfile::tempdir().unwrap();
        let trace = case.record(folder.path());
        let requests = trace.requests().len() as u32;
        let chosen: Option<Vec<u32>> =
            (case.every_other && requests > 0).then(|| (0..requests).step_by(2).collect());
        let available = chosen.as_ref().map_or(requests as usize, Vec::len);
        let warm_up = case.warm_up.min(available.saturating_sub(1));
        let options = ReplayOptions {
            requests: chosen.clone().map(ids),
            warm_up_requests: warm_up,
            ..ReplayOptions::default()
        };
        let split = case.split(&trace);
        let placed = case.placed();
        let in_rounds = |machine: &Machine, rounds| {
            let counted = (chosen.as_deref(), warm_up);
            let (per_core, hops) = naive(&case.steps, machine, &placed, counted, rounds);
            let counters: Counters = per_core.iter().copied().sum();
            Replay {
                accesses: counters.accesses(),
                counters,
                per_core,
                hops,
                requests: (available - warm_up) as u64,
                tlbs: Vec::new(),
            }
        };
        let machines = [&case.machine, &case.other];
        let expected = |machine| in_rounds(machine, 1);
        let both = machines.map(expected);
        let two_rounds = in_rounds(machines[0], 2);
        let settings = machines.map(|machine| Setting {
            machine,
            split: &split,
        });
        for pool in &*POOLS {
            let alone = || replay(&trace, &case.machine, &split, &options);
            equal(&pool.install(alone).unwrap(), &both[0])?;
            let together = || replay_all(&trace, &settings, &options);
            equal(&pool.install(together).unwrap()[..], &both[..])?;
            let planned: Vec<FunctionId> = (0..FUNCTIONS).map(FunctionId).collect();
            let prepare = || match case.delegated.is_empty() {
                true => Prepared::new(&trace, &machines, &planned, &options),
                false => Prepared::with_calls(&trace, &machines, &planned, &options),
            };
            let prepared = pool.install(prepare).unwrap();
            for (machine, expected) in machines.iter().zip(&both) {
                let again = || prepared.replay(machine, &split);
                equal(&pool.install(again).unwrap(), expected)?;
            }
            let twice = || prepared.replay_rounds(machines[0], &split, 2);
            equal(&pool.install(twice).unwrap(), &two_rounds)?;
        }
        if options.requests.is_none() && warm_up == 0 {
            let per_core = one_by_one(&trace, &case.machine, &split);
            equal(per_core, both[0].per_core.clone())?;
        }
        Ok(())
    });
}

/// Returns the error of a replay of these steps with these options.
fn refusal(begins: [bool; 3], requests: Option<Vec<u32>>, warm_up: usize, split: Split) -> String {
    let step = |begins_request| Step {
        thread: 0,
        begins_request,
        block: 0,
        data: Vec::new(),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short.trace");
    record(&begins.map(step), &[], 100, &path).unwrap();
    let options = ReplayOptions {
        requests: requests.map(ids),
        warm_up_requests: warm_up,
        ..ReplayOptions::default()
    };
    let trace = Trace::open(&path).unwrap();
    let refused: Error = replay(&trace, &machine(), &split, &options).unwrap_err();
    refused.to_string()
}

#[test]
fn choosing_requests_of_a_trace_without_any_is_refused() {
    let expected = "the trace has no requests, so none can be chosen or used to warm up: replay \
                    all of it, or record with --request-at";
    assert_eq!(
        refusal([false; 3], Some(vec![0]), 0, Split::default()),
        expected
    );
    assert_eq!(refusal([false; 3], None, 1, Split::default()), expected);
}

#[test]
fn a_request_beyond_the_last_is_refused() {
    assert_eq!(
        refusal([true; 3], Some(vec![3, 1]), 0, Split::default()),
        "request 3 does not exist: the trace has 3 requests, numbered from 0"
    );
}

#[test]
fn a_warm_up_that_leaves_nothing_to_count_is_refused() {
    assert_eq!(
        refusal([true; 3], Some(vec![1]), 1, Split::default()),
        "--warm-up 1 leaves no request to count (of 1): use fewer"
    );
}

#[test]
fn a_split_over_more_cores_than_the_machine_has_is_refused() {
    assert_eq!(
        refusal([true; 3], None, 0, numbered::split([(0, 4)])),
        "the split uses 5 cores, but machine tiny has 4: choose a larger machine, or search for \
         fewer cores"
    );
}

#[test]
fn progress_adds_up_to_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.trace");
    let step = |number| Step {
        thread: 0,
        begins_request: number % 1000 == 0,
        block: 0,
        data: Vec::new(),
    };
    let steps: Vec<Step> = (0..100_000).map(step).collect();
    record(&steps, &[], 30_000, &path).unwrap();
    let told = AtomicU64::new(0);
    let tell = |executions| _ = told.fetch_add(executions, Ordering::Relaxed);
    let options = ReplayOptions {
        requests: Some(ids(vec![3, 40])),
        ..ReplayOptions::default()
    };
    let (trace, options) = (Trace::open(&path).unwrap(), options.telling(&tell));
    replay(&trace, &machine(), &Split::default(), &options).unwrap();
    assert_eq!(told.load(Ordering::Relaxed), options.executions(&trace));
}
