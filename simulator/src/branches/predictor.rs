//! The predictors of one core.
//!
//! Besides those of [`super::tage`], these are all rules.
//!
//! - A conditional branch is predicted by TAGE.
//! - An indirect jump or call is predicted to go where the last one went that used the same of 4096
//!   places: the XOR of its address, its address divided by 4096, and the fold of length and width
//!   12, modulo 4096 (Chang, Hao and Patt, "Target prediction for indirect jumps", ISCA 1997).
//! - A call puts the address behind it on a stack of 16 addresses, above the last one; a return
//!   takes the last one, and is predicted to go there. Beyond 16 the oldest is overwritten, and
//!   what is taken stays until it is (as in Skylake, by Fog, "The microarchitecture of Intel, AMD
//!   and VIA CPUs", 2024). At first all are 0.
//! - After a conditional branch, a bit is added to the history: whether it was taken. After an
//!   indirect one: whether the number of bits that are set in the target is odd.

use super::history::{Fold, History};
use super::tage::Tage;
use super::{Branch, Way};

const TARGETS_BITS: u32 = 12;
const RETURNS: usize = 16;

/// The predictors of one core.
#[derive(Clone, Debug)]
pub struct Predictor {
    history: History,
    tage: Tage,
    targets: Box<[u64]>,
    of_targets: Fold,
    returns: [u64; RETURNS],
    /// The number of addresses on the stack, modulo its size.
    top: usize,
}

impl Default for Predictor {
    fn default() -> Predictor {
        Predictor::new()
    }
}

impl Predictor {
    /// Creates predictors that have learned nothing.
    #[must_use]
    pub fn new() -> Predictor {
        Predictor {
            history: History::new(),
            tage: Tage::new(),
            targets: vec![0; 1 << TARGETS_BITS].into(),
            of_targets: Fold::new(TARGETS_BITS as usize, TARGETS_BITS),
            returns: [0; RETURNS],
            top: 0,
        }
    }

    /// Predicts a branch, and learns where it led. Returns whether the prediction was right.
    pub fn predict(&mut self, branch: &Branch) -> bool {
        let &Branch {
            way, pc, target, ..
        } = branch;
        let is_right = match way {
            Way::Fixed => true,
            Way::Conditional => {
                let taken = target != branch.behind;
                let is_right = self.tage.predict(pc, taken);
                self.push(taken);
                is_right
            }
            Way::Indirect => {
                let place = (pc ^ (pc >> TARGETS_BITS)) as usize ^ self.of_targets.value();
                let last = &mut self.targets[place & ((1 << TARGETS_BITS) - 1)];
                let is_right = std::mem::replace(last, target) == target;
                self.push(target.count_ones() % 2 == 1);
                is_right
            }
            Way::Return => {
                self.top = (self.top + RETURNS - 1) % RETURNS;
                self.returns[self.top] == target
            }
        };
        if branch.calls {
            self.returns[self.top] = branch.behind;
            self.top = (self.top + 1) % RETURNS;
        }
        is_right
    }

    fn push(&mut self, bit: bool) {
        let folds = self.tage.folds().chain([&mut self.of_targets]);
        self.history.push(bit, folds);
    }
}
