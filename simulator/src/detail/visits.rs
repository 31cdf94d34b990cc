//! Visits of the kernel: a thread's work in the kernel from one entry to its end.
//!
//! A system call, an interrupt and an exception are visits. One may interrupt another, which
//! continues when it ends. Code marks the boundaries: entries have names ([`Reason`]), an interrupt
//! ends with `iret`, and a thread's return to user code ends all its visits.
//!
//! A device's interrupt enters through a stub that belongs to its vector and has no name (Linux's
//! `irq_entries_start`). The stub jumps to `asm_common_interrupt`, so it is the next code block
//! that names the visit. In the kernel, the stub counts for what it interrupts. An interrupt may
//! follow the end of another before any user code runs.

use super::doors::{Door, Reason};
use super::mode::Mode;
use corehop_traces::{Execution, RequestId, ThreadId, Trace};

/// A visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Why the kernel ran.
    pub reason: Reason,
    /// For a system call, its name, by its handler; for an interrupt or an exception, the name of
    /// the entry. Empty if unknown.
    pub name: String,
    /// The request in which it began.
    pub request: Option<RequestId>,
}

/// Tracks the visits of a trace's threads, execution by execution.
pub struct Visits<'t> {
    trace: &'t Trace,
    doors: Vec<Door>,
    threads: Vec<Thread>,
    visits: Vec<Visit>,
}

#[derive(Clone, Default)]
struct Thread {
    /// Numbers of its open visits, the innermost last.
    open: Vec<usize>,
    /// Whether the innermost visit ends before the next execution.
    is_leaving: bool,
    /// Whether its last execution was user code.
    is_user: bool,
    /// Whether its last execution entered the kernel, and no function.
    is_stub: bool,
}

impl<'t> Visits<'t> {
    /// Creates a tracker before the first execution.
    pub fn of(trace: &'t Trace) -> Visits<'t> {
        Visits {
            trace,
            doors: Door::of(trace),
            threads: vec![Thread::default(); trace.threads().len()],
            visits: Vec::new(),
        }
    }

    /// Processes the next execution. Returns the number of the visit that it belongs to, or `None`
    /// for user code.
    pub fn execution(&mut self, execution: &Execution<'_>) -> Option<usize> {
        let thread = &mut self.threads[execution.thread.index()];
        let has_left = std::mem::take(&mut thread.is_leaving);
        if has_left {
            thread.open.pop();
        }
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        if Mode::of(block.start) == Mode::User {
            thread.open.clear();
            (thread.is_user, thread.is_stub) = (true, false);
            return None;
        }
        let was_user = std::mem::take(&mut thread.is_user);
        let was_stub = std::mem::take(&mut thread.is_stub);
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
            Door::In(reason @ Reason::Interrupt, name) if was_stub => {
                let stub = *thread.open.last()?;
                (self.visits[stub].reason, self.visits[stub].name) = (*reason, name.clone());
            }
            Door::In(reason @ (Reason::Interrupt | Reason::Exception), name) => {
                thread.open.push(begin(*reason, name));
            }
            Door::In(reason, name) => thread.open = vec![begin(*reason, name)],
            _ if thread.open.is_empty() => {
                thread.open.push(begin(Reason::Other, ""));
                thread.is_stub = (was_user || has_left) && entered.is_none();
            }
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

    /// Returns the visit with which the thread entered the kernel, if it is in the kernel after its
    /// last processed execution.
    pub fn outermost(&self, thread: ThreadId) -> Option<usize> {
        self.threads[thread.index()].open.first().copied()
    }

    /// Returns all visits, in the order in which they began.
    pub fn all(&self) -> &[Visit] {
        &self.visits
    }
}
