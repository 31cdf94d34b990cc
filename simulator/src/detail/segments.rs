//! The parts of a thread's work: from one planned function that it enters to the next. A call that
//! the plan delegates is a part of its own, after which the part that it interrupted goes on.
//!
//! The same functions that move a thread can instead only name what it does; the replay then says
//! what each part costs and takes from the others while all of them share one core.

use crate::error::Error;
use crate::threads::split::Split;
use corehop_plan::{Destination, Plan};
use corehop_traces::{Function, FunctionId, Module};

/// What a thread does before it enters the first planned function.
pub const START: &str = "start";

/// Segments by number: [`START`], then one for each of a plan's functions, in the plan's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    /// As a split, with each function on a core of its own.
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
    /// The segments that the functions of `plan` make of a trace with these modules and functions.
    ///
    /// # Errors
    /// Those of [`Split::from_plan`], for a function that the trace does not know.
    pub fn from_plan(
        plan: &Plan,
        modules: &[Module],
        functions: &[Function],
    ) -> Result<Self, Error> {
        let mut numbered = plan.clone();
        numbered.cores = plan.functions.len() as u32 + 1;
        for (planned, number) in numbered.functions.iter_mut().zip(1..) {
            // A segment is of a function, whatever its calls are about.
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

    /// The segment that entering `function` begins.
    pub fn begun_by(&self, function: FunctionId) -> Option<u32> {
        self.numbers.core_of(function).map(|core| core.0)
    }

    /// The segments as a split, with each on a core of its own.
    pub(crate) fn as_split(&self) -> &Split {
        &self.numbers
    }

    /// Names by number: [`START`], then functions as people read them.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}
