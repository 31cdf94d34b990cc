//! Copies a trace, or some of its requests, into a new one: for samples that must be small, and for
//! trying other ways to write the same executions.

use crate::model::address_space::Mapping;
use crate::model::error::Error;
use crate::model::execution::Kind;
use crate::model::ids::{RequestId, ThreadId};
use crate::model::page::Page;
use crate::model::program::{CodeBlock, Instruction};
use crate::model::recording::{EndReason, Summary, WriterOptions};
use crate::read::trace::{Ending, Trace};
use crate::write::writer::Writer;
use std::iter::Peekable;
use std::path::Path;
use std::vec::IntoIter;

/// Writes the executions of `requests`, or all of them for `None`, to a new trace at `path`.
/// Everything that is numbered keeps its number, but for the requests, which close up.
///
/// # Errors
/// Those of reading `trace` and of writing a trace; `path` is left alone if there are any.
pub fn copy(
    trace: &Trace,
    requests: Option<&[RequestId]>,
    path: &Path,
    options: &WriterOptions,
) -> Result<Summary, Error> {
    let mut writer = Writer::create(path, trace.header(), options)?;
    define(trace, &mut writer)?;
    let executions = match requests {
        Some(requests) => trace.executions_of(requests),
        None => trace.executions(),
    };
    let mut executions = executions.with_virtual_addresses();
    let mut memory = Memory::of(trace);
    let mut stamp = 0;
    let mut latest_thread = None;
    let mut serving: Vec<Option<RequestId>> = vec![None; trace.threads().len()];
    while let Some(execution) = executions.next()? {
        let thread = execution.thread;
        let same_thread = latest_thread.replace(thread) == Some(thread);
        if !same_thread || memory.changes(execution.stamp) {
            stamp += 1;
            memory.write(execution.stamp, &mut writer, stamp)?;
            writer.stamp(thread, stamp)?;
        }
        let before = std::mem::replace(&mut serving[thread.index()], execution.request);
        match execution.request {
            now if now == before => {}
            Some(request) => {
                let number = trace.requests()[request.index()].number;
                writer.numbered_request(thread, number.unwrap_or(0))?;
                if let Some(connection) = trace.requests()[request.index()].connection {
                    writer.connection(thread, connection)?;
                }
            }
            None => writer.end_request(thread)?,
        }
        writer.execution(thread, execution.code_block)?;
        let block = &trace.code_blocks()[execution.code_block as usize];
        for access in execution
            .accesses
            .iter()
            .filter(|access| access.kind != Kind::Fetch)
        {
            let place = place_of(block, access.pc);
            writer.data(
                thread,
                place,
                access.kind,
                access.size_bytes,
                access.address,
            )?;
        }
        for call in trace.system_calls_after(thread, execution.number) {
            writer.system_call(thread, call.number, call.result)?;
        }
    }
    for (thread, request) in serving.into_iter().enumerate() {
        if request.is_some_and(|request| trace.requests()[request.index()].complete) {
            writer.request(ThreadId::from_index(thread))?;
        }
    }
    writer.finish(match trace.ending() {
        Ending::Finished(reason) => reason.clone(),
        Ending::Cut { .. } => EndReason::Failed("copied from a recording that was cut off".into()),
    })
}

/// Where processes have what, that is still to be written, by ascending stamp. Of equal stamps the
/// later holds, so the order of the trace stays.
struct Memory {
    mappings: Peekable<IntoIter<Mapping>>,
    pages: Peekable<IntoIter<Page>>,
}

impl Memory {
    fn of(trace: &Trace) -> Memory {
        let (mut mappings, mut pages) = (trace.mappings().to_vec(), trace.pages().to_vec());
        mappings.sort_by_key(|mapping| mapping.since);
        pages.sort_by_key(|page| page.since);
        Memory {
            mappings: mappings.into_iter().peekable(),
            pages: pages.into_iter().peekable(),
        }
    }

    /// Whether there is something that holds from this stamp of the original on.
    fn changes(&mut self, until: u64) -> bool {
        let mapping = self.mappings.peek().map(|mapping| mapping.since);
        let page = self.pages.peek().map(|page| page.since);
        mapping.into_iter().chain(page).any(|since| since <= until)
    }

    /// Writes that, as holding from `stamp` on.
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
        Ok(())
    }
}

/// Writes what executions refer to.
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
    for name in trace.shared_objects() {
        writer.shared_object(name)?;
    }
    Ok(())
}

/// Place of the instruction at `pc` in its block.
fn place_of(block: &CodeBlock, pc: u64) -> u16 {
    let offset = pc.wrapping_sub(block.start);
    let before = |instruction: &Instruction| u64::from(instruction.offset) < offset;
    block.instructions.partition_point(before) as u16
}
