//! Copies a trace, or some of its requests, into a new one. Used for small samples, for a server
//! without its kernel, and for trying other encodings of the same executions.

use crate::model::address_space::Mapping;
use crate::model::cpu::OnCpu;
use crate::model::error::Error;
use crate::model::execution::Kind;
use crate::model::heap_event::HeapEvent;
use crate::model::ids::{RequestId, ThreadId};
use crate::model::page::Page;
use crate::model::program::{CodeBlock, Instruction};
use crate::model::recording::{EndReason, Summary, WriterOptions};
use crate::model::system_call::SystemCall;
use crate::read::executions::Tell;
use crate::read::trace::{Ending, Trace};
use crate::write::writer::Writer;
use std::iter::Peekable;
use std::path::Path;
use std::vec::IntoIter;

/// What a copy contains in addition to the original trace.
pub trait Addition {
    /// Adds definitions, after those of `trace`.
    ///
    /// # Errors
    /// Those of `writer`.
    fn define(&mut self, trace: &Trace, writer: &mut Writer) -> Result<(), Error> {
        let _ = (trace, writer);
        Ok(())
    }

    /// Adds executions of `thread`, which has just made a system call.
    ///
    /// # Errors
    /// Those of `writer`.
    fn after(
        &mut self,
        writer: &mut Writer,
        thread: ThreadId,
        call: &SystemCall,
    ) -> Result<(), Error> {
        let _ = (writer, thread, call);
        Ok(())
    }
}

/// Adds nothing.
impl Addition for () {}

/// Writes the executions of `requests`, or all executions for `None`, to a new trace at `path`. All
/// numbers are kept except those of requests, which are renumbered without gaps.
///
/// # Errors
/// Those of reading `trace` and of writing a trace; `path` is not changed if there are any.
pub fn copy(
    trace: &Trace,
    requests: Option<&[RequestId]>,
    path: &Path,
    options: &WriterOptions,
) -> Result<Summary, Error> {
    let chosen = Chosen {
        requests,
        without_kernel: false,
    };
    let copied = write(trace, &chosen, (path, options), UNWATCHED, &mut ())?;
    Ok(copied.expect("nothing stops it"))
}

/// The parts of a trace to copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'a> {
    /// These requests; `None` for everything, including executions outside requests.
    pub requests: Option<&'a [RequestId]>,
    /// Omit what the kernel executes: code in the upper half of addresses.
    pub without_kernel: bool,
}

/// A callback for progress in executions read, and a callback that returns false to stop.
pub type Watched<'a> = (Tell<'a>, &'a dyn Fn() -> bool);

/// Neither reports progress nor stops.
pub const UNWATCHED: Watched<'static> = (&|_| (), &|| true);

/// Like [`copy`], for the chosen parts. Returns `None` if the callback stopped it, which leaves an
/// unfinished trace.
///
/// # Errors
/// Those of [`copy`].
pub fn copy_chosen(
    trace: &Trace,
    chosen: &Chosen<'_>,
    path: &Path,
    options: &WriterOptions,
    watched: Watched<'_>,
) -> Result<Option<Summary>, Error> {
    write(trace, chosen, (path, options), watched, &mut ())
}

/// Like [`copy`], for the whole trace with an addition.
///
/// # Errors
/// Those of [`copy`].
pub fn copy_with(
    trace: &Trace,
    path: &Path,
    options: &WriterOptions,
    watched: Watched<'_>,
    addition: &mut impl Addition,
) -> Result<Option<Summary>, Error> {
    write(
        trace,
        &Chosen::default(),
        (path, options),
        watched,
        addition,
    )
}

fn write(
    trace: &Trace,
    chosen: &Chosen<'_>,
    (path, options): (&Path, &WriterOptions),
    (tell, goes_on): Watched<'_>,
    addition: &mut impl Addition,
) -> Result<Option<Summary>, Error> {
    let mut writer = Writer::create(path, trace.header(), options)?;
    define(trace, &mut writer)?;
    addition.define(trace, &mut writer)?;
    let executions = trace.executions_chosen(chosen.requests);
    let mut executions = executions.with_virtual_addresses().telling(tell);
    let mut memory = Memory::of(trace);
    let mut stamp = 0;
    let mut latest_thread = None;
    let mut serving: Vec<Option<RequestId>> = vec![None; trace.threads().len()];
    while let Some(execution) = executions.next()? {
        if !goes_on() {
            return Ok(None);
        }
        let block = &trace.code_blocks()[execution.code_block as usize];
        if chosen.without_kernel && block.is_kernels() {
            continue;
        }
        let thread = execution.thread;
        let same_thread = latest_thread.replace(thread) == Some(thread);
        if !same_thread || memory.changes(execution.stamp) {
            stamp += 1;
            memory.write(execution.stamp, &mut writer, stamp)?;
            writer.stamp(thread, stamp)?;
        }
        let before = std::mem::replace(&mut serving[thread.index()], execution.request);
        if execution.request != before {
            mark(trace, &mut writer, thread, execution.request)?;
        }
        writer.execution(thread, execution.code_block)?;
        for access in execution.accesses {
            if access.kind != Kind::Fetch {
                let (place, size) = (place_of(block, access.pc), access.size_bytes);
                writer.data(thread, place, access.kind, size, access.address)?;
            }
        }
        for call in trace.system_calls_after(thread, execution.number) {
            writer.system_call(thread, call.number, call.result)?;
            addition.after(&mut writer, thread, call)?;
        }
    }
    for (thread, request) in serving.into_iter().enumerate() {
        if request.is_some_and(|request| trace.requests()[request.index()].complete) {
            writer.request(ThreadId::from_index(thread))?;
        }
    }
    let summary = writer.finish(match trace.ending() {
        Ending::Finished(reason) => reason.clone(),
        Ending::Cut { .. } => EndReason::Failed("copied from a recording that was cut off".into()),
    })?;
    Ok(Some(summary))
}

/// Writes that a thread serves this request from here on, or none.
fn mark(
    trace: &Trace,
    writer: &mut Writer,
    thread: ThreadId,
    request: Option<RequestId>,
) -> Result<(), Error> {
    let Some(request) = request else {
        return writer.end_request(thread);
    };
    let request = &trace.requests()[request.index()];
    writer.numbered_request(thread, request.number.unwrap_or(0))?;
    match request.connection {
        Some(connection) => writer.connection(thread, connection),
        None => Ok(()),
    }
}

/// Mappings, pages, CPUs and heap events that are not yet written, by ascending stamp. If stamps
/// are equal, the later one holds, so a stable sort keeps the trace's order.
struct Memory {
    mappings: Peekable<IntoIter<Mapping>>,
    pages: Peekable<IntoIter<Page>>,
    cpus: Peekable<IntoIter<OnCpu>>,
    heap_events: Peekable<IntoIter<HeapEvent>>,
}

impl Memory {
    fn of(trace: &Trace) -> Memory {
        let (mut mappings, mut pages) = (trace.mappings().to_vec(), trace.pages().to_vec());
        mappings.sort_by_key(|mapping| mapping.since);
        let mut cpus = trace.cpus().to_vec();
        pages.sort_by_key(|page| page.since);
        cpus.sort_by_key(|on| on.since);
        Memory {
            mappings: mappings.into_iter().peekable(),
            pages: pages.into_iter().peekable(),
            cpus: cpus.into_iter().peekable(),
            heap_events: trace.heap_events().to_vec().into_iter().peekable(),
        }
    }

    /// Returns whether a mapping, page, CPU or heap event holds from this stamp of the original or
    /// earlier.
    fn changes(&mut self, until: u64) -> bool {
        let mapping = self.mappings.peek().map(|mapping| mapping.since);
        let page = self.pages.peek().map(|page| page.since);
        let cpu = self.cpus.peek().map(|on| on.since);
        let event = self.heap_events.peek().map(|event| event.since);
        let first = [mapping, page, cpu, event].into_iter().flatten().min();
        first.is_some_and(|since| since <= until)
    }

    /// Writes those mappings, pages, CPUs and heap events, as holding from `stamp` on.
    fn write(&mut self, until: u64, writer: &mut Writer, stamp: u64) -> Result<(), Error> {
        let copied = |since| if since == 0 { 0 } else { stamp };
        while let Some(mapping) = self.mappings.next_if(|mapping| mapping.since <= until) {
            let since = copied(mapping.since);
            writer.mappings(&[Mapping { since, ..mapping }])?;
        }
        while let Some(page) = self.pages.next_if(|page| page.since <= until) {
            let since = copied(page.since);
            writer.pages(&[Page { since, ..page }])?;
        }
        while let Some(on) = self.cpus.next_if(|on| on.since <= until) {
            let since = copied(on.since);
            writer.cpus(&[OnCpu { since, ..on }])?;
        }
        while let Some(event) = self.heap_events.next_if(|event| event.since <= until) {
            let since = copied(event.since);
            writer.heap_event(HeapEvent { since, ..event })?;
        }
        Ok(())
    }
}

/// Writes the definitions that executions refer to.
fn define(trace: &Trace, writer: &mut Writer) -> Result<(), Error> {
    for module in trace.modules() {
        writer.module(module)?;
    }
    for function in trace.functions() {
        writer.function(function)?;
    }
    for (block, &entered) in trace.code_blocks().iter().zip(trace.entered_functions()) {
        writer.code_block(block, entered)?;
    }
    for thread in trace.threads() {
        writer.thread(thread.process_id, thread.os_thread_id)?;
    }
    for note in trace.notes() {
        writer.note(note.requests, &note.text)?;
    }
    for address in trace.signal_handlers() {
        writer.signal_handler(address)?;
    }
    for &call in trace.lasting_calls() {
        writer.lasting_call(call)?;
    }
    for name in trace.allocators() {
        writer.allocator(name)?;
    }
    for name in trace.shared_objects() {
        writer.shared_object(name)?;
    }
    Ok(())
}

/// Returns the index of the instruction at `pc` in its block.
fn place_of(block: &CodeBlock, pc: u64) -> u16 {
    let offset = pc.wrapping_sub(block.start);
    let before = |instruction: &Instruction| u64::from(instruction.offset) < offset;
    block.instructions.partition_point(before) as u16
}
