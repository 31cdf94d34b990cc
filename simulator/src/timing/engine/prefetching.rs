//! Prefetches: requested at references that miss their L1, and brought into the L2 of the core.
//!
//! A prefetch changes the caches immediately, including replacements. The line is available only
//! after its latency; a reference that uses it earlier waits for the rest. Prefetches thus hide as
//! much of a miss as the core has other work, and can do harm.

use super::memory::Memory;
use super::unused::Prefetched;
use crate::core_model::{InOrder, ServedBy};
use crate::prefetchers::prefetcher::{Miss, Prefetcher};
use crate::timing::setting::Setting;
use crate::{CoreId, Insertion, LineId};
use corehop_traces::Kind;

pub(crate) struct Prefetching<P> {
    prefetchers: Vec<P>,
    insertion: Insertion,
    latencies: InOrder,
}

/// A reference that missed its L1.
#[derive(Clone, Copy)]
pub(crate) struct Missed {
    pub core: CoreId,
    pub kind: Kind,
    pub line: LineId,
    /// As [`Miss::instruction`].
    pub instruction: u32,
    /// The current cycle of its core.
    pub cycle: u64,
}

/// Lines of a page. Prefetches do not cross it, because the next page of the address space may be
/// anywhere in memory.
const LINES_PER_PAGE: u64 = 4096 / 64;

impl<P: Prefetcher> Prefetching<P> {
    /// Creates the prefetchers of a setting.
    pub fn new(setting: &Setting<'_>) -> Prefetching<P> {
        Prefetching {
            prefetchers: (0..setting.cores).map(|_| P::default()).collect(),
            insertion: setting.prefetcher.insertion(),
            latencies: InOrder::new(setting.machine),
        }
    }

    /// Handles a reference that missed its L1, after the caches have served it. Executes the
    /// prefetch that the core's prefetcher requests, and returns the minimum number of cycles of
    /// the reference.
    pub fn missed_l1(&mut self, missed: Missed, memory: &mut Memory<P>) -> u32 {
        let Missed {
            core, line, cycle, ..
        } = missed;
        let number = memory.number(line);
        let watch = &mut memory.watch;
        let l2 = watch.l2_of(core);
        let hit = watch.served_by == ServedBy::L2;
        let used = hit.then(|| watch.unused.used(l2, core, line)).flatten();
        let at_least = used.map_or(0, |used| used.arrives.saturating_sub(cycle));
        let latency = u64::from(self.latencies.latency(missed.kind, ServedBy::L2));
        if at_least > latency {
            watch.unused.was_late(core, at_least - latency);
        }
        let wanted = self.prefetchers[core.index()].missed_l1(&Miss {
            kind: missed.kind,
            line: number,
            instruction: missed.instruction,
            is_first_use: !hit || used.is_some(),
        });
        let page = |line: u64| line / LINES_PER_PAGE;
        if let Some(wanted) = wanted.filter(|&wanted| page(wanted) == page(number)) {
            self.bring((core, wanted), cycle, memory);
        }
        u32::try_from(at_least).unwrap_or(u32::MAX)
    }

    /// Brings a line into the L2 of a core, if it is not there.
    fn bring(&self, (core, number): (CoreId, u64), cycle: u64, memory: &mut Memory<P>) {
        let line = memory.id(number);
        let Memory {
            hierarchy, watch, ..
        } = memory;
        let served_by = std::mem::replace(&mut watch.served_by, ServedBy::L2);
        if hierarchy.prefetch(core, (line, self.insertion), watch) {
            let l2 = watch.looked_up(core, line);
            let latency = self.latencies.latency(Kind::Load, watch.served_by);
            let prefetched = Prefetched {
                asked_by: core,
                arrives: cycle + u64::from(latency),
            };
            watch.unused.brought(l2, line, prefetched);
        }
        watch.served_by = served_by;
    }
}
