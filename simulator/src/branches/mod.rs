//! Branch predictors: a core's guesses of where its threads continue.
//!
//! A core keeps its predictors while threads come and go, as it keeps its caches. Code that runs on
//! one core alone therefore finds them as it left them. [`Predictor`] is those of one core: TAGE
//! ([`tage`]) for conditional branches, a table of targets for indirect ones, and a stack for
//! returns. All use one history of earlier branches ([`history`]).
//!
//! A trace has no opcodes. How an instruction branches is inferred from where threads continued
//! after it, anywhere in the replayed requests ([`Way`]); `timing/streams/branches.rs` does so. A
//! branch that always continues at one place counts as predicted: nothing shows whether it has a
//! choice.

mod history;
mod predictor;
mod registry;
mod tage;

pub use predictor::Predictor;
pub use registry::{BRANCH_PREDICTORS, BranchPredictorName};

use std::ops::Add;

/// How an instruction at the end of a code block branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It always continued at the same place.
    Fixed,
    /// It continued behind itself or at one other place.
    Conditional,
    /// It continued at several other places.
    Indirect,
    /// It returns from a function.
    Return,
}

/// A branch, and where it led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// How it branches.
    pub way: Way,
    /// Address of the instruction.
    pub pc: u64,
    /// Address of the byte behind it.
    pub behind: u64,
    /// Address at which the thread continued.
    pub target: u64,
    /// Whether it stored the address behind it for a return.
    pub calls: bool,
}

/// Number of branches that were predicted, and of those that were predicted wrongly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct BranchCounters {
    /// Conditional branches.
    pub conditional: u64,
    /// Conditional branches that went the other way.
    pub conditional_mispredicted: u64,
    /// Indirect jumps and calls.
    pub indirect: u64,
    /// Indirect jumps and calls to another place.
    pub indirect_mispredicted: u64,
    /// Returns.
    pub returns: u64,
    /// Returns to another place.
    pub returns_mispredicted: u64,
}

impl BranchCounters {
    /// Returns the number of predicted branches.
    pub fn predicted(&self) -> u64 {
        self.conditional + self.indirect + self.returns
    }

    /// Returns the number of mispredicted branches.
    pub fn mispredicted(&self) -> u64 {
        self.conditional_mispredicted + self.indirect_mispredicted + self.returns_mispredicted
    }

    /// Counts a branch.
    pub(crate) fn count(&mut self, way: Way, is_mispredicted: bool) {
        let (all, wrong) = match way {
            Way::Fixed => return,
            Way::Conditional => (&mut self.conditional, &mut self.conditional_mispredicted),
            Way::Indirect => (&mut self.indirect, &mut self.indirect_mispredicted),
            Way::Return => (&mut self.returns, &mut self.returns_mispredicted),
        };
        *all += 1;
        *wrong += u64::from(is_mispredicted);
    }
}

impl Add for BranchCounters {
    type Output = BranchCounters;

    fn add(self, other: BranchCounters) -> BranchCounters {
        BranchCounters {
            conditional: self.conditional + other.conditional,
            conditional_mispredicted: self.conditional_mispredicted
                + other.conditional_mispredicted,
            indirect: self.indirect + other.indirect,
            indirect_mispredicted: self.indirect_mispredicted + other.indirect_mispredicted,
            returns: self.returns + other.returns,
            returns_mispredicted: self.returns_mispredicted + other.returns_mispredicted,
        }
    }
}
