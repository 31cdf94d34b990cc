//! Visits of the kernel: what a thread does there from one entry to its end.
//!
//! A system call is a visit, and so is an interrupt or an exception. One may interrupt another,
//! whose visit goes on when it is over. Code tells where: entries have names ([`Reason`]), an
//! interrupt ends with `iret`, and once a thread is back in user code all its visits have ended.

use super::doors::{Door, Reason};
use super::mode::Mode;
use corehop_traces::{Execution, RequestId, ThreadId, Trace};

/// A visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Why the kernel ran.
    pub reason: Reason,
    /// Of a system call its name, by its handler; of an interrupt or an exception the entry's.
    /// Empty where nothing tells.
    pub name: String,
    /// The request in which it began.
    pub request: Option<RequestId>,
}

/// Follows the threads of a trace, execution by execution.
pub struct Visits<'t> {
    trace: &'t Trace,
    doors: Vec<Door>,
    threads: Vec<Thread>,
    visits: Vec<Visit>,
}

#[derive(Clone, Default)]
struct Thread {
    /// Numbers of its visits that have not ended, the innermost last.
    open: Vec<usize>,
    /// The innermost ends before the next execution.
    is_leaving: bool,
}

impl<'t> Visits<'t> {
    /// Before the first execution.
    pub fn of(trace: &'t Trace) -> Visits<'t> {
        Visits {
            trace,
            doors: Door::of(trace),
            threads: vec![Thread::default(); trace.threads().len()],
            visits: Vec::new(),
        }
    }

    /// Takes the next execution; the number of the visit that it belongs to, or `None` for user
    /// code.
    pub fn execution(&mut self, execution: &Execution<'_>) -> Option<usize> {
        let thread = &mut self.threads[execution.thread.index()];
        if std::mem::take(&mut thread.is_leaving) {
            thread.open.pop();
        }
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        if Mode::of(block.start) == Mode::User {
            thread.open.clear();
            return None;
        }
        let entered = execution.entry.map(|function| function.index());
        let door = entered.and_then(|function| self.doors.get(function));
        let mut begin = |reason: Reason, name: &str| {
            self.visits.push(Visit {
                reason,
                name: name.to_owned(),
                request: execution.request,
            });
            self.visits.len() - 1
        };
        match door.unwrap_or(&Door::None) {
            Door::In(reason @ (Reason::Interrupt | Reason::Exception), name) => {
                thread.open.push(begin(*reason, name));
            }
            Door::In(reason, name) => thread.open = vec![begin(*reason, name)],
            _ if thread.open.is_empty() => thread.open.push(begin(Reason::Other, "")),
            _ => {}
        }
        let innermost = *thread.open.last()?;
        match door {
            Some(Door::Handler(name)) => {
                let visit = &mut self.visits[innermost];
                if visit.reason == Reason::SystemCall && visit.name.is_empty() {
                    visit.name.clone_from(name);
                }
            }
            Some(Door::Out) => thread.is_leaving = true,
            _ => {}
        }
        Some(innermost)
    }

    /// The visit that the thread of the execution last taken entered the kernel with, if it is
    /// there.
    pub fn outermost(&self, thread: ThreadId) -> Option<usize> {
        self.threads[thread.index()].open.first().copied()
    }

    /// All visits, by number: in the order in which they began.
    pub fn all(&self) -> &[Visit] {
        &self.visits
    }
}
