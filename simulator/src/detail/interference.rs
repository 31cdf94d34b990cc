//! Who takes whose lines out of an L2: one matrix for want of room, one for stores elsewhere.
//!
//! A miss is caused by whoever removed the line before. When the segment that referenced a line
//! last is also the one that misses it again, it has lost the line to the segment that removed it,
//! and on a core of its own it would not have. Lines that several segments reference in turn are
//! counted beside the matrix, because no split gives such a line to all of them. Counting
//! replacements instead would charge lines that nobody ever wants again.

use crate::ids::LineId;
use serde::Serialize;

/// L2 misses for one cause, by the segment that missed and the segment that had removed the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// `lost[s][t]`: misses of segment s on lines that s itself referenced last in that L2, before
    /// an access of t removed them. The diagonal is what a segment does to itself.
    pub lost: Vec<Vec<u64>>,
    /// By segment: its misses on removed lines that another segment had referenced last.
    pub touched_by_others: Vec<u64>,
}

impl Losses {
    fn new(segments: usize) -> Losses {
        Losses {
            lost: vec![vec![0; segments]; segments],
            touched_by_others: vec![0; segments],
        }
    }

    /// All of a segment's misses for this cause.
    pub fn of(&self, segment: usize) -> u64 {
        self.touched_by_others[segment] + self.lost[segment].iter().sum::<u64>()
    }

    fn count(&mut self, segment: u32, loss: Loss) {
        if loss.loser == segment {
            self.lost[segment as usize][loss.taker as usize] += 1;
        } else {
            self.touched_by_others[segment as usize] += 1;
        }
    }
}

/// Why and to whom segments lose lines of their L2s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interference {
    /// Lines replaced for want of room or of ways.
    pub capacity: Losses,
    /// Lines removed by a store of a core behind another L2.
    pub coherence: Losses,
}

impl Interference {
    /// Nothing lost yet.
    pub fn new(segments: usize) -> Interference {
        Interference {
            capacity: Losses::new(segments),
            coherence: Losses::new(segments),
        }
    }
}

/// Who had referenced a line last when it was removed, and who removed it.
#[derive(Clone, Copy, Default)]
struct Loss {
    loser: u32,
    taker: u32,
}

/// What one L2 remembers of one line. A line that stays in an L1 after the L2 has replaced it can
/// be stored to elsewhere before the L2 misses it, so the last loss of each cause is kept.
#[derive(Clone, Copy, Default)]
struct History {
    /// The segment that referenced it last, from a core behind this L2.
    last_referenced_by: u32,
    replaced: Loss,
    invalidated: Loss,
}

/// Counts [`Interference`], event by event. Lines are numbered by the caller, densely from 0.
pub struct Interfering {
    instances: usize,
    /// Line by line, an entry for each L2.
    histories: Vec<History>,
    counted: Interference,
}

impl Interfering {
    /// For a machine with so many L2s, and so many segments.
    pub fn new(instances: usize, segments: usize) -> Interfering {
        Interfering {
            instances,
            histories: Vec::new(),
            counted: Interference::new(segments),
        }
    }

    /// `segment` accesses `line` from a core behind this L2, whether or not it is held there.
    pub fn reference(&mut self, instance: usize, line: LineId, segment: u32) {
        self.history(instance, line).last_referenced_by = segment;
    }

    /// An access of `segment` makes this L2 replace `line`.
    pub fn replace(&mut self, instance: usize, line: LineId, segment: u32) {
        let history = self.history(instance, line);
        history.replaced = Loss {
            loser: history.last_referenced_by,
            taker: segment,
        };
    }

    /// A store of `segment`, from a core behind another L2, removes `line` from this one.
    pub fn invalidate(&mut self, instance: usize, line: LineId, segment: u32) {
        let history = self.history(instance, line);
        history.invalidated = Loss {
            loser: history.last_referenced_by,
            taker: segment,
        };
    }

    /// `segment` misses `line` in this L2, which had replaced it.
    pub fn miss_for_capacity(&mut self, instance: usize, line: LineId, segment: u32) {
        let loss = self.history(instance, line).replaced;
        self.counted.capacity.count(segment, loss);
    }

    /// `segment` misses `line` in this L2, from which a store elsewhere had removed it.
    pub fn miss_for_coherence(&mut self, instance: usize, line: LineId, segment: u32) {
        let loss = self.history(instance, line).invalidated;
        self.counted.coherence.count(segment, loss);
    }

    #[inline]
    fn history(&mut self, instance: usize, line: LineId) -> &mut History {
        let index = line.index() * self.instances + instance;
        if index >= self.histories.len() {
            self.histories.resize(index + 1, History::default());
        }
        &mut self.histories[index]
    }

    /// Forgets what was counted, but not who lost what to whom.
    pub fn start_counting(&mut self) {
        self.counted = Interference::new(self.counted.capacity.lost.len());
    }

    /// What was counted.
    pub fn counted(&self) -> &Interference {
        &self.counted
    }
}
