//! Writes a trace as drmemtrace's records, in replay order.
//!
//! Every instruction of an execution is a record, followed by its loads and stores. A trace does
//! not contain opcodes, so branches are inferred from where threads continue ([`Branches`]), and
//! there are no encodings. All threads are in one file and identified by records, because one file
//! per thread would lose the order. A trace does not contain times either: a timestamp counts
//! thread switches. drmemtrace guarantees that no timestamp separates a branch from its target. So
//! no timestamp is written where a thread continues after a branch.

use super::branches::Branches;
use super::instructions::{Located, located};
use super::pages::Pages;
use super::record::{Record, SYSTEM_CALL_FUNCTIONS, file_type, kind, marker};
use crate::{Execution, Kind, RequestId, ThreadId, Trace};
use std::collections::HashMap;
use std::io::{self, Write};

/// The first version in which interruption markers have complete addresses, and the last in which
/// branches need no target.
const VERSION: u64 = 4;

/// A thread's identity for readers of the file.
#[derive(Clone, Copy)]
struct Known {
    process: u64,
    thread: u64,
    /// The request that it is serving.
    request: Option<RequestId>,
    /// Its last execution.
    last: Option<Last>,
}

/// A thread's previous execution.
#[derive(Clone, Copy)]
struct Last {
    number: u64,
    /// End of its last instruction.
    end: u64,
    is_branch: bool,
}

/// Writes a trace, execution by execution.
pub struct Exporter<'t, W: Write> {
    trace: &'t Trace,
    out: W,
    branches: Branches,
    known: HashMap<ThreadId, Known>,
    /// Threads in the order of their first execution.
    order: Vec<ThreadId>,
    current: Option<ThreadId>,
    /// The last CPU that was written.
    cpu: Option<u16>,
    switches: u64,
    /// Number of gaps caused by the selection of executions.
    gaps: u64,
    pages: Pages,
}

impl<'t, W: Write> Exporter<'t, W> {
    /// Writes the records before the first thread. `branches` must have processed the whole trace,
    /// regardless of which executions are written.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn begin(trace: &'t Trace, mut branches: Branches, out: W) -> io::Result<Self> {
        branches.settle(trace);
        let mut exporter = Exporter {
            trace,
            out,
            branches,
            known: HashMap::new(),
            order: Vec::new(),
            current: None,
            cpu: None,
            switches: 0,
            gaps: 0,
            pages: Pages::default(),
        };
        exporter.put(kind::HEADER, 0, VERSION)?;
        exporter.put(kind::MARKER, marker::VERSION, VERSION)?;
        let mut threads = (0..trace.threads().len()).map(ThreadId::from_index);
        let mut bits = file_type::X86_64;
        // A call without an execution has no instruction to follow, and is not written.
        let has_written = |thread| {
            let last = trace.system_calls(thread).last();
            last.is_some_and(|call| call.after > 0)
        };
        if threads.any(has_written) {
            bits |= file_type::SYSTEM_CALLS;
        }
        exporter.put(kind::MARKER, marker::FILE_TYPE, bits)?;
        Ok(exporter)
    }

    /// Writes one execution.
    ///
    /// # Errors
    /// Those of the output.
    pub fn execution(&mut self, execution: &Execution<'_>) -> io::Result<()> {
        let cpu = self.trace.cpu(execution.thread, execution.stamp);
        self.switch_to(execution.thread, cpu)?;
        self.mark(execution)?;
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        let data = execution.accesses.iter();
        let mut data = data.filter(|access| access.kind != Kind::Fetch).peekable();
        let mut before = None;
        for instruction in located(block, execution) {
            let Located {
                pc,
                address,
                size_bytes,
            } = instruction;
            if before.is_none() {
                self.tell_gap(execution, address)?;
            }
            self.place(execution, address)?;
            let last = u64::from(size_bytes) - 1;
            self.place(execution, address.wrapping_add(last))?;
            let kind = self.branches.kind(address);
            self.put(kind, size_bytes.into(), address)?;
            while let Some(access) = data.next_if(|access| access.pc == pc) {
                let kind = match access.kind {
                    Kind::Store => kind::WRITE,
                    _ => kind::READ,
                };
                self.place(execution, access.address)?;
                self.put(kind, access.size_bytes, access.address)?;
            }
            before = Some(Last {
                number: execution.number,
                end: instruction.end(),
                is_branch: kind != kind::INSTRUCTION,
            });
        }
        if let Some(known) = self.known.get_mut(&execution.thread) {
            known.last = before.or(known.last);
        }
        self.system_calls(execution)
    }

    /// Begins another window if executions of the thread were omitted and it continues elsewhere.
    fn tell_gap(&mut self, execution: &Execution<'_>, address: u64) -> io::Result<()> {
        let known = self.known.get(&execution.thread);
        let Some(last) = known.and_then(|known| known.last) else {
            return Ok(());
        };
        if last.number + 1 == execution.number || last.end == address {
            return Ok(());
        }
        self.gaps += 1;
        self.put(kind::MARKER, marker::WINDOW, self.gaps)
    }

    /// Writes the physical location of an address's page, unless it is already written.
    fn place(&mut self, execution: &Execution<'_>, address: u64) -> io::Result<()> {
        let Some([physical, page]) = self.pages.news(self.trace, execution, address) else {
            return Ok(());
        };
        self.put(kind::MARKER, marker::PHYSICAL_ADDRESS, physical)?;
        self.put(kind::MARKER, marker::VIRTUAL_ADDRESS, page)
    }

    /// Writes the system calls that the execution makes.
    fn system_calls(&mut self, execution: &Execution<'_>) -> io::Result<()> {
        let trace = self.trace;
        for call in trace.system_calls_after(execution.thread, execution.number) {
            let number = u64::from(call.number.cast_unsigned());
            self.put(kind::MARKER, marker::SYSTEM_CALL, number)?;
            if let Some(result) = call.result {
                let function = SYSTEM_CALL_FUNCTIONS + number;
                self.put(kind::MARKER, marker::FUNCTION, function)?;
                self.put(kind::MARKER, marker::RETURNED, result.cast_unsigned())?;
            }
        }
        Ok(())
    }

    /// Writes the ends of requests and threads, and of the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<()> {
        for thread in std::mem::take(&mut self.order) {
            let known = self.known[&thread];
            let requests = self.trace.requests();
            let request = known.request.map(|request| requests[request.index()]);
            if request.is_some_and(|request| request.complete) {
                self.switch_to(thread, None)?;
                self.put(kind::MARKER, marker::REQUEST_END, 0)?;
            }
            self.put(kind::THREAD_EXIT, 0, known.thread)?;
        }
        self.put(kind::FOOTER, 0, 0)?;
        self.out.flush()
    }

    fn put(&mut self, kind: u16, size: u16, value: u64) -> io::Result<()> {
        self.out.write_all(&Record { kind, size, value }.encode())
    }

    fn switch_to(&mut self, thread: ThreadId, cpu: Option<u16>) -> io::Result<()> {
        if self.current.replace(thread) == Some(thread) {
            return match self.cpu == cpu {
                true => Ok(()),
                false => self.tell_cpu(cpu),
            };
        }
        let is_new = !self.known.contains_key(&thread);
        let known = match self.known.get(&thread) {
            Some(known) => *known,
            None => self.introduce(thread),
        };
        self.put(kind::THREAD, 0, known.thread)?;
        self.put(kind::PROCESS, 0, known.process)?;
        if is_new {
            self.put(kind::MARKER, marker::LINE_BYTES, 64)?;
            self.put(kind::MARKER, marker::PAGE_BYTES, 4096)?;
        }
        self.switches += 1;
        if !known.last.is_some_and(|last| last.is_branch) {
            self.put(kind::MARKER, marker::TIMESTAMP, self.switches)?;
        }
        self.tell_cpu(cpu)
    }

    /// Writes the CPU of the thread. The largest number means unknown.
    fn tell_cpu(&mut self, cpu: Option<u16>) -> io::Result<()> {
        self.cpu = cpu;
        self.put(kind::MARKER, marker::CPU, cpu.map_or(u64::MAX, u64::from))
    }

    /// Assigns numbers that are unique and not 0, because a reader interprets 0 as no thread. Uses
    /// the operating system's numbers if possible, and otherwise sets bits above them.
    fn introduce(&mut self, thread: ThreadId) -> Known {
        let of_system = self.trace.threads()[thread.index()];
        let number = |number: u32| u64::from(number) | u64::from(number == 0) << 32;
        let base = number(of_system.os_thread_id);
        let same = |known: &&Known| known.thread & ((1 << 33) - 1) == base;
        let namesakes = self.known.values().filter(same).count() as u64;
        let known = Known {
            process: number(of_system.process_id),
            thread: base | namesakes << 33,
            request: None,
            last: None,
        };
        self.known.insert(thread, known);
        self.order.push(thread);
        known
    }

    /// Writes a marker if the execution is the first of a request or the first after one.
    fn mark(&mut self, execution: &Execution<'_>) -> io::Result<()> {
        let Some(known) = self.known.get_mut(&execution.thread) else {
            return Ok(());
        };
        if known.request == execution.request {
            return Ok(());
        }
        known.request = execution.request;
        match execution.request {
            Some(request) => self.put(kind::MARKER, marker::REQUEST, request.0.into()),
            None => self.put(kind::MARKER, marker::REQUEST_END, 0),
        }
    }
}
