//! Address translation: each reference looks up its page in the TLBs of its core, and a walk reads
//! page-table entries through the caches, one after the other, before the reference.

use super::memory::Memory;
use crate::core_model::{InOrder, ServedBy};
use crate::machine::{Machine, WalkStart};
use crate::prefetchers::prefetcher::Prefetcher;
use crate::report::observer::Translated;
use crate::report::tlb_counters::TlbCounters;
use crate::translation::{PageSizes, Translator};
use crate::{CoreId, LineId};
use corehop_traces::Kind;
use corehop_traces::execution::LINE_SHIFT;

pub(crate) struct Translating {
    translator: Translator,
    latencies: InOrder,
    /// Cycles of each core's translations.
    cycles: Vec<u64>,
}

/// The cost of one translation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cost {
    pub cycles: u32,
    /// Number of loads that an L1D received.
    pub l1d_loads: u64,
}

impl Translating {
    /// Creates empty TLBs for `cores` cores; `None` if the machine does not describe translation.
    pub fn new(machine: &Machine, cores: u32, page_sizes: &PageSizes) -> Option<Translating> {
        let translation = machine.translation.as_ref()?;
        Some(Translating {
            translator: Translator::new(translation, cores as usize, page_sizes),
            latencies: InOrder::new(machine),
            cycles: vec![0; cores as usize],
        })
    }

    /// Translates the address of a line, before the caches serve it.
    #[inline]
    pub fn translate<P: Prefetcher>(
        &mut self,
        (core, kind): (CoreId, Kind),
        line: LineId,
        memory: &mut Memory<P>,
    ) -> Cost {
        let lookup = self
            .translator
            .look_up_line((core, kind), memory.number(line));
        let mut translated = Translated {
            missed_l1: lookup.missed_l1,
            ..Translated::default()
        };
        let mut cost = Cost::default();
        if lookup.missed_l1 {
            cost = self.walk(core, lookup.cycles, lookup.walk(), memory, &mut translated);
        }
        self.translator.count((core, kind), &translated);
        cost
    }

    /// Reads these page-table entries; the lookup and the walk take `cycles` besides.
    fn walk<P: Prefetcher>(
        &mut self,
        core: CoreId,
        cycles: u32,
        entries: &[u64],
        memory: &mut Memory<P>,
        translated: &mut Translated,
    ) -> Cost {
        let misses = |memory: &Memory<P>| memory.hierarchy.tally()[core.index()].load_misses();
        let before = misses(memory);
        let mut cycles = u64::from(cycles);
        for &address in entries {
            let served_by = self.load(core, address, memory);
            cycles += u64::from(self.latencies.latency(Kind::Load, served_by));
        }
        let after = misses(memory);
        translated.walk_loads = entries.len() as u64;
        translated.walk_misses = std::array::from_fn(|level| after[level] - before[level]);
        self.cycles[core.index()] += cycles;
        Cost {
            cycles: u32::try_from(cycles).unwrap_or(u32::MAX),
            l1d_loads: match self.translator.start {
                WalkStart::L1d => translated.walk_loads,
                WalkStart::L2 | WalkStart::None => 0,
            },
        }
    }

    /// Loads a page-table entry; returns the level that served it.
    fn load<P: Prefetcher>(&self, core: CoreId, address: u64, memory: &mut Memory<P>) -> ServedBy {
        let start = self.translator.start;
        if start == WalkStart::None {
            return ServedBy::L1;
        }
        let line = memory.id(address >> LINE_SHIFT);
        let Memory {
            hierarchy, watch, ..
        } = memory;
        watch.begin_reference();
        match start {
            WalkStart::L1d => hierarchy.access(core, Kind::Load, line, watch),
            WalkStart::L2 | WalkStart::None => {
                watch.served_by = ServedBy::L2;
                watch.looked_up(core, line);
                hierarchy.load_from_l2(core, line, watch);
            }
        }
        watch.served_by
    }

    /// Resets the counts; the TLBs do not change.
    pub fn start_counting(&mut self) {
        self.translator.start_counting();
        self.cycles.fill(0);
    }

    /// Returns the counts of each core, and the cycles of its translations.
    pub fn counts(&self) -> impl Iterator<Item = (TlbCounters, u64)> {
        let counters = self.translator.counters().iter().copied();
        counters.zip(self.cycles.iter().copied())
    }
}
