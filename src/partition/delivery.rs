//! Writes a search's plan and prints its result, each to where it is wanted, or reports why no plan
//! was written.

use crate::console;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::line::Lines;
use corehop_plan::{Plan, render};
use corehop_support::atomic_file::{Output, PUBLIC};

/// A plan, and where it is to go.
pub struct Delivery<'a> {
    pub plan: &'a Plan,
    /// Where it was asked for.
    pub asked: Option<&'a Output>,
    /// Why it is not written all the same, and what to do about that.
    pub against: Option<(String, &'static str)>,
}

impl<'a> Delivery<'a> {
    /// Where the plan is written.
    pub fn output(&self) -> Option<&'a Output> {
        self.asked.filter(|_| self.against.is_none())
    }

    /// Writes the plan, and prints what is told: beside it if the plan goes to standard output.
    ///
    /// # Errors
    /// [`Exit::Refused`] where something is against the plan; what cannot be written.
    pub fn make(self, said: &Lines) -> Result<(), Failure> {
        interrupt::finish_search();
        let to_stdout = |output: Option<&Output>| output.is_some_and(Output::is_standard_output);
        let output = self.output();
        if let Some(output) = output.filter(|_| !to_stdout(output)) {
            output.write(render(self.plan).as_bytes(), PUBLIC)?;
        }
        match to_stdout(self.asked) {
            true => console::tell(said),
            false => console::print(said)?,
        }
        if to_stdout(output) {
            console::print(&Lines::of_text(&render(self.plan)))?;
        }
        match self.against {
            None => Ok(()),
            Some((why, remedy)) => {
                let message = format!("no plan was written: {why}");
                Err(Failure::new(Exit::Refused, message).remedy(remedy))
            }
        }
    }
}
