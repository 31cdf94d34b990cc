//! Replays with pages confined to a part of each L2. Their counts equal those of an oracle with the
//! same confined pages, on any number of host threads, directly from the file or prepared, and
//! execution by execution. The counts of each page are also equal.

use crate::coloured::{PAGES, coloured_machines, spread_programs};
use crate::naive::{Placed, played};
use crate::numbered;
use crate::oracle::{Event, PageMap};
use crate::random::{equal, holds};
use crate::recording::{FUNCTIONS, mappings, pages, record_processes};
use crate::steps::Step;
use corehop_lab::pollution::{
    PageUse, PolluteBuffer, pages_with_buffer, prepare, replay_with_buffer, replay_with_buffers,
};
use corehop_simulator::{
    CacheLevel, Counters, Machine, Replay, ReplayOptions, Replayer, Setting, Split, replay,
};
use corehop_traces::{Calls, FunctionId, Index, Mapping, Page, Trace};
use proptest::prelude::*;
use proptest::sample::subsequence;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::LazyLock;

/// A recorded program, and the parameters of its replay.
#[derive(Clone, Debug)]
struct Case {
    steps: Vec<Step>,
    /// Empty for threads of one process.
    mappings: Vec<Mapping>,
    /// If not empty, lines are identified by physical addresses.
    pages: Vec<Page>,
    executions_per_chunk: usize,
    machine: Machine,
    functions: Vec<u32>,
    delegated: Vec<u32>,
    warm_up: usize,
    confined: Vec<u64>,
}

fn cases() -> impl Strategy<Value = Case> {
    let functions = || subsequence((0..FUNCTIONS).collect::<Vec<_>>(), 0..=6);
    let confined = subsequence(PAGES.to_vec(), 0..=PAGES.len());
    let recorded = (spread_programs(), mappings(), pages(), 1usize..20);
    let replays = (coloured_machines(), functions(), functions(), 0usize..4);
    (recorded, replays, confined).prop_map(|(recorded, replays, confined)| {
        let (steps, mappings, pages, executions_per_chunk) = recorded;
        let (machine, functions, delegated, warm_up) = replays;
        Case {
            steps,
            mappings,
            pages,
            executions_per_chunk,
            machine,
            functions,
            delegated,
            warm_up,
            confined,
        }
    })
}

static POOLS: LazyLock<[ThreadPool; 2]> = LazyLock::new(|| {
    [1, 3].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    })
});

impl Case {
    fn functions(&self) -> Vec<(u32, u32)> {
        let cores = (0..self.machine.cores).cycle();
        self.functions.iter().copied().zip(cores).collect()
    }

    fn record(&self, folder: &Path) -> Trace {
        let path = folder.join("random.trace");
        let memory = (&self.mappings[..], &self.pages[..]);
        record_processes(&self.steps, &[], memory, self.executions_per_chunk, &path).unwrap();
        let mut trace = Trace::open(&path).unwrap();
        trace.index_by(match self.pages.is_empty() {
            true => Index::Virtual,
            false => Index::Physical,
        });
        trace
    }

    fn split(&self) -> Split {
        let delegated = self.delegated.iter().copied().map(FunctionId);
        numbered::split(self.functions()).delegating(delegated)
    }

    /// Returns the oracle's counts, by core and by page, with these pages confined.
    fn expected(&self, confined: &[u64], (requests, warm_up): (usize, usize)) -> Counted {
        let placed = Placed {
            mappings: self.mappings.clone(),
            pages: self.pages.clone(),
            numbers: Vec::new(),
            functions: self.functions(),
            by_argument: (Vec::new(), 1, Vec::new()),
            at_calls: Vec::new(),
            delegated: self.delegated.clone(),
            start_cores: None,
            page_map: confining(&self.machine, confined),
            translated: None,
        };
        let (oracle, hops) = played(&self.steps, &self.machine, &placed, (None, warm_up), 1);
        let per_core = oracle.counters();
        let counters: Counters = per_core.iter().copied().sum();
        let replay = Replay {
            accesses: counters.accesses(),
            counters,
            per_core,
            hops,
            requests: (requests - warm_up) as u64,
            tlbs: Vec::new(),
        };
        (replay, by_page(&oracle.events))
    }
}

/// Returns the page whose sets the oracle uses for each page if these are confined: those of the
/// last sixteenth of the colours, or of one colour. `None` without confined pages.
fn confining(machine: &Machine, confined: &[u64]) -> Option<PageMap> {
    if confined.is_empty() {
        return None;
    }
    let l2 = machine.l2;
    let colours: Vec<u64> = (0..l2.size_bytes / u64::from(l2.ways) / 4096).collect();
    let kept = if colours.len() < 16 {
        1
    } else {
        colours.len() / 16
    };
    let kept = colours.len() - kept;
    let confined = confined.to_vec();
    Some(Rc::new(move |page| {
        let (ordinary, kept) = colours.split_at(kept);
        let turn = |of: &[u64], number: u64| of[(number % of.len() as u64) as usize];
        let own = page % colours.len() as u64;
        if confined.contains(&page) {
            return turn(kept, page);
        }
        match kept.iter().position(|&colour| colour == own) {
            None => own,
            Some(place) => {
                let rows_before = page / colours.len() as u64;
                turn(ordinary, rows_before * kept.len() as u64 + place as u64)
            }
        }
    }))
}

/// A replay, and the counts of each page that missed an L1.
type Counted = (Replay, Vec<PageUse>);

fn by_page(events: &[Event]) -> Vec<PageUse> {
    let mut pages: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for event in events {
        if let &Event::Missed(level, _, _, line) = event {
            let (accesses, misses) = pages.entry(line / 64).or_default();
            match level {
                CacheLevel::L1I | CacheLevel::L1D => *accesses += 1,
                CacheLevel::L2 => *misses += 1,
                CacheLevel::L3 => (),
            }
        }
    }
    let used = |(page, (l2_accesses, l2_misses))| PageUse {
        page,
        l2_accesses,
        l2_misses,
    };
    pages.into_iter().map(used).collect()
}

/// Removes the pages without counts.
fn that_count((replay, mut pages): Counted) -> Counted {
    pages.retain(|page| page.l2_accesses > 0);
    (replay, pages)
}

/// Returns counters by core, replayed execution by execution.
fn one_by_one(trace: &Trace, case: &Case, buffer: &PolluteBuffer) -> Vec<Counters> {
    let calls = Calls::of(trace, &[true; FUNCTIONS as usize]).unwrap();
    let split = case.split();
    let replayer = Replayer::new(&case.machine, &split).unwrap();
    let mut replayer = replayer
        .with_calls(Some(&calls))
        .with_page_map(&buffer.page_map());
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        replayer.execute(&execution);
    }
    replayer.finish().per_core
}

#[test]
fn counters_are_equal_whatever_is_confined() {
    holds("replays with buffers equal the oracle", cases(), |case| {
        let folder = tempfile::tempdir().unwrap();
        let trace = case.record(folder.path());
        let (machine, split) = (&case.machine, &case.split());
        let requests = trace.requests().len();
        let warm_up = case.warm_up.min(requests.saturating_sub(1));
        let options = ReplayOptions {
            warm_up_requests: warm_up,
            ..ReplayOptions::default()
        };
        let counted = |confined: &[u64]| case.expected(confined, (requests, warm_up));
        let [none, some] = [&[][..], &case.confined]
            .map(|pages| PolluteBuffer::new(machine, pages.iter().copied()).unwrap());
        let expected = [counted(&[]), counted(&case.confined)];
        for pool in &*POOLS {
            let setting = Setting { machine, split };
            let both = || replay_with_buffers(&trace, setting, &[&none, &some], &options);
            let both = pool.install(both).unwrap();
            let both: Vec<Counted> = both.into_iter().map(that_count).collect();
            equal(&both[..], &expected[..])?;
            let plain = pool.install(|| replay(&trace, machine, split, &options));
            equal(&plain.unwrap(), &expected[0].0)?;
            let prepared = || prepare(&trace, machine, split, &options).unwrap();
            let prepared = pool.install(prepared);
            for (buffer, expected) in [&none, &some].iter().zip(&expected) {
                let on = (machine, split);
                let replayed = pool.install(|| replay_with_buffer(&prepared, on, buffer));
                equal(&replayed.unwrap(), &expected.0)?;
                let pages = pool.install(|| pages_with_buffer(&prepared, on, buffer));
                equal(&that_count(pages.unwrap()), expected)?;
            }
        }
        if warm_up == 0 {
            for (buffer, (expected, _)) in [&none, &some].iter().zip(&expected) {
                equal(&one_by_one(&trace, &case, buffer), &expected.per_core)?;
            }
        }
        Ok(())
    });
}
