//! The segments of a thread's work: from one planned function that it enters to the next. A
//! delegated call is a segment, after which the interrupted segment continues.
//!
//! The functions that move a thread can instead only label its work. The replay then computes the
//! cost of each segment, and its interference with the others, while all of them share one core.

use crate::error::Error;
use crate::threads::split::Split;
use corehop_plan::{Destination, Plan};
use corehop_traces::{Function, FunctionId, Module};

/// The segment before a thread enters its first planned function.
pub const START: &str = "start";

/// Segments by number: [`START`], then one for each function of a plan, in the plan's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    /// The segments as a split, with each function on a separate core.
    numbers: Split,
    names: Vec<String>,
}

impl Default for Segments {
    fn default() -> Self {
        Segments {
            numbers: Split::default(),
            names: vec![START.into()],
        }
    }
}

impl Segments {
    /// Creates the segments that the functions of `plan` define for a trace with these modules and
    /// functions.
    ///
    /// # Errors
    /// Those of [`Split::from_plan`], for a function that is not in the trace.
    pub fn from_plan(
        plan: &Plan,
        modules: &[Module],
        functions: &[Function],
    ) -> Result<Self, Error> {
        let mut numbered = plan.clone();
        numbered.cores = plan.functions.len() as u32 + 1;
        for (planned, number) in numbered.functions.iter_mut().zip(1..) {
            // A segment belongs to a function, independent of the objects of its calls.
            planned.to = Destination::Core(number);
        }
        let numbers = Split::from_plan(&numbered, modules, functions)?;
        let mut names = vec![START.to_owned(); numbers.cores() as usize];
        for (index, function) in (0..).map(FunctionId).zip(functions) {
            if let Some(number) = numbers.core_of(index) {
                names[number.index()].clone_from(&function.name);
            }
        }
        Ok(Segments { numbers, names })
    }

    /// Returns the segment that entering `function` begins.
    pub fn begun_by(&self, function: FunctionId) -> Option<u32> {
        self.numbers.core_of(function).map(|core| core.0)
    }

    /// Returns the segments as a split, with each on a separate core.
    pub(crate) fn as_split(&self) -> &Split {
        &self.numbers
    }

    /// Returns the names by number: [`START`], then readable names of functions.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}
