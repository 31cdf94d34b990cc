//! A second implementation of prefetches: each core's table is a list of all misses of its
//! instructions, and prefetched lines are a list that is searched whenever the caches have changed.

use crate::timing::against_naive::case::Case;
use crate::timing::oracle::Oracle;
use corehop_simulator::timing::{PrefetchCounters, PrefetcherName};
use corehop_traces::Kind;

/// A prefetched line that is still unused.
struct Waiting {
    l2: usize,
    line: u64,
    asked_by: usize,
    arrives: u64,
}

/// A reference that missed its L1.
#[derive(Clone, Copy)]
pub struct Miss {
    pub core: usize,
    pub kind: Kind,
    pub line: u64,
    pub instruction: u64,
    pub missed_l2: bool,
}

pub struct Prefetches {
    waiting: Vec<Waiting>,
    /// For each core, its table: slot, instruction, lines that it missed since it got the slot.
    tables: Vec<Vec<(u64, u64, Vec<u64>)>>,
    /// Counts of each core.
    pub counted: Vec<PrefetchCounters>,
}

impl Prefetches {
    pub fn new(cores: usize) -> Prefetches {
        Prefetches {
            waiting: Vec::new(),
            tables: vec![Vec::new(); cores],
            counted: vec![PrefetchCounters::default(); cores],
        }
    }

    pub fn start_counting(&mut self) {
        self.counted.fill(PrefetchCounters::default());
    }

    /// Updates the list after the caches have changed.
    pub fn look(&mut self, caches: &mut Oracle) {
        let counted = &mut self.counted;
        self.waiting.retain(|waiting| {
            let held = caches.l2_holds(waiting.l2, waiting.line);
            counted[waiting.asked_by].unused += u64::from(!held);
            held
        });
    }

    /// Returns when the line arrives, if this reference of the core is its first use.
    pub fn used(&mut self, l2: usize, core: usize, line: u64) -> Option<u64> {
        let own = |waiting: &Waiting| (waiting.l2, waiting.line) == (l2, line);
        let place = self.waiting.iter().position(own)?;
        self.counted[core].useful += 1;
        Some(self.waiting.remove(place).arrives)
    }

    /// Returns the line to prefetch after a miss, if any.
    pub fn wanted(&mut self, case: &Case, miss: Miss, first_use: bool) -> Option<u64> {
        let wanted = match case.prefetcher {
            PrefetcherName::None => None,
            PrefetcherName::NextLine | PrefetcherName::NextLineMid => {
                first_use.then_some(miss.line + 1)
            }
            PrefetcherName::Stride if miss.kind == Kind::Fetch => None,
            PrefetcherName::Stride => self.after_stride(miss),
        };
        wanted.filter(|wanted| wanted / 64 == miss.line / 64)
    }

    fn after_stride(&mut self, miss: Miss) -> Option<u64> {
        let place = miss.instruction % 256;
        let table = &mut self.tables[miss.core];
        table.retain(|(at, instruction, _)| *at != place || *instruction == miss.instruction);
        let lines = match table.iter_mut().find(|entry| entry.0 == place) {
            Some((_, _, lines)) => lines,
            None => {
                table.push((place, miss.instruction, Vec::new()));
                &mut table.last_mut().unwrap().2
            }
        };
        lines.push(miss.line);
        let stride = prediction(lines)?;
        u64::try_from(miss.line as i64 + stride).ok()
    }

    /// Prefetches the line at this cycle; returns whether it was brought in.
    pub fn bring(
        &mut self,
        caches: &mut Oracle,
        (l2, core): (usize, usize),
        (line, in_the_middle): (u64, bool),
        cycle: u64,
    ) -> bool {
        let latency = caches.prefetch(core, line, in_the_middle);
        self.look(caches);
        let Some(latency) = latency else {
            return false;
        };
        self.counted[core].issued += 1;
        self.waiting.push(Waiting {
            l2,
            line,
            asked_by: core,
            arrives: cycle + u64::from(latency),
        });
        true
    }
}

/// Returns the predicted distance to an instruction's next miss, from all its misses.
pub fn prediction(lines: &[u64]) -> Option<i64> {
    let (mut stride, mut state) = (0, "initial");
    for pair in lines.windows(2) {
        let seen = pair[1] as i64 - pair[0] as i64;
        let correct = seen == stride;
        let next = match (state, correct) {
            ("initial" | "transient" | "steady", true) => "steady",
            ("steady", false) => "initial",
            ("initial", false) => "transient",
            ("transient" | "no prediction", false) => "no prediction",
            ("no prediction", true) => "transient",
            _ => unreachable!(),
        };
        if state != "steady" {
            stride = seen;
        }
        state = next;
    }
    (state != "no prediction" && stride != 0).then_some(stride)
}
