//! Where calls of functions end.
//!
//! A trace holds the entries of functions and not their returns. But a call stores its return
//! address, 8 bytes by the last instruction of its code block, and the return loads them from the
//! same place. So each thread's open calls are kept as the addresses of their return addresses,
//! which grow smaller from call to call, because the stack grows down. Whoever calls or returns at
//! an address at or above that of an open call has left it: by its own return, by that of a
//! function it jumped to, or by an exception or `longjmp` past it. An entry that nobody called, by
//! a jump at the end of another function or back to its first instruction, goes on with the call
//! that is open; so does one after the jump of a procedure linkage table.
//!
//! What a thread was in when its recording began, it was called into before: the function at the
//! request's marker always, and whatever that jumps to. Where the return address lies is then not
//! known, but the return is: an instruction of one byte that loads 8 and does not go on behind
//! itself can only be `ret`, since no jump through memory is that short. So the first such return
//! that belongs to no call of the trace, with none open, leaves the function that the thread was in
//! at first. The same holds behind a gap (`gaps.rs`), where requests were left out: what was open
//! before stays so until it is left, because a server that waits for requests in one place comes
//! back by the same calls, but what the thread then is in was called in the gap.
//!
//! What a signal handler does is no part of these calls: a patched server moves nobody for it, so
//! its entries are told apart and none of its calls counts (`signals.rs`).
//!
//! Not every store at the end of a code block is a call, nor every load a return. A block may end
//! at the end of a page or before a repeated instruction; then the thread goes on where the block
//! ends, or at its last instruction. A jump through a table loads 8 bytes from where no open call
//! has its return address, and takes more than one byte. What is left are threads that change their
//! stack, as coroutines do: they seem to leave calls that they come back to. To ask the recorder
//! for returns was rejected: it would write a word for each, and the traces there are would lack
//! them.

mod gaps;
mod signals;

use crate::model::error::Error;
use crate::model::execution::{Access, Execution, Kind};
use crate::model::ids::{FunctionId, RequestId, ThreadId};
use crate::model::program::CodeBlock;
use crate::read::trace::Trace;
use gaps::after_gaps;
use signals::{Interrupted, Resumes};
use std::ops::Range;

/// A call of a function: what its thread did from the function's entry on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: FunctionId,
    /// Number of the thread's execution that entered it.
    pub begins: u64,
    /// Number of the thread's first execution after it; `None` when the trace ends before.
    pub ends: Option<u64>,
}

/// The calls of some functions in a trace.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// By thread, in the order of their beginnings.
    calls: Vec<Vec<Call>>,
    /// By thread, the executions before which some call has ended, ascending.
    ends: Vec<Vec<u64>>,
}

impl Calls {
    /// Finds all calls of the functions that are set in `functions`, by index, in one pass over all
    /// of the trace.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the trace contradicts itself.
    pub fn of(trace: &Trace, functions: &[bool]) -> Result<Calls, Error> {
        let handlers = &trace.contents.signal_handlers;
        let extent = |block: &CodeBlock| Extent::of(block, handlers.contains(&block.start));
        let blocks: Vec<Extent> = trace.code_blocks().iter().map(extent).collect();
        let after_gaps = after_gaps(trace.requests());
        let mut threads: Vec<Thread> = Vec::new();
        threads.resize_with(trace.threads().len(), Thread::default);
        // A stack grows through virtual addresses.
        let mut executions = trace.executions().with_virtual_addresses();
        while let Some(execution) = executions.next()? {
            let thread = &mut threads[execution.thread.index()];
            let called = thread.depart(&execution, &blocks);
            if !called && blocks[execution.code_block as usize].is_handler {
                thread.interrupt();
            }
            if thread.request != execution.request {
                thread.request = execution.request;
                if execution.request.is_some_and(|r| after_gaps[r.index()]) {
                    thread.before_gap = thread.open.len();
                }
            }
            thread.arrive(&execution, &blocks, functions);
        }
        let ends = |thread: &Thread| {
            let ends = thread.calls.iter().filter_map(|call| call.ends);
            let mut ends: Vec<u64> = ends.collect();
            ends.sort_unstable();
            ends.dedup();
            ends
        };
        Ok(Calls {
            ends: threads.iter().map(ends).collect(),
            calls: threads.into_iter().map(|thread| thread.calls).collect(),
        })
    }

    /// The calls of one thread, in the order of their beginnings.
    pub fn of_thread(&self, thread: ThreadId) -> &[Call] {
        self.calls.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// The call that begins with an execution of a thread. An entry of a function in a signal
    /// handler begins none.
    pub fn begun_by(&self, thread: ThreadId, begins: u64) -> Option<&Call> {
        let calls = self.of_thread(thread);
        let place = calls.binary_search_by_key(&begins, |call| call.begins);
        Some(&calls[place.ok()?])
    }

    /// Those of a thread's executions, by number, before which a call has ended.
    pub(super) fn ends_in(&self, thread: ThreadId, executions: Range<u64>) -> &[u64] {
        let ends = self.ends.get(thread.index()).map_or(&[][..], Vec::as_slice);
        let before = |number| ends.partition_point(|&end| end < number);
        &ends[before(executions.start)..before(executions.end)]
    }
}

/// Where a code block begins and ends.
struct Extent {
    /// Address of the first instruction.
    start: u64,
    /// Address of the last instruction.
    last: u64,
    /// Address of the first byte after it.
    end: u64,
    /// A signal handler begins with it.
    is_handler: bool,
}

impl Extent {
    fn of(block: &CodeBlock, is_handler: bool) -> Extent {
        let last = block.instructions.last();
        let (offset, size_bytes) = last.map_or((0, 0), |last| (last.offset, last.size_bytes));
        let last = block.start + u64::from(offset);
        Extent {
            start: block.start,
            last,
            end: last + u64::from(size_bytes),
            is_handler,
        }
    }
}

/// How a thread may have left a code block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Called,
    Returned,
    /// By an instruction too long to be no jump.
    ReturnedOrJumped,
}

/// One thread on its way.
#[derive(Default)]
struct Thread {
    request: Option<RequestId>,
    /// What may have been a call or a return: the last access of the execution before, its code
    /// block, and what it was.
    before: Option<(u64, u32, Way)>,
    /// Where the return addresses of open calls are, of any function: descending.
    open: Vec<u64>,
    /// How many of them were called before the last gap.
    before_gap: usize,
    /// Open calls of functions asked for: their places among `calls`, and where the return address
    /// is.
    asked: Vec<(usize, u64)>,
    /// Those of which nobody knows where, since what called them is not in the trace.
    called_unseen: Vec<usize>,
    calls: Vec<Call>,
    /// What signal handlers have interrupted, the last one last.
    interrupted: Vec<Interrupted>,
    /// The execution with which it goes on, once the last handler has returned.
    resumes: Option<u64>,
}

impl Thread {
    /// Leaves the code block of the execution before. What a gap follows came to the request's
    /// marker as well, where the thread goes on behind it. Whether this was by a call.
    fn depart(&mut self, execution: &Execution<'_>, blocks: &[Extent]) -> bool {
        let before = self.before.take();
        if self
            .resumes
            .take_if(|resumes| *resumes <= execution.number)
            .is_some()
        {
            self.resume();
            return false;
        }
        let Some((address, before, way)) = before else {
            return false;
        };
        let (block, before) = (
            &blocks[execution.code_block as usize],
            &blocks[before as usize],
        );
        let left = block.start != before.end && block.start != before.last;
        if left {
            self.leave(address, way, execution.number);
        }
        left && way == Way::Called
    }

    /// A signal handler begins.
    fn interrupt(&mut self) {
        self.interrupted.push(Interrupted {
            open: std::mem::take(&mut self.open),
            before_gap: std::mem::take(&mut self.before_gap),
        });
    }

    /// The thread goes on with what the last signal handler has interrupted.
    fn resume(&mut self) {
        if let Some(interrupted) = self.interrupted.pop() {
            (self.open, self.before_gap) = (interrupted.open, interrupted.before_gap);
        }
    }

    fn arrive(&mut self, execution: &Execution<'_>, blocks: &[Extent], functions: &[bool]) {
        let block = &blocks[execution.code_block as usize];
        if let Some(function) = execution.entry
            && self.interrupted.is_empty()
            && functions.get(function.index()) == Some(&true)
        {
            let place = self.calls.len();
            match self.open[self.before_gap..].last() {
                Some(&address) => self.asked.push((place, address)),
                None => self.called_unseen.push(place),
            }
            self.calls.push(Call {
                function,
                begins: execution.number,
                ends: None,
            });
        }
        let is_last = |access: &&Access| access.pc == block.last && access.size_bytes == 8;
        let last = execution.accesses.last().filter(is_last);
        self.before = last.and_then(|access| {
            let way = match access.kind {
                Kind::Fetch => return None,
                Kind::Store => Way::Called,
                Kind::Load if block.end - block.last == 1 => Way::Returned,
                Kind::Load => Way::ReturnedOrJumped,
            };
            Some((access.address, execution.code_block, way))
        });
    }

    /// The thread called, or may have returned, by way of `address`; execution `number` comes next.
    fn leave(&mut self, address: u64, way: Way, number: u64) {
        if let Some(interrupted) = self.interrupted.last() {
            match interrupted.resumes(&self.open, address, way == Way::Called) {
                Resumes::Not => {}
                // The kernel's own code comes in between, which asks for what was interrupted.
                Resumes::AfterNext if way == Way::Returned => self.resumes = Some(number + 1),
                Resumes::AfterNext => return,
                Resumes::Now => {
                    self.resume();
                    return self.leave(address, way, number);
                }
            }
        }
        let left = self.open.partition_point(|&open| open > address);
        let is_open = self.open.get(left) == Some(&address);
        if way == Way::ReturnedOrJumped && !is_open {
            return;
        }
        let is_of_before = !is_open || left < self.before_gap;
        let is_own = self.interrupted.is_empty() && way != Way::Called;
        if is_own && is_of_before && left <= self.before_gap {
            for place in self.called_unseen.drain(..) {
                self.calls[place].ends = Some(number);
            }
        }
        self.open.truncate(left);
        self.before_gap = self.before_gap.min(left);
        let is_left =
            |(_, open): &mut (usize, u64)| self.interrupted.is_empty() && *open <= address;
        while let Some((place, _)) = self.asked.pop_if(is_left) {
            self.calls[place].ends = Some(number);
        }
        if way == Way::Called {
            self.open.push(address);
        }
    }
}
