//! One core: L1I, L1D and the L2 that includes both.
//!
//! What a core's private caches miss depends only on its own accesses and on which lines other
//! cores store to, so a core can be simulated alone, as the search does; [`crate::Hierarchy`] puts
//! several of them below one L3.

use crate::counters::{Counters, L1Counters, L2Counters, MissCauses};
use crate::history::{History, Removal};
use crate::lru::Lru;
use crate::machine::Machine;
use corehop_traces::Kind;

/// The private caches of one core.
pub struct PrivateCaches {
    /// L1I and L1D, indexed by [`Side`].
    l1: [Lru<()>; 2],
    l2: Lru<()>,
    history: History,
    tally: Tally,
}

/// Which level of a core served an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// L1I for a fetch, L1D for a load or store.
    L1,
    /// The L2.
    L2,
    /// Nothing the core holds: the L3 or memory.
    Beyond,
}

/// Fetches and data go through different first levels and are counted apart.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Fetch = 0,
    Data = 1,
}

impl Side {
    pub(crate) fn of(kind: Kind) -> Side {
        match kind {
            Kind::Fetch => Side::Fetch,
            Kind::Load | Kind::Store => Side::Data,
        }
    }
}

/// Counts that cannot be derived from each other, by [`Side`].
#[derive(Default)]
struct Tally {
    accesses: [u64; 2],
    l1_misses: [u64; 2],
    l2_misses: [MissCauses; 2],
    invalidated_lines: u64,
}

impl PrivateCaches {
    /// Empty caches of one core of `machine`.
    ///
    /// # Panics
    /// On a machine that [`Machine::check`] refuses.
    pub fn new(machine: &Machine) -> Self {
        if let Err(problem) = machine.check() {
            panic!("a machine that breaks its own rules: {problem}");
        }
        PrivateCaches {
            l1: [Lru::new(machine.l1i), Lru::new(machine.l1d)],
            l2: Lru::new(machine.l2),
            history: History::default(),
            tally: Tally::default(),
        }
    }

    /// The core touches `line` (an address divided by 64). An L1 hit changes the order of that L1
    /// only; an L2 hit also that of the L2, and fills the L1; what neither holds is brought into
    /// both. A line that leaves the L2 leaves both L1s.
    #[inline]
    pub fn access(&mut self, kind: Kind, line: u64) -> Served {
        let served = self.look_up(kind, line);
        if served == Served::Beyond {
            self.fill(kind, line);
        }
        served
    }

    /// Another core stores to `line`: this one loses it. False when it did not hold it.
    #[inline]
    pub fn invalidate(&mut self, line: u64) -> bool {
        let held = self.remove(line, Removal::Coherence);
        self.tally.invalidated_lines += u64::from(held);
        held
    }

    /// Starts counting afresh; the caches stay as they are.
    pub fn start_counting(&mut self) {
        self.tally = Tally::default();
    }

    /// What was counted so far. L3 and cycles are zero: this core sees neither.
    pub fn counters(&self) -> Counters {
        let Tally {
            accesses,
            l1_misses,
            l2_misses: [fetch_causes, data_causes],
            invalidated_lines,
        } = self.tally;
        let (fetch_misses, data_misses) = (fetch_causes.total(), data_causes.total());
        Counters {
            l1i: L1Counters {
                accesses: accesses[Side::Fetch as usize],
                misses: l1_misses[Side::Fetch as usize],
            },
            l1d: L1Counters {
                accesses: accesses[Side::Data as usize],
                misses: l1_misses[Side::Data as usize],
            },
            l2: L2Counters {
                accesses: l1_misses.iter().sum(),
                misses: fetch_misses + data_misses,
                fetch_misses,
                data_misses,
                coherence_misses: fetch_causes.coherence + data_causes.coherence,
                fetch_causes,
                data_causes,
            },
            invalidated_lines,
            ..Counters::default()
        }
    }

    /// The first half of an access: everything but bringing in a line that the core lacks. The L3
    /// replaces a line, also in this core, before the core takes the new one.
    #[inline]
    pub(crate) fn look_up(&mut self, kind: Kind, line: u64) -> Served {
        let side = Side::of(kind) as usize;
        self.tally.accesses[side] += 1;
        if self.l1[side].touch(line).is_some() {
            return Served::L1;
        }
        self.look_up_beyond_l1(side, line)
    }

    fn look_up_beyond_l1(&mut self, side: usize, line: u64) -> Served {
        self.tally.l1_misses[side] += 1;
        if self.l2.touch(line).is_some() {
            self.l1[side].insert(line, ());
            return Served::L2;
        }
        let causes = &mut self.tally.l2_misses[side];
        match self.history.last_removal(line) {
            None => causes.cold += 1,
            Some(Removal::Capacity) => causes.capacity += 1,
            Some(Removal::Coherence) => causes.coherence += 1,
            Some(Removal::Inclusion) => causes.inclusion += 1,
        }
        Served::Beyond
    }

    /// The second half: brings `line` into L2 and L1.
    pub(crate) fn fill(&mut self, kind: Kind, line: u64) {
        if let Some(replaced) = self.l2.insert(line, ()) {
            self.l1.iter_mut().for_each(|l1| {
                l1.remove(replaced.line);
            });
            self.history.removed(replaced.line, Removal::Capacity);
        }
        self.l1[Side::of(kind) as usize].insert(line, ());
    }

    /// The L3 replaced `line`: an inclusive one takes it from the cores too.
    pub(crate) fn remove_for_inclusion(&mut self, line: u64) {
        self.remove(line, Removal::Inclusion);
    }

    fn remove(&mut self, line: u64, removal: Removal) -> bool {
        let held = self.l2.remove(line);
        if held {
            self.l1.iter_mut().for_each(|l1| {
                l1.remove(line);
            });
            self.history.removed(line, removal);
        }
        held
    }
}
