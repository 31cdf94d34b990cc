//! Reads drmemtrace's records into a trace.
//!
//! Instructions and their loads and stores are kept. Prefetches and flushes, which no trace has,
//! are counted and left out. A code block ends at a branch, where the code goes on elsewhere, where
//! a request begins, and when another thread's records follow. A file in which
//! accesses were filtered out is refused: a replay would count only what another cache has missed.

use super::frames::Frames;
use super::record::{RECORD_BYTES, Record, SYSTEM_CALL_FUNCTIONS, file_type, kind, marker};
use crate::convert::assembler::Assembler;
use crate::convert::error::{Error, Fault, FilePosition, problem};
use crate::convert::{Imported, Options};
use crate::{Kind, OnCpu, ThreadId, Writer};
use std::collections::HashMap;
use std::io::{BufRead, ErrorKind};

/// Reads a file to its footer and finishes the trace. [`Options::join`] changes nothing.
///
/// # Errors
/// [`Error::Broken`] for the first record that is not of this format, for a file that ends before
/// its footer, and for one of another architecture or with accesses left out; [`Error::Read`];
/// [`Error::Trace`] when the trace cannot be written.
pub fn import(
    mut input: impl BufRead,
    name: &str,
    writer: Writer,
    options: &Options,
) -> Result<Imported, Error> {
    let mut reading = Reading {
        assembler: Assembler::new(writer, options.request_at),
        own_marks: options.request_at.is_none(),
        threads: HashMap::new(),
        processes: HashMap::new(),
        thread: 0,
        next: 0,
        branched: true,
        function: 0,
        frames: Frames::default(),
        new_cpus: HashMap::new(),
        told_cpus: HashMap::new(),
        prefetches: 0,
        flushes: 0,
    };
    let mut offset = 0;
    let mut over = false;
    while let Some(record) = next(&mut input, name, offset)? {
        let place = FilePosition::Byte(offset);
        let taken = match (over, offset, record.kind) {
            (true, ..) => problem("a record after the footer; import one file at a time"),
            (_, 0, kind::HEADER) => Ok(()),
            (_, 0, _) => problem("no drmemtrace file: the first record is not its header"),
            _ => reading.take(record),
        };
        taken.map_err(|fault| fault.at(name, place))?;
        over = record.kind == kind::FOOTER;
        offset += RECORD_BYTES as u64;
    }
    let place = FilePosition::Byte(offset);
    if !over {
        let cut: Result<(), Fault> = problem("the file ends without a footer: it was cut off");
        cut.map_err(|fault| fault.at(name, place))?;
    }
    let Reading {
        assembler,
        prefetches,
        flushes,
        ..
    } = reading;
    let summary = assembler.finish().map_err(|fault| fault.at(name, place))?;
    let mut left_out = vec![("prefetches", prefetches), ("cache flushes", flushes)];
    left_out.retain(|(_, count)| *count > 0);
    Ok(Imported { summary, left_out })
}

/// The next record, `None` at the end.
fn next(input: &mut impl BufRead, name: &str, offset: u64) -> Result<Option<Record>, Error> {
    let unreadable = |source| Error::Read {
        name: name.into(),
        source,
    };
    let mut bytes = [0; RECORD_BYTES];
    let mut have = 0;
    while have < RECORD_BYTES {
        match input.read(&mut bytes[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => {
                let cut = format!("the file ends within a record, after {have} of 12 bytes");
                return Err(Fault::Problem(cut).at(name, FilePosition::Byte(offset)));
            }
            Ok(more) => have += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    Ok(Some(Record::decode(&bytes)))
}

struct Reading {
    assembler: Assembler,
    /// Whether our own markers begin requests.
    own_marks: bool,
    /// The trace's number of each thread that has not exited, by process and thread.
    threads: HashMap<(u64, u64), ThreadId>,
    /// The process of each thread.
    processes: HashMap<u64, u64>,
    /// Whose records follow; 0 for nobody.
    thread: u64,
    /// Where the instruction after the last one lies.
    next: u64,
    /// The last instruction was a branch.
    branched: bool,
    /// What the next markers tell of.
    function: u64,
    frames: Frames,
    /// By thread, on which CPU it goes on, and on which the trace was told that it is.
    new_cpus: HashMap<u64, u16>,
    told_cpus: HashMap<u64, u16>,
    prefetches: u64,
    flushes: u64,
}

impl Reading {
    fn take(&mut self, record: Record) -> Result<(), Fault> {
        match record.kind {
            kind::READ => self.data(Kind::Load, record),
            kind::WRITE => self.data(Kind::Store, record),
            kind::INSTRUCTION => self.instruction(record.value, record.size, false),
            kind::INSTRUCTION..=kind::LAST_BRANCH
            | kind::SYSENTER
            | kind::TAKEN
            | kind::UNTAKEN => self.instruction(record.value, record.size, true),
            kind::BUNDLE => self.bundle(record),
            kind::NO_FETCH | kind::MAYBE_FETCH => self.repeated(record),
            kind::THREAD => {
                self.thread = record.value;
                Ok(())
            }
            kind::PROCESS => {
                self.processes.insert(self.thread, record.value);
                Ok(())
            }
            kind::THREAD_EXIT => {
                if let Some(process) = self.processes.remove(&record.value) {
                    self.threads.remove(&(process, record.value));
                }
                Ok(())
            }
            kind::MARKER => self.marker(record),
            kind::FIRST_PREFETCH..=kind::LAST_PREFETCH
            | kind::HARDWARE_PREFETCH
            | kind::FIRST_HINT..=kind::LAST_HINT => {
                self.prefetches += 1;
                Ok(())
            }
            kind::FIRST_FLUSH..=kind::LAST_FLUSH => {
                self.flushes += 1;
                Ok(())
            }
            kind::ENCODING | kind::FOOTER => Ok(()),
            kind::HEADER => problem("a second header; import one file at a time"),
            other => problem(format!("a record of the unknown type {other}")),
        }
    }

    /// Makes the thread whose records these are the one that acts; its process.
    fn act(&mut self) -> Result<u32, Fault> {
        let process = self.processes.get(&self.thread);
        let (Some(&process), 1..) = (process, self.thread) else {
            return problem("something is done before its thread and process are named");
        };
        let key = (process, self.thread);
        let thread = match self.threads.get(&key) {
            Some(&thread) => thread,
            None => {
                let (process, of_system) = (process as u32, self.thread as u32);
                let thread = self.assembler.add_thread(process, of_system)?;
                self.threads.insert(key, thread);
                thread
            }
        };
        self.assembler.switch_to(thread)?;
        Ok(process as u32)
    }

    fn instruction(&mut self, address: u64, size: u16, branch: bool) -> Result<(), Fault> {
        if !(1..=15).contains(&size) {
            return problem(format!("an instruction of {size} bytes, not 1 to 15"));
        }
        let process = self.act()?;
        self.tell_cpu(process)?;
        for byte in [address, address.wrapping_add(u64::from(size) - 1)] {
            if let Some(news) = self.frames.news(process, byte) {
                self.assembler.place_code(news.page, news.has_moved)?;
            }
        }
        let joins = !self.branched;
        self.assembler.fetch(address, size.into(), joins)?;
        self.next = address.wrapping_add(size.into());
        self.branched = branch;
        Ok(())
    }

    /// Has the trace say on which CPU the thread goes on, where that is news. Of numbers that a
    /// trace has no room for nothing is said.
    fn tell_cpu(&mut self, process_id: u32) -> Result<(), Fault> {
        if self.new_cpus.is_empty() {
            return Ok(());
        }
        let Some(cpu) = self.new_cpus.remove(&self.thread) else {
            return Ok(());
        };
        let Ok(os_thread_id) = u32::try_from(self.thread) else {
            return Ok(());
        };
        let before = self.told_cpus.insert(self.thread, cpu);
        if before == Some(cpu) {
            return Ok(());
        }
        let on = OnCpu {
            process_id,
            os_thread_id,
            since: 0,
            cpu,
        };
        self.assembler.goes_on(on, before.is_some())
    }

    /// Instructions that follow the one before, up to eight, of which only the sizes are told.
    fn bundle(&mut self, record: Record) -> Result<(), Fault> {
        let sizes = record.value.to_le_bytes();
        let Some(sizes) = sizes.get(..usize::from(record.size)) else {
            return problem(format!("a bundle of {} instructions", record.size));
        };
        for &size in sizes {
            self.instruction(self.next, size.into(), false)?;
        }
        Ok(())
    }

    /// The same instruction once more, as in a string operation, which is not fetched again.
    fn repeated(&mut self, record: Record) -> Result<(), Fault> {
        self.act()?;
        match self.assembler.repeat(record.value)? {
            true => Ok(()),
            false => self.instruction(record.value, record.size, false),
        }
    }

    fn data(&mut self, kind: Kind, record: Record) -> Result<(), Fault> {
        let process = self.act()?;
        let (address, size) = (record.value, record.size);
        if let Some(news) = self.frames.news(process, address) {
            self.assembler.place_data(news.page, news.has_moved)?;
        }
        self.assembler.data(kind, address, size.into())
    }

    fn marker(&mut self, record: Record) -> Result<(), Fault> {
        match record.size {
            marker::FILE_TYPE => refuse_file_type(record.value),
            marker::REQUEST if self.own_marks => {
                self.act()?;
                self.assembler.begin_request()
            }
            marker::REQUEST_END if self.own_marks => {
                self.act()?;
                self.assembler.end_request()
            }
            marker::CPU => {
                if let Ok(cpu) = u16::try_from(record.value) {
                    self.new_cpus.insert(self.thread, cpu);
                }
                Ok(())
            }
            marker::PHYSICAL_ADDRESS => {
                self.frames.physical(record.value);
                Ok(())
            }
            marker::VIRTUAL_ADDRESS => {
                let process = self.act()?;
                self.frames.of_virtual(process, record.value)
            }
            marker::PAGE_BYTES => {
                self.frames.page_bytes(record.value);
                Ok(())
            }
            marker::SYSTEM_CALL => {
                let Ok(number) = u32::try_from(record.value) else {
                    return problem(format!("a system call of the number {}", record.value));
                };
                self.act()?;
                self.branched = true;
                self.assembler.begin_system_call(number.cast_signed())
            }
            marker::FUNCTION => {
                self.function = record.value;
                Ok(())
            }
            marker::RETURNED if self.function >= SYSTEM_CALL_FUNCTIONS => {
                self.act()?;
                let result = record.value.cast_signed();
                self.assembler.return_from_system_call(result)
            }
            _ => Ok(()),
        }
    }
}

fn refuse_file_type(bits: u64) -> Result<(), Fault> {
    let filtered =
        file_type::FILTERED | file_type::INSTRUCTIONS_FILTERED | file_type::DATA_FILTERED;
    if bits & filtered != 0 {
        return problem("the trace was filtered by a cache; record it without -L0_filter");
    }
    if bits & (file_type::ARM32 | file_type::X86_32) != 0 {
        return problem("a trace of a 32-bit program; only 64-bit ones are read");
    }
    Ok(())
}
