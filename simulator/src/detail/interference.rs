//! Interference between segments in an L2: one matrix of losses for lack of capacity, one of losses
//! to stores of other cores.
//!
//! The cause of a miss is the segment that removed the line. If the segment that misses a line also
//! referenced it last, it lost the line to the segment that removed it. On a separate core it would
//! not have. Lines that several segments reference alternately are counted outside the matrix,
//! because no split gives such a line to all of them. Counting replacements instead would include
//! lines that are never used again.

use crate::ids::LineId;
use serde::Serialize;

/// L2 misses of one cause, by the segment that missed and the segment that had removed the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// `lost[s][t]`: misses of segment s on lines that s itself referenced last in that L2, before
    /// an access of t removed them. The diagonal is a segment's losses to itself.
    pub lost: Vec<Vec<u64>>,
    /// For each segment: its misses on removed lines that another segment had referenced last.
    pub touched_by_others: Vec<u64>,
}

impl Losses {
    fn new(segments: usize) -> Losses {
        Losses {
            lost: vec![vec![0; segments]; segments],
            touched_by_others: vec![0; segments],
        }
    }

    /// Returns all misses of a segment for this cause.
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

/// L2 lines that segments lost, by cause and by the segment that removed them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interference {
    /// Lines replaced for lack of capacity or of ways.
    pub capacity: Losses,
    /// Lines removed by a store of a core with another L2.
    pub coherence: Losses,
}

impl Interference {
    /// Creates an empty matrix for each cause.
    pub fn new(segments: usize) -> Interference {
        Interference {
            capacity: Losses::new(segments),
            coherence: Losses::new(segments),
        }
    }
}

/// The segment that had referenced a line last when it was removed, and the one that removed it.
#[derive(Clone, Copy, Default)]
struct Loss {
    loser: u32,
    taker: u32,
}

/// The history of one line in one L2. A line may stay in an L1 after the L2 has replaced it, and be
/// stored to elsewhere before the L2 misses it. The last loss of each cause is therefore kept.
#[derive(Clone, Copy, Default)]
struct History {
    /// The segment that last referenced it, from a core of this L2.
    last_referenced_by: u32,
    replaced: Loss,
    invalidated: Loss,
}

/// Counts [`Interference`] from events. The caller numbers lines densely from 0.
pub struct Interfering {
    instances: usize,
    /// One entry for each line and L2.
    histories: Vec<History>,
    counted: Interference,
}

impl Interfering {
    /// Creates a counter for `instances` L2s and `segments` segments.
    pub fn new(instances: usize, segments: usize) -> Interfering {
        Interfering {
            instances,
            histories: Vec::new(),
            counted: Interference::new(segments),
        }
    }

    /// Records an access of `segment` to `line` from a core of this L2, whether it hits or misses.
    pub fn reference(&mut self, instance: usize, line: LineId, segment: u32) {
        self.history(instance, line).last_referenced_by = segment;
    }

    /// Records that an access of `segment` made this L2 replace `line`.
    pub fn replace(&mut self, instance: usize, line: LineId, segment: u32) {
        let history = self.history(instance, line);
        history.replaced = Loss {
            loser: history.last_referenced_by,
            taker: segment,
        };
    }

    /// Records that a store of `segment`, from a core with another L2, removed `line` from this
    /// one.
    pub fn invalidate(&mut self, instance: usize, line: LineId, segment: u32) {
        let history = self.history(instance, line);
        history.invalidated = Loss {
            loser: history.last_referenced_by,
            taker: segment,
        };
    }

    /// Counts a miss of `segment` on `line` in this L2, which had replaced it.
    pub fn miss_for_capacity(&mut self, instance: usize, line: LineId, segment: u32) {
        let loss = self.history(instance, line).replaced;
        self.counted.capacity.count(segment, loss);
    }

    /// Counts a miss of `segment` on `line` in this L2, from which a store elsewhere had removed
    /// it.
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

    /// Resets the counts, but keeps the histories.
    pub fn start_counting(&mut self) {
        self.counted = Interference::new(self.counted.capacity.lost.len());
    }

    /// Returns the counts.
    pub fn counted(&self) -> &Interference {
        &self.counted
    }
}
