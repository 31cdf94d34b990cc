//! Finds where function calls end.
//!
//! A trace contains the entries of functions, but not their returns. A call stores its return
//! address: 8 bytes, by the last instruction of its code block. The return loads these bytes from
//! the same place. So each thread's open calls are kept as the addresses of their return addresses.
//! These decrease from call to call, because the stack grows down. A call or return at or above the
//! address of an open call shows that the thread has left that call. It left by the call's own
//! return, by that of a function it jumped to, or by an exception or `longjmp`. Some entries are
//! reached without a call: by a tail call, by a jump back to the first instruction, or from a
//! procedure linkage table. They continue the open call.
//!
//! A thread's functions at the start of its recording were called earlier: always the function at
//! the request's marker, and any function that it jumps to. The place of the return address is then
//! unknown, but the return is recognized. A one-byte instruction that loads 8 bytes and does not
//! continue at the next instruction can only be `ret`: jumps through memory are longer. So the
//! first such return without any open call leaves the function that the thread was in at first. The
//! same holds after a gap (`gaps.rs`), where requests were omitted. Calls from before the gap stay
//! open until they are left, because a server that waits for requests in one place returns through
//! the same calls. The functions that the thread is in directly after a gap were called within the
//! gap.
//!
//! Calls made by a signal handler are not part of these calls: a patched server migrates no thread
//! for it. The handler's entries are recognized, and none of its calls counts (`signals.rs`).
//!
//! A store at the end of a code block is not always a call, and a load not always a return. A block
//! may end at the end of a page or before a repeated instruction. The thread then continues where
//! the block ends, or at its last instruction. A jump through a table loads 8 bytes from a place
//! without a return address of an open call, and is longer than one byte. One case remains: threads
//! that switch stacks, as coroutines do, seem to leave calls that they return to. Rejected:
//! recording returns. The recorder would write a word for each, and existing traces would lack
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

/// A call of a function: the thread's executions from the function's entry on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: FunctionId,
    /// Number of the thread's execution that entered it.
    pub begins: u64,
    /// Number of the thread's first execution after it; `None` if the trace ends first.
    pub ends: Option<u64>,
}

/// The calls of some functions in a trace.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// The calls of each thread, in the order in which they begin.
    calls: Vec<Vec<Call>>,
    /// For each thread, the executions before which a call has ended, ascending.
    ends: Vec<Vec<u64>>,
}

impl Calls {
    /// Finds all calls of the functions that are set in `functions`, by index, in one pass over the
    /// whole trace.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the trace contradicts itself.
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

    /// Returns the calls of one thread, in the order in which they begin.
    pub fn of_thread(&self, thread: ThreadId) -> &[Call] {
        self.calls.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the call that begins with an execution of a thread. A function entry in a signal
    /// handler begins no call.
    pub fn begun_by(&self, thread: ThreadId, begins: u64) -> Option<&Call> {
        let calls = self.of_thread(thread);
        let place = calls.binary_search_by_key(&begins, |call| call.begins);
        Some(&calls[place.ok()?])
    }

    /// Returns those of a thread's executions, by number, before which a call has ended.
    pub(super) fn ends_in(&self, thread: ThreadId, executions: Range<u64>) -> &[u64] {
        let ends = self.ends.get(thread.index()).map_or(&[][..], Vec::as_slice);
        let before = |number| ends.partition_point(|&end| end < number);
        &ends[before(executions.start)..before(executions.end)]
    }
}

/// The addresses at which a code block begins and ends.
struct Extent {
    /// Address of the first instruction.
    start: u64,
    /// Address of the last instruction.
    last: u64,
    /// Address of the first byte after it.
    end: u64,
    /// Whether a signal handler begins with it.
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
    /// By an instruction that is long enough to be a jump.
    ReturnedOrJumped,
}

/// The state of one thread.
#[derive(Default)]
struct Thread {
    request: Option<RequestId>,
    /// A possible call or return: the address of the last access of the previous execution, its
    /// code block, and the kind of transfer.
    before: Option<(u64, u32, Way)>,
    /// Addresses of the return addresses of open calls, of any function: descending.
    open: Vec<u64>,
    /// How many of them were called before the last gap.
    before_gap: usize,
    /// Open calls of requested functions: index in `calls`, and address of the return address.
    asked: Vec<(usize, u64)>,
    /// Those with an unknown return address, because their caller is not in the trace.
    called_unseen: Vec<usize>,
    calls: Vec<Call>,
    /// The state that each active signal handler has interrupted, innermost last.
    interrupted: Vec<Interrupted>,
    /// The execution with which it continues, once the last handler has returned.
    resumes: Option<u64>,
}

impl Thread {
    /// Leaves the code block of the previous execution. If a gap follows, that block also led to
    /// the request's marker, where the thread continues after the gap. Returns whether it left by a
    /// call.
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

    /// Begins a signal handler.
    fn interrupt(&mut self) {
        self.interrupted.push(Interrupted {
            open: std::mem::take(&mut self.open),
            before_gap: std::mem::take(&mut self.before_gap),
        });
    }

    /// Restores what the last signal handler interrupted.
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

    /// Processes a call or possible return through `address`; execution `number` is next.
    fn leave(&mut self, address: u64, way: Way, number: u64) {
        if let Some(interrupted) = self.interrupted.last() {
            match interrupted.resumes(&self.open, address, way == Way::Called) {
                Resumes::Not => {}
                // The kernel's code runs first, to restore what was interrupted.
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
