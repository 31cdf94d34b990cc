//! All cores below one L3: inclusion downwards, coherence sideways.
//!
//! The L3 holds every line that any core holds, so it is the place to remember which cores may
//! hold it. A store then looks at those cores only, and so does the L3 when it replaces a line. A
//! core that quietly dropped a line stays listed until the next store: asking it once more is
//! cheaper than telling the L3 of every line an L2 replaces. See [`crate::PrivateCaches`] for what
//! happens inside a core, and [`crate::replay()`] for which core an access comes from.

use crate::counters::{Counters, L3Counters};
use crate::lru::Lru;
use crate::machine::Machine;
use crate::ownership::OwnedLines;
use crate::private_caches::{PrivateCaches, Served, Side};
use corehop_traces::Kind;

/// The caches of a machine, or of as many of its cores as are used.
pub struct Hierarchy {
    machine: Machine,
    cores: Vec<Core>,
    l3: Lru<Sharers>,
}

struct Core {
    caches: PrivateCaches,
    owned: OwnedLines,
    /// Lines this core did not find in the L3, by [`Side`].
    l3_misses: [u64; 2],
}

/// Every core that holds the line, and perhaps some that no longer do.
#[derive(Clone, Copy, Default)]
struct Sharers(u64);

impl Sharers {
    fn only(core: usize) -> Sharers {
        Sharers(1 << core)
    }

    fn and(self, core: usize) -> Sharers {
        Sharers(self.0 | 1 << core)
    }

    fn but(self, core: usize) -> Sharers {
        Sharers(self.0 & !(1 << core))
    }
}

impl Iterator for Sharers {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let core = self.0.trailing_zeros() as usize;
        self.0 &= self.0.checked_sub(1)?;
        Some(core)
    }
}

impl Hierarchy {
    /// Empty caches of the first `cores_used` cores of `machine`.
    ///
    /// # Panics
    /// On a machine that [`Machine::check`] refuses, or when `cores_used` is zero or more than the
    /// machine has, or on a machine without an L3.
    pub fn new(machine: &Machine, cores_used: u32) -> Self {
        assert!(
            (1..=machine.cores).contains(&cores_used),
            "{cores_used} cores of {}",
            machine.cores
        );
        let core = |_| Core {
            caches: PrivateCaches::new(machine),
            owned: OwnedLines::new(),
            l3_misses: [0; 2],
        };
        Hierarchy {
            machine: machine.clone(),
            cores: (0..cores_used).map(core).collect(),
            l3: Lru::new(machine.l3.expect("an L3")),
        }
    }

    /// `core` touches `line` (an address divided by 64). What L1 and L2 do not serve, the L3 does,
    /// or memory, which fills the L3 first; a line that leaves the L3 leaves every core. A store
    /// removes the line from all other cores, whatever served it.
    ///
    /// # Panics
    /// When `core` is not one of the cores used.
    #[inline]
    pub fn access(&mut self, core: usize, kind: Kind, line: u64) {
        if self.cores[core].caches.look_up(kind, line) == Served::Beyond {
            self.bring_in(core, kind, line);
        }
        if kind == Kind::Store && self.cores.len() > 1 && !self.cores[core].owned.contains(line) {
            self.take_from_others(core, line);
        }
    }

    fn bring_in(&mut self, core: usize, kind: Kind, line: u64) {
        self.cores[core].owned.forget(line);
        if let Some(sharers) = self.l3.touch(line) {
            for sharer in *sharers {
                self.cores[sharer].owned.forget(line);
            }
            *sharers = sharers.and(core);
        } else {
            self.cores[core].l3_misses[Side::of(kind) as usize] += 1;
            if let Some(replaced) = self.l3.insert(line, Sharers::only(core)) {
                for sharer in replaced.payload {
                    self.cores[sharer]
                        .caches
                        .remove_for_inclusion(replaced.line);
                }
            }
        }
        self.cores[core].caches.fill(kind, line);
    }

    fn take_from_others(&mut self, core: usize, line: u64) {
        let sharers = self.l3.find(line).expect("the L3 includes every core");
        for sharer in sharers.but(core) {
            self.cores[sharer].caches.invalidate(line);
        }
        *sharers = Sharers::only(core);
        self.cores[core].owned.add(line);
    }

    /// Starts counting afresh; the caches stay as they are.
    pub fn start_counting(&mut self) {
        for core in &mut self.cores {
            core.caches.start_counting();
            core.l3_misses = [0; 2];
        }
    }

    /// What was counted so far, one entry a core used. An L3 miss counts for the core that missed;
    /// cycles are without hops, of which the caches know nothing.
    pub fn counters(&self) -> Vec<Counters> {
        let of_core = |core: &Core| {
            let mut counters = core.caches.counters();
            let [fetch_misses, data_misses] = core.l3_misses;
            counters.l3 = L3Counters {
                accesses: counters.l2.misses,
                misses: fetch_misses + data_misses,
                fetch_misses,
                data_misses,
            };
            counters.cycles = counters.cycles_on(&self.machine, 0);
            counters
        };
        self.cores.iter().map(of_core).collect()
    }
}
