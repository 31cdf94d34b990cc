//! The numbers of cores and of lines: a type for each, so that none is taken for the other, for a
//! count, or for a line's address.
//!
//! Each costs what a `u32` does and has no arithmetic. The numbers of threads, requests and
//! functions are the trace's ([`corehop_traces::ThreadId`]).

use std::fmt::{Display, Formatter};

/// A core of a split, a plan or a machine, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[repr(transparent)]
pub struct CoreId(pub u32);

/// A line that [`crate::Lines`] or a [`crate::Hierarchy`] has numbered, in the order in which lines
/// were first met. It is not the line number, which is an address divided by 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct LineId(pub u32);

impl CoreId {
    /// The core at this place among all.
    #[inline(always)]
    pub fn from_index(index: usize) -> CoreId {
        CoreId(index as u32)
    }

    /// Its place among all cores.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LineId {
    /// Its place among all lines.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Display for CoreId {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}
