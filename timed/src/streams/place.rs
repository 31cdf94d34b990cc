//! Where a split has a connection's thread: the stage that it is in.
//!
//! A stage is a core of the split. The rules are those of a replay without clocks: a function's
//! entry takes the thread to the function's stage, and where the split delegates the function, the
//! end of that call takes it back. When a connection begins its stream again, all calls have ended.

use super::stream::Mark;
use corehop_simulator::Split;

/// A thread's stage, and how it comes back to others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub stage: u32,
    /// Delegated calls, the innermost last.
    open: Vec<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    ends: Option<u64>,
    came_from: u32,
}

impl Place {
    /// The thread comes to a mark. The stage that it is to be in from there on, if the mark says
    /// anything of it to this split; it may be the one that it is in.
    pub fn pass(&mut self, mark: &Mark, split: &Split) -> Option<u32> {
        let mut says = false;
        let has_ended = |open: &mut Open| open.ends.is_some_and(|end| end <= mark.number);
        while let Some(ended) = self.open.pop_if(has_ended) {
            self.stage = ended.came_from;
            says = true;
        }
        if let Some(function) = mark.entered
            && let Some(stage) = split.core_of(function)
        {
            let call = mark.call.filter(|_| split.delegates(function));
            if let Some(ends) = call {
                let came_from = self.stage;
                self.open.push(Open { ends, came_from });
            }
            if call.is_some() || !split.delegates(function) {
                self.stage = stage;
                says = true;
            }
        }
        says.then_some(self.stage)
    }

    /// The stream begins again.
    pub fn begin_again(&mut self) {
        self.open.iter_mut().for_each(|open| open.ends = Some(0));
    }
}
