//! Writes a trace as it is recorded: `<path>.partial`, which becomes `<path>` when it is finished.
//!
//! The writer gathers each thread's executions until a block is full, so memory stays bounded and
//! what has been written is readable, whatever happens to the recording.

mod marks;

use crate::Error;
use crate::block::{MAX_ACCESSES, MAX_EXECUTIONS};
use crate::definition::{EnteredBlock, MAX_DEFINITIONS, MAX_DETAILS, WrittenShape};
use crate::execution::Kind;
use crate::program::{CodeBlock, Function, Module};
use crate::recording::{EndReason, Header, Summary, WriterOptions, partial_path};
use crate::shape::{DataAccess, Interner, MAX_DATA_ACCESSES, check_code_block, fetches_of};
use crate::sink::{Part, Sink};
use crate::stream::{Open, Stream};

use std::path::{Path, PathBuf};

/// Executions and data accesses of all threads that may wait for their blocks to fill: a bound on
/// memory, about 256 MiB, that only a server with many busy threads reaches.
const MAX_WAITING: usize = 1 << 25;

struct Block {
    instructions: u16,
    fetches: u64,
}

/// Writes one trace.
pub struct Writer {
    path: PathBuf,
    sink: Sink,
    executions_per_block: usize,
    modules: u32,
    functions: u32,
    blocks: Vec<Block>,
    interner: Interner,
    new_functions: Vec<Function>,
    new_blocks: Vec<EnteredBlock>,
    new_shapes: Vec<WrittenShape>,
    /// Bytes of names and data accesses of shapes in what is new.
    new_details: usize,
    streams: Vec<Stream>,
    /// Executions and data accesses in the streams, not yet written.
    waiting: usize,
    executions: u64,
    data_accesses: u64,
    fetches: u64,
    requests: u64,
}

impl Writer {
    /// Begins a trace. `<path>.partial` is overwritten if it exists; `path` is left alone until
    /// [`Writer::finish`].
    ///
    /// # Errors
    /// [`Error::Write`] when the file cannot be made, [`Error::Unrecordable`] for options that make
    /// no sense.
    pub fn create(path: &Path, header: &Header, options: &WriterOptions) -> Result<Self, Error> {
        let levels = zstd::compression_level_range();
        if !levels.contains(&options.compression_level) {
            let (low, high) = (levels.start(), levels.end());
            let level = options.compression_level;
            return unrecordable(format!(
                "compression level {level} is not in {low} to {high}"
            ));
        }
        let partial = partial_path(path);
        let file = std::fs::File::create(&partial).map_err(|source| Error::Write {
            path: partial.clone(),
            source,
        })?;
        let mut sink = Sink::start(file, partial, options.compression_level)?;
        sink.write(Part::Header(header.clone()))?;
        Ok(Writer {
            path: path.into(),
            sink,
            executions_per_block: options.executions_per_block.clamp(1, MAX_EXECUTIONS),
            modules: 0,
            functions: 0,
            blocks: Vec::new(),
            interner: Interner::default(),
            new_functions: Vec::new(),
            new_blocks: Vec::new(),
            new_shapes: Vec::new(),
            new_details: 0,
            streams: Vec::new(),
            waiting: 0,
            executions: 0,
            data_accesses: 0,
            fetches: 0,
            requests: 0,
        })
    }

    /// Adds a module; its index.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] for a range that ends before it starts; [`Error::Write`].
    pub fn module(&mut self, module: &Module) -> Result<u32, Error> {
        if module.start > module.end {
            return unrecordable(format!("{} ends before it starts", module.path));
        }
        self.sink.write(Part::Module(module.clone()))?;
        self.modules += 1;
        Ok(self.modules - 1)
    }

    /// Adds a function; its index.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when its module does not exist or a text has a zero byte;
    /// [`Error::Write`].
    pub fn function(&mut self, function: &Function) -> Result<u32, Error> {
        if function.module >= self.modules {
            return unrecordable(format!("{} is in no known module", function.symbol));
        }
        let reason = function.unpatchable.as_deref().unwrap_or("");
        if [&function.symbol, &function.name, reason]
            .iter()
            .any(|text| text.contains('\0'))
        {
            return unrecordable(format!("a zero byte in the name {:?}", function.symbol));
        }
        let text_bytes = function.symbol.len() + function.name.len() + reason.len() + 5;
        if text_bytes > MAX_DETAILS / 2 {
            return unrecordable(format!("a function's name of {text_bytes} bytes"));
        }
        self.new_details += text_bytes;
        self.new_functions.push(function.clone());
        self.functions += 1;
        self.write_many_definitions()?;
        Ok(self.functions - 1)
    }

    /// Adds a code block, and the function that it enters if it starts at one's entry; its index.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when the block's instructions are none, more than 512, or not
    /// adjacent, or the function does not exist; [`Error::Write`].
    pub fn code_block(&mut self, block: &CodeBlock, entry: Option<u32>) -> Result<u32, Error> {
        check_code_block(block).map_err(|problem| Error::Unrecordable { problem })?;
        if let Some(entry) = entry.filter(|&entry| entry >= self.functions) {
            return unrecordable(format!("there is no function {entry} to enter"));
        }
        self.new_blocks.push((block.clone(), entry));
        self.blocks.push(Block {
            instructions: block.instructions.len() as u16,
            fetches: fetches_of(block),
        });
        self.write_many_definitions()?;
        Ok(self.blocks.len() as u32 - 1)
    }

    /// Adds a thread; its index.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn thread(&mut self, process_id: u32, os_thread_id: u32) -> Result<u32, Error> {
        self.sink.write(Part::Thread {
            process_id,
            os_thread_id,
        })?;
        let thread = self.streams.len() as u32;
        self.streams.push(Stream::new(thread));
        Ok(thread)
    }

    /// Begins a run: the thread's next execution comes, in the order of a replay, after all runs
    /// of any thread with a smaller stamp.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when the stamp is not larger than the thread's last one.
    pub fn stamp(&mut self, thread: u32, stamp: u64) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        if let Some(last) = stream.last_stamp.filter(|&last| last >= stamp) {
            return unrecordable(format!("thread {thread} has stamp {stamp} after {last}"));
        }
        stream.last_stamp = Some(stamp);
        stream.next_stamp = Some(stamp);
        Ok(())
    }

    /// Records that the thread has executed a code block.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when there is no such thread or code block, or the thread has no
    /// stamp yet; [`Error::Write`].
    pub fn execution(&mut self, thread: u32, code_block: u32) -> Result<(), Error> {
        self.close_execution(thread)?;
        if code_block as usize >= self.blocks.len() {
            return unrecordable(format!("there is no code block {code_block}"));
        }
        if self.streams[thread as usize].request_ended {
            self.streams[thread as usize].close_request();
            self.write_block(thread as usize)?;
        }
        let stream = stream(&mut self.streams, thread)?;
        let Some(stamp) = stream.last_stamp else {
            return unrecordable(format!("thread {thread} has no stamp yet"));
        };
        let begins_run = stream.next_stamp.take().is_some();
        let begins_request = stream.next_request.take();
        stream.open = Some(Open {
            code_block,
            stamp,
            begins_run,
            begins_request,
        });
        Ok(())
    }

    /// Records a load or store of the thread's last execution, by the instruction at place
    /// `instruction` of its code block.
    ///
    /// # Errors
    /// [`Error::Unrecordable`] when the thread has executed nothing yet, the block has no such
    /// instruction, the access is out of program order, has no bytes or is a fetch, or is one too
    /// many (65 000 an execution).
    pub fn data(
        &mut self,
        thread: u32,
        instruction: u16,
        kind: Kind,
        size_bytes: u16,
        address: u64,
    ) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        let Some(open) = &stream.open else {
            return unrecordable(format!(
                "thread {thread} has executed nothing to own an access"
            ));
        };
        if instruction >= self.blocks[open.code_block as usize].instructions {
            return unrecordable(format!("the code block has no instruction {instruction}"));
        }
        let Some(access) = DataAccess::new(instruction, kind, size_bytes) else {
            return unrecordable(format!(
                "a data access of {size_bytes} bytes, kind {kind:?}"
            ));
        };
        let last = stream.open_accesses.last();
        if last.is_some_and(|last| last.instruction() > access.instruction()) {
            return unrecordable(format!(
                "instruction {instruction} comes out of program order"
            ));
        }
        if stream.open_accesses.len() == MAX_DATA_ACCESSES {
            return unrecordable("an execution with more than 65 000 data accesses".into());
        }
        stream.open_accesses.push(access);
        stream.open_addresses.push(address);
        Ok(())
    }

    /// Writes all that is recorded so far to the file, so that it survives a kill; all but each
    /// thread's last execution, which may still make accesses.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.flush_soon()?;
        self.sink.flush()
    }

    /// The same, without waiting for it: what is recorded meanwhile is not held up.
    ///
    /// # Errors
    /// [`Error::Write`], maybe one of an earlier call.
    pub fn flush_soon(&mut self) -> Result<(), Error> {
        for thread in 0..self.streams.len() {
            if self.streams[thread].request_ended {
                self.close_execution(thread as u32)?;
                self.streams[thread].close_request();
            }
            self.write_block(thread)?;
        }
        self.write_definitions()?;
        self.sink.flush_soon()
    }

    /// Ends the trace and gives it its name.
    ///
    /// # Errors
    /// [`Error::Write`]; what was written stays in `<path>.partial`.
    pub fn finish(mut self, reason: EndReason) -> Result<Summary, Error> {
        for thread in 0..self.streams.len() {
            self.close_execution(thread as u32)?;
            self.streams[thread].close_last_request();
            self.write_block(thread)?;
        }
        self.write_definitions()?;
        self.sink.write(Part::End {
            reason,
            executions: self.executions,
            accesses: self.data_accesses,
        })?;
        let size_bytes = self.sink.close()?;
        std::fs::rename(partial_path(&self.path), &self.path).map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })?;
        Ok(Summary {
            size_bytes,
            executions: self.executions,
            accesses: self.data_accesses + self.fetches,
            requests: self.requests,
        })
    }

    /// Moves the thread's last execution, whose accesses are now complete, into its stretch.
    fn close_execution(&mut self, thread: u32) -> Result<(), Error> {
        let stream = stream(&mut self.streams, thread)?;
        let Some(open) = stream.open.take() else {
            return Ok(());
        };
        let (shape, new) = self.interner.number(open.code_block, &stream.open_accesses);
        if new {
            let accesses = stream.open_accesses.clone();
            self.new_details += accesses.len();
            self.new_shapes.push((open.code_block, accesses));
        }
        self.executions += 1;
        self.data_accesses += stream.open_addresses.len() as u64;
        self.fetches += self.blocks[open.code_block as usize].fetches;
        self.requests += u64::from(open.begins_request.is_some());
        let no_room = stream.stretch.shapes.len() == self.executions_per_block
            || stream.stretch.addresses.len() + stream.open_addresses.len() > MAX_ACCESSES;
        if no_room {
            self.write_block(thread as usize)?;
        }
        let stream = &mut self.streams[thread as usize];
        self.waiting += 1 + stream.open_addresses.len();
        stream.append(shape, &open);
        if self.waiting > MAX_WAITING {
            let size =
                |stream: &Stream| stream.stretch.shapes.len() + stream.stretch.addresses.len();
            let largest = (0..self.streams.len()).max_by_key(|&thread| size(&self.streams[thread]));
            largest.map_or(Ok(()), |largest| self.write_block(largest))?;
        }
        self.write_many_definitions()
    }

    fn write_block(&mut self, thread: usize) -> Result<(), Error> {
        let stretch = self.streams[thread].take_stretch();
        if stretch.shapes.is_empty() && stretch.requests.is_empty() {
            return Ok(());
        }
        self.waiting -= stretch.shapes.len() + stretch.addresses.len();
        self.write_definitions()?;
        self.sink.write(Part::Block(stretch))
    }

    /// Writes what is defined and not yet written, in an order in which nothing is named before it
    /// is defined.
    fn write_definitions(&mut self) -> Result<(), Error> {
        self.new_details = 0;
        if !self.new_functions.is_empty() {
            let functions = std::mem::take(&mut self.new_functions);
            self.sink.write(Part::Functions(functions))?;
        }
        if !self.new_blocks.is_empty() {
            let blocks = std::mem::take(&mut self.new_blocks);
            self.sink.write(Part::CodeBlocks(blocks))?;
        }
        if !self.new_shapes.is_empty() {
            let shapes = std::mem::take(&mut self.new_shapes);
            self.sink.write(Part::Shapes(shapes))?;
        }
        Ok(())
    }

    /// Writes definitions when there are as many as an entry should hold.
    fn write_many_definitions(&mut self) -> Result<(), Error> {
        let counts = [
            self.new_functions.len(),
            self.new_blocks.len(),
            self.new_shapes.len(),
        ];
        // Each adds at most half of the most details, so that the other half is never exceeded.
        if counts.contains(&MAX_DEFINITIONS) || self.new_details > MAX_DETAILS / 2 {
            self.write_definitions()?;
        }
        Ok(())
    }
}

fn stream(streams: &mut [Stream], thread: u32) -> Result<&mut Stream, Error> {
    streams
        .get_mut(thread as usize)
        .ok_or_else(|| Error::Unrecordable {
            problem: format!("there is no thread {thread}"),
        })
}

fn unrecordable<T>(problem: String) -> Result<T, Error> {
    Err(Error::Unrecordable { problem })
}
