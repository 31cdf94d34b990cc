//! A sequential replay with a prefetcher counts what a naive one counts, which keeps every miss of
//! every instruction and every prefetched line, and looks the misses up in what the caches count.

use crate::random::{holds, machines};
use crate::timing::against_naive::prefetches::prediction;
use corehop_simulator::timing::{PREFETCHERS, PrefetcherName};
use corehop_simulator::{
    CacheLevel, CoreId, Geometry, Hierarchy, Insertion, LevelCounters, LineId, Machine, MissCauses,
    Replayer, Split,
};
use corehop_traces::{Access, Execution, Kind, ThreadId};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;

struct Naive<'m> {
    machine: &'m Machine,
    prefetcher: PrefetcherName,
    hierarchy: Hierarchy,
    ids: HashMap<u64, LineId>,
    /// By L2, the prefetched lines that no reference has found there.
    unused: Vec<(u32, u64)>,
    /// By core and place in the table, the instruction and its misses.
    tables: HashMap<(u32, u64), (u64, Vec<u64>)>,
}

impl Naive<'_> {
    fn id(&mut self, line: u64) -> LineId {
        let hierarchy = &mut self.hierarchy;
        *self.ids.entry(line).or_insert_with(|| hierarchy.line(line))
    }

    fn missed(&self, levels: &[CacheLevel], kind: Kind) -> u64 {
        let tallies = self.hierarchy.tally().iter();
        let of = |level: &CacheLevel| {
            let missed = tallies
                .clone()
                .map(|tally| tally.misses(*level, kind).total());
            missed.sum::<u64>()
        };
        levels.iter().map(of).sum()
    }

    fn access(&mut self, core: u32, access: &Access, line: u64) {
        let id = self.id(line);
        let l1s = [CacheLevel::L1I, CacheLevel::L1D];
        let before = [
            self.missed(&l1s, access.kind),
            self.missed(&[CacheLevel::L2], access.kind),
        ];
        self.hierarchy
            .access(CoreId(core), access.kind, id, &mut ());
        let after = [
            self.missed(&l1s, access.kind),
            self.missed(&[CacheLevel::L2], access.kind),
        ];
        if before[0] == after[0] {
            return;
        }
        let l2 = core / self.machine.l2.shared_by;
        let unused = self.unused.len();
        self.unused.retain(|&of| of != (l2, line));
        let is_first_use = before[1] != after[1] || self.unused.len() < unused;
        let wanted = match self.prefetcher {
            PrefetcherName::None => None,
            PrefetcherName::NextLine | PrefetcherName::NextLineMid => {
                is_first_use.then_some(line + 1)
            }
            PrefetcherName::Stride if access.kind == Kind::Fetch => None,
            PrefetcherName::Stride => {
                let place = self.tables.entry((core, access.pc % 256)).or_default();
                if place.0 != access.pc {
                    *place = (access.pc, Vec::new());
                }
                place.1.push(line);
                let stride = prediction(&place.1);
                stride.and_then(|stride| u64::try_from(line as i64 + stride).ok())
            }
        };
        if let Some(wanted) = wanted.filter(|wanted| wanted / 64 == line / 64) {
            let id = self.id(wanted);
            let insertion = match self.prefetcher {
                PrefetcherName::NextLineMid => Insertion::Middle,
                _ => Insertion::Newest,
            };
            let prefetched = (id, insertion);
            if self.hierarchy.prefetch(CoreId(core), prefetched, &mut ()) {
                self.unused.push((l2, wanted));
            }
        }
    }
}

fn misses(level: &LevelCounters, kind: Kind) -> MissCauses {
    match kind {
        Kind::Fetch => level.fetch.misses,
        Kind::Load => level.load.misses,
        Kind::Store => level.store.misses,
    }
}

#[test]
fn prefetches_of_random_programs() {
    let prefetchers = prop::sample::select(&PREFETCHERS[1..]);
    let kinds = prop_oneof![Just(Kind::Fetch), Just(Kind::Load), Just(Kind::Store)];
    let pcs = prop_oneof![Just(1u64), Just(2), Just(257)];
    // Runs of a constant stride in two pages, some of which span two lines.
    let run = (0u32..4, kinds, pcs, 0u64..0x2000, 0u64..200, 1usize..12);
    let cases = (machines(), prefetchers, vec(run, 1..40));
    holds(
        "prefetches of a replay",
        cases,
        |(machine, prefetcher, runs)| {
            let cores = machine.cores.min(4);
            let split = Split::thread_per_core(cores);
            let replayer = Replayer::new(&machine, &split).unwrap();
            let mut replayer = replayer.with_prefetcher(prefetcher);
            let mut naive = Naive {
                machine: &machine,
                prefetcher,
                hierarchy: Hierarchy::new(&Geometry::new(&machine, cores, 1)),
                ids: HashMap::new(),
                unused: Vec::new(),
                tables: HashMap::new(),
            };
            for (thread, kind, pc, start, stride, times) in runs {
                let core = thread % cores;
                for time in 0..times as u64 {
                    let size_bytes = if kind == Kind::Fetch { 1 } else { 8 };
                    let access = Access {
                        address: 0x1000 + start + time * stride,
                        pc,
                        size_bytes,
                        kind,
                    };
                    replayer.execute(&Execution {
                        thread: ThreadId(core),
                        stamp: 0,
                        request: None,
                        number: 0,
                        code_block: 0,
                        template: 0,
                        entry: None,
                        accesses: &[access],
                    });
                    for line in access.lines() {
                        naive.access(core, &access, line);
                    }
                }
            }
            let replay = replayer.finish();
            for (core, (own, tally)) in replay
                .per_core
                .iter()
                .zip(naive.hierarchy.tally())
                .enumerate()
            {
                for kind in [Kind::Fetch, Kind::Load, Kind::Store] {
                    let levels = [&own.l1d, &own.l2, &own.l3].map(|level| misses(level, kind));
                    let names = [CacheLevel::L1D, CacheLevel::L2, CacheLevel::L3];
                    for (own, name) in levels.into_iter().zip(names) {
                        if (kind, name) != (Kind::Fetch, CacheLevel::L1D) {
                            let expected = tally.misses(name, kind);
                            prop_assert_eq!(own, expected, "core {} {:?} {:?}", core, name, kind);
                        }
                    }
                }
            }
            Ok(())
        },
    );
}
