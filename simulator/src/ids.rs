//! Types for the numbers of cores and of lines. Separate types prevent confusion with each other,
//! with counts and with line addresses.
//!
//! Each costs as much as a `u32` and has no arithmetic. The numbers of threads, requests and
//! functions are defined by the trace ([`corehop_traces::ThreadId`]).

use std::fmt::{Display, Formatter};

/// A core of a split, a plan or a machine, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[repr(transparent)]
pub struct CoreId(pub u32);

/// A line's number in [`crate::Lines`] or a [`crate::Hierarchy`], in order of first reference. It
/// is not the line number, which is an address divided by 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct LineId(pub u32);

impl CoreId {
    /// Returns the core with this index.
    #[inline(always)]
    pub fn from_index(index: usize) -> CoreId {
        CoreId(index as u32)
    }

    /// Returns the index among all cores.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LineId {
    /// Returns the index among all lines.
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
