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
//! Not every store at the end of a code block is a call, nor every load a return. A block may end
//! at the end of a page or before a repeated instruction; then the thread goes on where the block
//! ends, or at its last instruction. A jump through a table loads 8 bytes from where no open call
//! has its return address. What is left are threads that change their stack, as coroutines do: they
//! seem to leave calls that they come back to. To ask the recorder for returns was rejected: it
//! would write a word for each, and the traces there are would lack them.
use crate::execution::{Execution, Kind};
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
    /// Number of the thread's first execution after it; `None` when the trace ends before, or does
    /// not hold what called it.
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
        let mut threads: Vec<Thread> = Vec::new();
        threads.resize_with(trace.threads().len(), Thread::default);
        // A stack grows through virtual addresses.
        let mut executions = trace.executions().with_virtual_addresses();
        while let Some(execution) = executions.next()? {
            let thread = &mut threads[execution.thread as usize];
            thread.execute(&execution, &blocks, functions);
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

/// One thread on its way.
#[derive(Default)]
struct Thread {
    /// What may have been a call or a return: the last access of the execution before, its code
    /// block, and whether it stored.
    before: Option<(u64, u32, bool)>,
    /// Where the return addresses of open calls are, of any function: descending.
    open: Vec<u64>,
    /// Open calls of functions asked for: their places among `calls`, and where the return address
    /// is.
    asked: Vec<(usize, u64)>,
    calls: Vec<Call>,
}

impl Thread {
    fn execute(&mut self, execution: &Execution<'_>, blocks: &[Extent], functions: &[bool]) {
        let number = execution.number;
        let block = &blocks[execution.code_block as usize];
        if let Some((address, before, stored)) = self.before.take() {
            let before = &blocks[before as usize];
            if block.start != before.end && block.start != before.last {
                self.leave(address, stored, number);
            }
        }
        if let Some(function) = execution.entry
            && functions.get(function as usize) == Some(&true)
        {
            // Without an open call, nobody knows when this one will end.
            if let Some(&address) = self.open.last() {
                self.asked.push((self.calls.len(), address));
            }
            self.calls.push(Call {
                function,
                begins: number,
                ends: None,
            });
        }
        let is_last = |access: &&Access| access.pc == block.last && access.size_bytes == 8;
        let last = execution.accesses.last().filter(is_last);
        self.before = last.and_then(|access| match access.kind {
            Kind::Fetch => None,
            Kind::Load => Some((access.address, execution.code_block, false)),
            Kind::Store => Some((access.address, execution.code_block, true)),
        });
    }

    /// The thread called, or may have returned, by way of `address`; execution `number` comes next.
    fn leave(&mut self, address: u64, called: bool, number: u64) {
        let descending = |open: &u64| address.cmp(open);
        let is_open = self.open.binary_search_by(descending).is_ok();
        if !called && !is_open {
            return;
        }
        while self.open.pop_if(|open| *open <= address).is_some() {}
        while let Some((place, _)) = self.asked.pop_if(|(_, open)| *open <= address) {
            self.calls[place].ends = Some(number);
        }
        if called {
            self.open.push(address);
        }
    }
}
