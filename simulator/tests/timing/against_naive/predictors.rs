//! A second implementation of the branch predictors by the rules in their headers, with the
//! complete history and tables that contain only what was written.

use corehop_simulator::branches::{Branch, Way};
use std::collections::BTreeMap;

const LENGTHS: [usize; 6] = [5, 11, 25, 57, 130, 256];

/// The predictors of a core.
#[derive(Clone, Default)]
pub struct Naive {
    /// The bits, the latest last.
    history: Vec<bool>,
    base: BTreeMap<u64, i32>,
    /// By table and index: tag, counter, and useful counter.
    tagged: BTreeMap<(usize, u64), (u64, i32, i32)>,
    targets: BTreeMap<u64, u64>,
    /// By place of the stack.
    returns: BTreeMap<i64, u64>,
    top: i64,
    conditional: u64,
}

impl Naive {
    /// Predicts a branch, and learns where it led. Returns whether the prediction was right.
    pub fn predict(&mut self, branch: &Branch) -> bool {
        let taken = branch.target != branch.behind;
        let is_right = match branch.way {
            Way::Fixed => true,
            Way::Conditional => {
                let predicted = self.conditional(branch.pc, taken);
                self.history.push(taken);
                predicted == taken
            }
            Way::Indirect => {
                let place = (branch.pc ^ (branch.pc / 4096) ^ self.fold(12, 12)) % 4096;
                let last = self.targets.insert(place, branch.target).unwrap_or(0);
                let ones = (0..64).filter(|bit| branch.target >> bit & 1 == 1).count();
                self.history.push(ones % 2 == 1);
                last == branch.target
            }
            Way::Return => {
                self.top -= 1;
                let place = self.top.rem_euclid(16);
                self.returns.get(&place).copied().unwrap_or(0) == branch.target
            }
        };
        if branch.calls {
            self.returns.insert(self.top.rem_euclid(16), branch.behind);
            self.top += 1;
        }
        is_right
    }

    /// Returns the XOR of the latest bits whose indices are the same modulo `width`.
    fn fold(&self, length: usize, width: usize) -> u64 {
        let latest = self.history.iter().rev().take(length);
        let ones = latest.enumerate().filter(|(_, bit)| **bit);
        ones.fold(0, |fold, (index, _)| fold ^ 1 << (index % width))
    }

    /// Returns the index and the tag of a branch in a tagged table.
    fn place(&self, table: usize, pc: u64) -> ((usize, u64), u64) {
        let (narrow, wide) = (self.fold(LENGTHS[table], 11), self.fold(LENGTHS[table], 12));
        let index = (pc ^ (pc / 2048) ^ narrow) % 2048;
        ((table, index), (pc ^ wide ^ (narrow * 2)) % 4096)
    }

    fn entry(&self, place: (usize, u64)) -> (u64, i32, i32) {
        self.tagged.get(&place).copied().unwrap_or((0, 0, 0))
    }

    /// Predicts whether a conditional branch is taken, and learns that it is or not.
    fn conditional(&mut self, pc: u64, taken: bool) -> bool {
        let places: Vec<_> = (0..6).map(|table| self.place(table, pc)).collect();
        let base = self.base.get(&(pc % 8192)).copied().unwrap_or(1);
        // From the base table to the longest history: the number of the tagged table after it, and
        // the prediction.
        let mut providers = vec![(0, base >= 2)];
        for (table, &(place, tag)) in places.iter().enumerate() {
            let (of, counter, _) = self.entry(place);
            if of == tag {
                providers.push((table + 1, counter >= 0));
            }
        }
        let (next, predicted) = *providers.last().unwrap();
        let step = if taken { 1 } else { -1 };
        if next == 0 {
            self.base.insert(pc % 8192, (base + step).clamp(0, 3));
        } else {
            let alternate = providers[providers.len() - 2].1;
            let place = places[next - 1].0;
            let (tag, counter, mut useful) = self.entry(place);
            if alternate != predicted {
                useful += if predicted == taken { 1 } else { -1 };
            }
            let counter = (counter + step).clamp(-4, 3);
            self.tagged
                .insert(place, (tag, counter, useful.clamp(0, 3)));
        }
        if predicted != taken {
            let longer = &places[next..];
            match longer.iter().find(|(place, _)| self.entry(*place).2 == 0) {
                Some(&(place, tag)) => {
                    self.tagged
                        .insert(place, (tag, if taken { 0 } else { -1 }, 0));
                }
                None => {
                    for &(place, _) in longer {
                        let (tag, counter, useful) = self.entry(place);
                        self.tagged.insert(place, (tag, counter, useful - 1));
                    }
                }
            }
        }
        self.conditional += 1;
        if self.conditional.is_multiple_of(262_144) {
            self.tagged.values_mut().for_each(|entry| entry.2 /= 2);
        }
        predicted
    }
}
