//! Assembles a sequence of instructions and accesses into executions of code blocks.
//!
//! Other formats do not mark code blocks. Instructions that are adjacent in memory and consecutive
//! on a thread form one block, if the importer allows it. Blocks are distinguished by their
//! contents. Everything is checked on arrival rather than when its block is written, so that an
//! error identifies the wrong record.

use crate::convert::error::{Fault, problem};
use crate::{
    CodeBlock, EndReason, Function, FunctionId, Kind, Module, OnCpu, Page, Summary, ThreadId,
    Writer,
};
use std::collections::HashMap;

/// Maximum number of instructions of a code block, and maximum size of an instruction in bytes.
const MOST_INSTRUCTIONS: usize = 512;
const LONGEST_INSTRUCTION: u64 = 15;
/// Maximum size of the code in one record.
const LONGEST_BYTES: u64 = MOST_INSTRUCTIONS as u64 * LONGEST_INSTRUCTION;
/// Maximum number of loads and stores of an execution.
const MOST_DATA: usize = 65_000;
/// Bytes of address space that the format requires after a block.
const MARGIN_BYTES: u64 = 64;

struct Data {
    instruction: u16,
    kind: Kind,
    size_bytes: u16,
    address: u64,
}

/// The execution being assembled.
#[derive(Default)]
struct Open {
    start: u64,
    end: u64,
    sizes: Vec<u8>,
    data: Vec<Data>,
    /// The function that it enters.
    entry: Option<FunctionId>,
}

/// Identifies a code block: its start, its instructions' sizes, and the function that it enters.
type Key = (u64, Vec<u8>, Option<FunctionId>);

/// Assembles executions and writes them.
pub(crate) struct Assembler {
    writer: Writer,
    request_at: Option<u64>,
    blocks: HashMap<Key, u32>,
    thread: Option<ThreadId>,
    stamp: u64,
    open: Open,
}

impl Assembler {
    pub(crate) fn new(writer: Writer, request_at: Option<u64>) -> Assembler {
        Assembler {
            writer,
            request_at,
            blocks: HashMap::new(),
            thread: None,
            stamp: 0,
            open: Open::default(),
        }
    }

    /// Adds a thread.
    pub(crate) fn add_thread(&mut self, process: u32, thread: u32) -> Result<ThreadId, Fault> {
        Ok(self.writer.thread(process, thread)?)
    }

    /// Continues with this thread, ordered after everything so far.
    pub(crate) fn switch_to(&mut self, thread: ThreadId) -> Result<(), Fault> {
        if self.thread == Some(thread) {
            return Ok(());
        }
        self.close()?;
        self.thread = Some(thread);
        self.stamp += 1;
        Ok(self.writer.stamp(thread, self.stamp)?)
    }

    /// Adds an instruction, or several that the input does not separate. It continues the preceding
    /// block only if `joins` is true.
    pub(crate) fn fetch(
        &mut self,
        address: u64,
        size_bytes: u64,
        joins: bool,
    ) -> Result<(), Fault> {
        self.append(address, size_bytes, joins, true)
    }

    /// Adds the first instruction of a function.
    pub(crate) fn enter(
        &mut self,
        address: u64,
        size_bytes: u64,
        function: FunctionId,
    ) -> Result<(), Fault> {
        self.append(address, size_bytes, false, true)?;
        self.open.entry = Some(function);
        Ok(())
    }

    /// Adds a module; returns its number.
    pub(crate) fn module(&mut self, module: &Module) -> Result<u32, Fault> {
        Ok(self.writer.module(module)?)
    }

    /// Adds a function.
    pub(crate) fn function(&mut self, function: &Function) -> Result<FunctionId, Fault> {
        Ok(self.writer.function(function)?)
    }

    /// Adds the address of a signal handler.
    pub(crate) fn signal_handler(&mut self, address: u64) -> Result<(), Fault> {
        Ok(self.writer.signal_handler(address)?)
    }

    /// Continues with an instruction that the thread has already fetched, in its own block.
    pub(crate) fn fetch_again(&mut self, address: u64, size_bytes: u64) -> Result<(), Fault> {
        self.append(address, size_bytes, false, false)
    }

    fn append(
        &mut self,
        address: u64,
        size_bytes: u64,
        joins: bool,
        is_first: bool,
    ) -> Result<(), Fault> {
        if !(1..=LONGEST_BYTES).contains(&size_bytes) {
            return problem(format!(
                "a fetch of {size_bytes} bytes, not 1 to {LONGEST_BYTES}"
            ));
        }
        let Some(end) = address.checked_add(size_bytes + MARGIN_BYTES) else {
            return problem(format!("code at {address:#x} goes beyond the last address"));
        };
        let end = end - MARGIN_BYTES;
        if is_first && self.request_at == Some(address) {
            self.begin_request()?;
        }
        self.thread()?;
        let pieces = size_bytes.div_ceil(LONGEST_INSTRUCTION) as usize;
        let continues = joins
            && self.open.end == address
            && self.open.sizes.len() + pieces <= MOST_INSTRUCTIONS
            && self.open.data.len() < MOST_DATA;
        if !continues {
            self.close()?;
            self.open.start = address;
        }
        let mut left = size_bytes;
        while left > 0 {
            let piece = left.min(LONGEST_INSTRUCTION);
            self.open.sizes.push(piece as u8);
            left -= piece;
        }
        self.open.end = end;
        Ok(())
    }

    /// Returns whether no instruction is open, so that nothing can load or store.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.sizes.is_empty()
    }

    /// Adds a load or store by the last instruction.
    pub(crate) fn data(&mut self, kind: Kind, address: u64, size_bytes: u64) -> Result<(), Fault> {
        let Ok(size_bytes @ 1..) = u16::try_from(size_bytes) else {
            return problem(format!("an access of {size_bytes} bytes, not 1 to 65535"));
        };
        if self.open.sizes.is_empty() {
            return problem("an access before any instruction that could make it");
        }
        if self.open.data.len() == MOST_DATA {
            self.make_room()?;
        }
        self.open.data.push(Data {
            instruction: self.open.sizes.len() as u16 - 1,
            kind,
            size_bytes,
            address,
        });
        Ok(())
    }

    /// Closes everything except the last instruction and its accesses.
    fn make_room(&mut self) -> Result<(), Fault> {
        let last = self.open.sizes.len() as u16 - 1;
        if self.open.data.iter().all(|data| data.instruction == last) {
            return problem("one instruction with more than 65000 accesses");
        }
        self.split_off_last()
    }

    /// Moves the last instruction and its accesses into a block of their own.
    fn split_off_last(&mut self) -> Result<(), Fault> {
        let Some(last) = self
            .open
            .sizes
            .len()
            .checked_sub(1)
            .filter(|&last| last > 0)
        else {
            return Ok(());
        };
        let own = |data: &Data| usize::from(data.instruction) == last;
        let owned = self.open.data.partition_point(|data| !own(data));
        let size = self.open.sizes.pop().unwrap_or_default();
        let mut data = self.open.data.split_off(owned);
        data.iter_mut().for_each(|data| data.instruction = 0);
        let end = self.open.end;
        self.close()?;
        self.open = Open {
            start: end - u64::from(size),
            end,
            sizes: vec![size],
            data,
            entry: None,
        };
        Ok(())
    }

    /// Sets the location of a page of the next instruction: from now on if `has_moved`, otherwise
    /// for the whole trace.
    pub(crate) fn place_code(&mut self, page: Page, has_moved: bool) -> Result<(), Fault> {
        if has_moved {
            self.close()?;
        }
        self.place(page, has_moved)
    }

    /// Sets the location of a page that the last instruction accesses.
    pub(crate) fn place_data(&mut self, page: Page, has_moved: bool) -> Result<(), Fault> {
        if has_moved {
            self.split_off_last()?;
        }
        self.place(page, has_moved)
    }

    fn place(&mut self, mut page: Page, has_moved: bool) -> Result<(), Fault> {
        if has_moved {
            page.since = self.begin_run()?;
        }
        Ok(self.writer.pages(&[page])?)
    }

    /// Sets the CPU of the thread's next instruction: from now on if `has_moved`, otherwise for the
    /// whole trace.
    pub(crate) fn goes_on(&mut self, mut on: OnCpu, has_moved: bool) -> Result<(), Fault> {
        if has_moved {
            self.close()?;
            on.since = self.begin_run()?;
        }
        Ok(self.writer.cpus(&[on])?)
    }

    /// Begins a new run of the thread; returns its stamp.
    fn begin_run(&mut self) -> Result<u64, Fault> {
        let thread = self.thread()?;
        self.stamp += 1;
        self.writer.stamp(thread, self.stamp)?;
        Ok(self.stamp)
    }

    /// Repeats the last instruction; returns whether `address` is its address. It is fetched again
    /// only if one execution cannot contain more accesses.
    pub(crate) fn repeat(&mut self, address: u64) -> Result<bool, Fault> {
        let Some(&size) = self.open.sizes.last() else {
            return Ok(false);
        };
        if self.open.end - u64::from(size) != address {
            return Ok(false);
        }
        if self.open.data.len() > MOST_DATA / 2 {
            self.fetch_again(address, size.into())?;
        }
        Ok(true)
    }

    /// Begins a request at the thread's next instruction.
    pub(crate) fn begin_request(&mut self) -> Result<(), Fault> {
        let thread = self.thread()?;
        self.close()?;
        Ok(self.writer.request(thread)?)
    }

    /// Ends the thread's request; what follows belongs to no request.
    pub(crate) fn end_request(&mut self) -> Result<(), Fault> {
        let thread = self.thread()?;
        self.close()?;
        Ok(self.writer.end_request(thread)?)
    }

    /// Begins a system call of the thread.
    pub(crate) fn begin_system_call(&mut self, number: i32) -> Result<(), Fault> {
        let thread = self.thread()?;
        self.close()?;
        Ok(self.writer.system_call_begins(thread, number)?)
    }

    /// Ends the thread's system call.
    pub(crate) fn return_from_system_call(&mut self, result: i64) -> Result<(), Fault> {
        let thread = self.thread()?;
        self.close()?;
        Ok(self.writer.system_call_returns(thread, result)?)
    }

    /// Returns whether nothing was executed so far.
    pub(crate) fn is_unused(&self) -> bool {
        self.blocks.is_empty() && self.open.sizes.is_empty()
    }

    fn thread(&self) -> Result<ThreadId, Fault> {
        match self.thread {
            Some(thread) => Ok(thread),
            None => problem("something is done before its thread and process are named"),
        }
    }

    /// Writes the execution being assembled.
    pub(crate) fn close(&mut self) -> Result<(), Fault> {
        if self.open.sizes.is_empty() {
            return Ok(());
        }
        let thread = self.thread()?;
        let open = std::mem::take(&mut self.open);
        let key = (open.start, open.sizes, open.entry);
        let block = match self.blocks.get(&key) {
            Some(&block) => block,
            None => {
                let (start, sizes, entry) = &key;
                let block = CodeBlock::new(*start, sizes.iter().copied());
                let block = self.writer.code_block(&block, *entry)?;
                self.blocks.insert(key, block);
                block
            }
        };
        self.writer.execution(thread, block)?;
        for data in open.data {
            let (instruction, size_bytes) = (data.instruction, data.size_bytes);
            self.writer
                .data(thread, instruction, data.kind, size_bytes, data.address)?;
        }
        Ok(())
    }

    /// Ends the trace.
    pub(crate) fn finish(mut self) -> Result<Summary, Fault> {
        self.close()?;
        Ok(self.writer.finish(EndReason::ServerExited)?)
    }
}
