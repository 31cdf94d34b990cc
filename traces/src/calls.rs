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
//! Not every store at the end of a code block is a call, nor every load a return. A block may end
//! at the end of a page or before a repeated instruction; then the thread goes on where the block
//! ends, or at its last instruction. A jump through a table loads 8 bytes from where no open call
//! has its return address, and takes more than one byte. What is left are threads that change their
//! stack, as coroutines do: they seem to leave calls that they come back to. To ask the recorder
//! for returns was rejected: it would write a word for each, and the traces there are would lack
//! them.

use crate::execution::{Execution, Kind};
use crate::gaps::after_gaps;
use crate::program::CodeBlock;
use crate::trace::Trace;
use crate::{Access, Error};
use std::ops::Range;

/// A call of a function: what its thread did from the function's entry on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Index of the function.
    pub function: u32,
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
        let blocks: Vec<Extent> = trace.code_blocks().iter().map(Extent::of).collect();
        let after_gaps = after_gaps(trace.requests());
        let mut threads: Vec<Thread> = Vec::new();
        threads.resize_with(trace.threads().len(), Thread::default);
        // A stack grows through virtual addresses.
        let mut executions = trace.executions().with_virtual_addresses();
        while let Some(execution) = executions.next()? {
            let thread = &mut threads[execution.thread as usize];
            thread.depart(&execution, &blocks);
            if thread.request != execution.request {
                thread.request = execution.request;
                if execution.request.is_some_and(|r| after_gaps[r as usize]) {
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
    pub fn of_thread(&self, thread: u32) -> &[Call] {
        self.calls.get(thread as usize).map_or(&[], Vec::as_slice)
    }

    /// Where a call ends that begins with an execution of a thread, as in [`Call::ends`]; `None`
    /// also when none begins there.
    pub fn end_of(&self, thread: u32, begins: u64) -> Option<u64> {
        let calls = self.of_thread(thread);
        let place = calls.binary_search_by_key(&begins, |call| call.begins);
        calls[place.ok()?].ends
    }

    /// Those of a thread's executions, by number, before which a call has ended.
    pub(crate) fn ends_in(&self, thread: u32, executions: Range<u64>) -> &[u64] {
        let ends = self
            .ends
            .get(thread as usize)
            .map_or(&[][..], Vec::as_slice);
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
}

impl Extent {
    fn of(block: &CodeBlock) -> Extent {
        let last = block.instructions.last();
        let (offset, size_bytes) = last.map_or((0, 0), |last| (last.offset, last.size_bytes));
        let last = block.start + u64::from(offset);
        Extent {
            start: block.start,
            last,
            end: last + u64::from(size_bytes),
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
    request: Option<u32>,
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
}

impl Thread {
    /// Leaves the code block of the execution before. What a gap follows came to the request's
    /// marker as well, where the thread goes on behind it.
    fn depart(&mut self, execution: &Execution<'_>, blocks: &[Extent]) {
        if let Some((address, before, way)) = self.before.take() {
            let (block, before) = (
                &blocks[execution.code_block as usize],
                &blocks[before as usize],
            );
            if block.start != before.end && block.start != before.last {
                self.leave(address, way, execution.number);
            }
        }
    }

    fn arrive(&mut self, execution: &Execution<'_>, blocks: &[Extent], functions: &[bool]) {
        let block = &blocks[execution.code_block as usize];
        if let Some(function) = execution.entry
            && functions.get(function as usize) == Some(&true)
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
        let left = self.open.partition_point(|&open| open > address);
        let is_open = self.open.get(left) == Some(&address);
        if way == Way::ReturnedOrJumped && !is_open {
            return;
        }
        let is_of_before = !is_open || left < self.before_gap;
        if way != Way::Called && is_of_before && left <= self.before_gap {
            for place in self.called_unseen.drain(..) {
                self.calls[place].ends = Some(number);
            }
        }
        self.open.truncate(left);
        self.before_gap = self.before_gap.min(left);
        while let Some((place, _)) = self.asked.pop_if(|(_, open)| *open <= address) {
            self.calls[place].ends = Some(number);
        }
        if way == Way::Called {
            self.open.push(address);
        }
    }
}
