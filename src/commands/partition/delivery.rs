//! Writes a search's plan and prints its result, or reports why no plan was written.

use crate::failure::{Exit, Failure};
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::line::Lines;
use corehop_plan::{Plan, render};
use corehop_support::atomic_file::{Output, PUBLIC};

/// A plan and its destination.
pub struct Delivery<'a> {
    pub plan: &'a Plan,
    /// The requested output.
    pub asked: Option<&'a Output>,
    /// Why it is not written despite that, and the remedy.
    pub against: Option<(String, &'static str)>,
}

impl<'a> Delivery<'a> {
    /// Returns where the plan is written.
    pub fn output(&self) -> Option<&'a Output> {
        self.asked.filter(|_| self.against.is_none())
    }

    /// Writes the plan, and prints the result: on standard error if the plan goes to standard
    /// output.
    ///
    /// # Errors
    /// [`Exit::Refused`] if there is evidence against the plan; errors of writing.
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
