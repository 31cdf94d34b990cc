//! Converts drmemtrace's records, in sequence, into a trace.
//!
//! Instructions, loads and stores are kept, including the kernel's. A code block ends at a branch,
//! where code continues elsewhere, at the beginning of a request, at a signal, and where another
//! thread's records follow. Records filtered by a cache are skipped. A trace of only such records
//! is rejected, because a replay would count only the misses of another cache.

use super::frames::Frames;
use super::left_out::{LeftOut, Passed, of_marker, of_record};
use super::program::Program;
use super::record::{Record, SYSTEM_CALL_FUNCTIONS, file_type, kind, marker};
use super::sizes::Unsized;
use super::threads::Threads;
use crate::convert::assembler::Assembler;
use crate::convert::error::{Fault, damage, problem};
use crate::convert::functions::{Calling, Flow, Functions};
use crate::convert::{Imported, Options};
use crate::{Kind, OnCpu, Writer};
use std::collections::{HashMap, HashSet};

/// Maximum size of an instruction in bytes.
const LONGEST: usize = 15;

/// The state of one file.
#[derive(Default)]
struct Stream {
    /// Bits of its type.
    file_type: u64,
    /// Whether its last record was a footer.
    is_over: bool,
    /// The thread of the following records, by its number in the file.
    number: Option<u64>,
    /// The thread's index, once its process is known.
    thread: Option<usize>,
    /// The process of each thread.
    processes: HashMap<u64, u64>,
    /// The first bytes of the next instruction, and their number.
    encoding: [u8; LONGEST],
    encoded: usize,
}

impl Stream {
    fn is(&self, bits: u64) -> bool {
        self.file_type & bits != 0
    }
}

/// The state of an import.
pub(super) struct Reading<'p> {
    assembler: Assembler,
    /// Whether our own markers begin requests.
    own_marks: bool,
    streams: Vec<Stream>,
    threads: Threads,
    frames: Frames,
    unsized_by: Unsized,
    functions: Functions<'p>,
    /// Addresses of signal handlers.
    handlers: HashSet<u64>,
    pub(super) left_out: LeftOut,
    /// Number of instructions kept.
    kept: u64,
    /// Number of accesses of unknown size.
    of_unknown_size: u64,
    lacks_data: bool,
    lacks_kernel_data: bool,
}

impl Reading<'_> {
    /// Creates the state for this number of files.
    pub(super) fn new<'p>(
        writer: Writer,
        options: &Options,
        program: &'p Program,
        files: usize,
    ) -> Reading<'p> {
        Reading {
            assembler: Assembler::new(writer, options.request_at),
            own_marks: options.request_at.is_none(),
            streams: (0..files).map(|_| Stream::default()).collect(),
            threads: Threads::default(),
            frames: Frames::default(),
            unsized_by: Unsized::default(),
            functions: Functions::of(program),
            handlers: HashSet::new(),
            left_out: LeftOut::default(),
            kept: 0,
            of_unknown_size: 0,
            lacks_data: false,
            lacks_kernel_data: false,
        }
    }

    /// Returns whether the file may end here.
    pub(super) fn is_over(&self, file: usize) -> bool {
        self.streams[file].is_over
    }

    /// Ends the trace.
    pub(super) fn finish(self) -> Result<Imported, Fault> {
        let left_out = self.left_out.told();
        if self.kept == 0 && self.left_out.of(Passed::FilteredInstruction) > 0 {
            return problem(
                "the trace was filtered by a cache to its end; record it without -L0_filter",
            );
        }
        let mut warnings = Vec::new();
        if self.lacks_data {
            warnings.push(
                "the trace has instructions only: it has no loads and stores, so a replay \
                 counts none of the misses of data"
                    .into(),
            );
        }
        if self.lacks_kernel_data {
            warnings.push(
                "the trace has the kernel's instructions without what they load and store, so a \
                 replay counts too few misses of data"
                    .into(),
            );
        }
        if self.of_unknown_size > 0 {
            warnings.push(format!(
                "{} loads and stores have no size in the trace, because xsave, xrstor and their \
                 kin were not measured; each is read as one of 1 byte",
                self.of_unknown_size
            ));
        }
        let summary = self.assembler.finish()?;
        Ok(Imported {
            summary,
            instructions: Some(self.kept),
            left_out,
            warnings,
        })
    }

    /// Processes the next record of a file, which may be its first.
    pub(super) fn take(
        &mut self,
        file: usize,
        record: Record,
        is_first: bool,
    ) -> Result<(), Fault> {
        let stream = &mut self.streams[file];
        if is_first && record.kind != kind::HEADER {
            return damage(
                "no drmemtrace file: the first record is not its header; raw files are to be \
                 converted first, with drrun -t drmemtrace -indir FOLDER",
            );
        }
        let goes_on = record.kind == kind::HEADER || stream.is(file_type::OF_CORES);
        if stream.is_over && !goes_on {
            return damage("a record after the footer");
        }
        stream.is_over = record.kind == kind::FOOTER;
        match record.kind {
            kind::READ => self.data(file, Kind::Load, record),
            kind::WRITE => self.data(file, Kind::Store, record),
            kind::INSTRUCTION..=kind::LAST_BRANCH
            | kind::SYSENTER
            | kind::TAKEN
            | kind::UNTAKEN => self.instruction(file, record),
            kind::BUNDLE => self.bundle(file, record),
            kind::NO_FETCH | kind::MAYBE_FETCH => self.repeated(file, record),
            kind::THREAD => {
                stream.number = Some(record.value);
                let process = stream.processes.get(&record.value).copied();
                self.name(file, process);
                Ok(())
            }
            kind::PROCESS => {
                if let Some(number) = stream.number {
                    stream.processes.insert(number, record.value);
                }
                self.name(file, Some(record.value));
                Ok(())
            }
            kind::THREAD_EXIT => {
                if let Some(process) = stream.processes.remove(&record.value) {
                    self.threads.exit(process, record.value);
                }
                Ok(())
            }
            kind::MARKER => self.marker(file, record),
            kind::ENCODING => stream.encode(record),
            kind::HEADER | kind::FOOTER | kind::INSTRUCTION_FLUSH_END | kind::DATA_FLUSH_END => {
                Ok(())
            }
            other => match of_record(other) {
                Some(what) => {
                    self.left_out.add(what, 1);
                    Ok(())
                }
                None => damage(format!("a record of the unknown type {other}")),
            },
        }
    }

    /// Sets the process of the file's thread. Only cores run a thread with number 0.
    fn name(&mut self, file: usize, process: Option<u64>) {
        let stream = &mut self.streams[file];
        let least = u64::from(!stream.is(file_type::OF_CORES | file_type::WHOLE_SYSTEM));
        let number = stream.number.filter(|&number| number >= least);
        let is_filtered = stream.is(file_type::FILTERED_AT_FIRST);
        stream.thread = number
            .zip(process)
            .map(|(number, process)| self.threads.find(process, number, is_filtered));
    }

    /// Returns the thread of the file's records.
    fn thread(&self, file: usize) -> Result<usize, Fault> {
        match self.streams[file].thread {
            Some(thread) => Ok(thread),
            None => problem("something is done before its thread and process are named"),
        }
    }

    /// Switches to the thread of the file's records.
    fn act(&mut self, file: usize) -> Result<usize, Fault> {
        let thread = self.thread(file)?;
        let of = self.threads.of(thread);
        let id = match of.id {
            Some(id) => id,
            None => *of
                .id
                .insert(self.assembler.add_thread(of.process, of.number)?),
        };
        self.assembler.switch_to(id)?;
        Ok(thread)
    }

    /// Returns whether records of the file's thread are filtered, and if so counts this one.
    fn is_filtered(&mut self, file: usize, what: Passed) -> Result<bool, Fault> {
        let thread = self.thread(file)?;
        let of = self.threads.of(thread);
        if of.is_filtered {
            of.is_cut = true;
            of.calling = Calling::No;
            self.left_out.add(what, 1);
        }
        Ok(of.is_filtered)
    }

    fn instruction(&mut self, file: usize, record: Record) -> Result<(), Fault> {
        if self.is_filtered(file, Passed::FilteredInstruction)? {
            self.streams[file].encoded = 0;
            return Ok(());
        }
        let Record { size, value, .. } = record;
        if !(1..=LONGEST as u16).contains(&size) {
            return damage(format!("an instruction of {size} bytes, not 1 to 15"));
        }
        let thread = self.act(file)?;
        self.tell_cpu(thread)?;
        let stream = &mut self.streams[file];
        if stream.encoded > 0 {
            let bytes = &stream.encoding[..stream.encoded];
            self.unsized_by.encoded(value, bytes);
            stream.encoded = 0;
        }
        let of = self.threads.of(thread);
        for byte in [value, value.wrapping_add(u64::from(size) - 1)] {
            if let Some(news) = self.frames.news(of.process, byte) {
                self.assembler.place_code(news.page, news.has_moved)?;
            }
        }
        let entered = match (of.calling, of.is_cut || of.next != value) {
            // A call of the directly following instruction only determines its own address.
            (Calling::Enters, _) if of.next != value => {
                let functions = &mut self.functions;
                Some(functions.called(of.process, value, &mut self.assembler)?)
            }
            (_, true) => self.functions.at(of.process, value),
            (_, false) => None,
        };
        if std::mem::take(&mut of.is_interrupted) && self.handlers.insert(value) {
            self.assembler.signal_handler(value)?;
        }
        match entered {
            Some(function) => self.assembler.enter(value, size.into(), function)?,
            None => self.assembler.fetch(value, size.into(), !of.is_cut)?,
        }
        of.calling = of.calling.after(flow(record.kind), entered.is_some());
        of.last = (value, size);
        of.next = value.wrapping_add(size.into());
        of.is_cut = record.kind != kind::INSTRUCTION;
        self.kept += 1;
        Ok(())
    }

    /// Records the thread's CPU, if it has changed.
    fn tell_cpu(&mut self, thread: usize) -> Result<(), Fault> {
        let Some((cpu, has_moved)) = self.threads.news_of_cpu(thread) else {
            return Ok(());
        };
        let of = self.threads.of(thread);
        let on = OnCpu {
            process_id: of.process,
            os_thread_id: of.number,
            since: 0,
            cpu,
        };
        self.assembler.goes_on(on, has_moved)
    }

    /// Processes a bundle: up to eight instructions after the previous one, with only their sizes.
    fn bundle(&mut self, file: usize, record: Record) -> Result<(), Fault> {
        let sizes = record.value.to_le_bytes();
        let Some(sizes) = sizes.get(..usize::from(record.size)) else {
            return damage(format!("a bundle of {} instructions", record.size));
        };
        let thread = self.thread(file)?;
        for &size in sizes {
            let one = Record {
                kind: kind::INSTRUCTION,
                size: size.into(),
                value: self.threads.of(thread).next,
            };
            self.instruction(file, one)?;
        }
        Ok(())
    }

    /// Repeats the same instruction, as in a string operation, without another fetch.
    fn repeated(&mut self, file: usize, record: Record) -> Result<(), Fault> {
        if self.is_filtered(file, Passed::FilteredInstruction)? {
            return Ok(());
        }
        let thread = self.act(file)?;
        if self.assembler.repeat(record.value)? {
            return Ok(());
        }
        let is_cut = self.threads.of(thread).is_cut;
        let as_fetched = Record {
            kind: kind::INSTRUCTION,
            ..record
        };
        self.instruction(file, as_fetched)?;
        if record.kind == kind::NO_FETCH {
            self.kept -= 1;
        }
        // A repetition is not a branch, and does not end one.
        self.threads.of(thread).is_cut &= is_cut;
        Ok(())
    }

    fn data(&mut self, file: usize, kind: Kind, record: Record) -> Result<(), Fault> {
        if self.is_filtered(file, Passed::FilteredAccess)? {
            return Ok(());
        }
        let thread = self.act(file)?;
        let of = self.threads.of(thread);
        let Record {
            value, mut size, ..
        } = record;
        let (address, length) = of.last;
        // An intervening record has ended the instruction's block.
        if self.assembler.is_empty() && length > 0 {
            self.assembler.fetch_again(address, length.into())?;
        }
        let stream = &self.streams[file];
        let has_encodings = stream.is(file_type::ENCODINGS | file_type::AARCH64);
        if size == 0
            && self
                .unsized_by
                .allows(address, length.into(), value, has_encodings)
        {
            self.of_unknown_size += 1;
            size = 1;
        }
        if let Some(news) = self.frames.news(of.process, value) {
            self.assembler.place_data(news.page, news.has_moved)?;
        }
        self.assembler.data(kind, value, size.into())
    }

    fn marker(&mut self, file: usize, record: Record) -> Result<(), Fault> {
        let value = record.value;
        match record.size {
            marker::FILE_TYPE => self.file_type(file, value),
            marker::REQUEST if self.own_marks => {
                self.act(file)?;
                self.assembler.begin_request()
            }
            marker::REQUEST_END if self.own_marks => {
                self.act(file)?;
                self.assembler.end_request()
            }
            marker::REQUEST | marker::REQUEST_END => Ok(()),
            marker::PHYSICAL_ADDRESS => {
                self.frames.physical(value);
                Ok(())
            }
            marker::VIRTUAL_ADDRESS => {
                let thread = self.act(file)?;
                let process = self.threads.of(thread).process;
                self.frames.of_virtual(process, value)
            }
            marker::PAGE_BYTES => {
                self.frames.page_bytes(value);
                Ok(())
            }
            marker::SYSTEM_CALL | marker::FUNCTION..=marker::RETURNED => self.call(file, record),
            sub => {
                if let Some(what) = of_marker(sub) {
                    self.left_out.add(what, 1);
                }
                if sub == marker::KERNEL_CALL || sub == marker::KERNEL_SWITCH {
                    let stream = &self.streams[file];
                    self.lacks_kernel_data |= stream.is(file_type::KERNEL_INSTRUCTIONS_ONLY);
                }
                self.of_thread(file, record);
                Ok(())
            }
        }
    }

    /// Processes a marker that refers to the file's thread, if one is known.
    fn of_thread(&mut self, file: usize, record: Record) {
        let stream = &mut self.streams[file];
        let Some(thread) = stream.thread else {
            return;
        };
        let of = self.threads.of(thread);
        match record.size {
            marker::CPU if record.value != u64::MAX => {
                of.new_cpu = Some((record.value & CPU_BITS) as u16);
            }
            marker::FILTER_END => of.is_filtered = false,
            marker::WINDOW => {
                let before = of.window.replace(record.value);
                if before.is_some_and(|before| before != record.value) {
                    of.is_cut = true;
                    of.calling = Calling::No;
                    of.is_filtered |= stream.is(file_type::FILTERED_AT_FIRST);
                    self.left_out.add(Passed::Window, 1);
                }
            }
            sub if ends_block(sub) => {
                of.is_cut = true;
                of.calling = Calling::No;
                // The restart of a restartable sequence is not a signal handler.
                of.is_interrupted = sub == marker::EVENT && !of.has_aborted;
                of.has_aborted = sub == marker::SEQUENCE_ABORT;
            }
            _ => {}
        }
    }

    /// Processes a system call, or a marker of a function, of its arguments or of its result.
    fn call(&mut self, file: usize, record: Record) -> Result<(), Fault> {
        let value = record.value;
        let Ok(thread) = self.thread(file) else {
            return problem("a call before its thread and process are named");
        };
        let of = self.threads.of(thread);
        let is_of_system = of.function >= SYSTEM_CALL_FUNCTIONS;
        match record.size {
            marker::SYSTEM_CALL => {
                let Ok(number) = u32::try_from(value) else {
                    return damage(format!("a system call of the number {value}"));
                };
                of.is_cut = true;
                if of.is_filtered {
                    return Ok(());
                }
                self.act(file)?;
                self.assembler.begin_system_call(number.cast_signed())
            }
            marker::FUNCTION => {
                of.function = value;
                if value < SYSTEM_CALL_FUNCTIONS {
                    self.left_out.add(Passed::FunctionMarker, 1);
                }
                Ok(())
            }
            marker::RETURNED if is_of_system => {
                if of.id.is_none() {
                    return Ok(());
                }
                self.act(file)?;
                let result = value.cast_signed();
                self.assembler.return_from_system_call(result)
            }
            _ if is_of_system => {
                self.left_out.add(Passed::CallArgument, 1);
                Ok(())
            }
            _ => {
                self.left_out.add(Passed::FunctionMarker, 1);
                Ok(())
            }
        }
    }

    fn file_type(&mut self, file: usize, bits: u64) -> Result<(), Fault> {
        let filtered =
            file_type::FILTERED | file_type::INSTRUCTIONS_FILTERED | file_type::DATA_FILTERED;
        if bits & filtered != 0 && bits & file_type::FILTERED_AT_FIRST == 0 {
            return problem("the trace was filtered by a cache; record it without -L0_filter");
        }
        if bits & (file_type::ARM32 | file_type::X86_32) != 0 {
            return problem("a trace of a 32-bit program; only 64-bit ones are read");
        }
        self.lacks_data |= bits & file_type::INSTRUCTIONS_ONLY != 0;
        let stream = &mut self.streams[file];
        stream.file_type = bits;
        if let Some(thread) = stream.thread {
            self.threads.of(thread).is_filtered |= bits & file_type::FILTERED_AT_FIRST != 0;
        }
        Ok(())
    }
}

/// Returns what executes after an instruction of this type.
fn flow(kind: u16) -> Flow {
    match kind {
        kind::DIRECT_CALL | kind::INDIRECT_CALL => Flow::Call,
        kind::INDIRECT_JUMP => Flow::IndirectJump,
        kind::INSTRUCTION => Flow::On,
        _ => Flow::Branch,
    }
}

/// Bits of a CPU's number on Linux; its node's number is above them.
const CPU_BITS: u64 = 0xfff;

/// Returns whether code after the marker does not follow from the code before it.
fn ends_block(sub: u16) -> bool {
    matches!(
        sub,
        marker::EVENT
            | marker::EVENT_END
            | marker::SEQUENCE_ABORT
            | marker::KERNEL_CALL..=marker::KERNEL_CALL_END
            | marker::KERNEL_SWITCH..=marker::KERNEL_SWITCH_END
            | marker::UNCOMPLETED
            | marker::HARDWARE_EVENT
            | marker::HARDWARE_RETURN
    )
}

impl Stream {
    /// Appends bytes to the next instruction's encoding.
    fn encode(&mut self, record: Record) -> Result<(), Fault> {
        let bytes = record.value.to_le_bytes();
        let free = &mut self.encoding[self.encoded..];
        match (
            bytes.get(..record.size.into()),
            free.get_mut(..record.size.into()),
        ) {
            (Some(bytes), Some(free)) => {
                free.copy_from_slice(bytes);
                self.encoded += bytes.len();
                Ok(())
            }
            _ => damage("an instruction's encoding of more bytes than one has"),
        }
    }
}
