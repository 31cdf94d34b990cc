//! A small recorded server, for the subcommands that use functions and requests.

use crate::definitions;
use corehop_traces::{EndReason, Error, Kind, ThreadId, Writer, WriterOptions};
use std::path::Path;

const CODE: u64 = 0x40_0000;

/// 64 bytes each, one after the other from the start of the module.
const FUNCTIONS: [&str; 6] = ["parse", "execute", "log", "flush", "inlined", "commit"];

/// Four requests, alternating between two threads, of two phases with separate lines; the second
/// phase also stores to a line of the first. Each request calls `parse`, `inlined`, then `execute`,
/// and finally `commit`; the first request calls `log` twice, and every other one calls `flush`.
pub fn record(path: &Path) -> Result<(), Error> {
    record_requests(path, 4)
}

/// Does the same with another number of requests.
pub fn record_requests(path: &Path, requests: usize) -> Result<(), Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "parse", CODE)?;
    let blocks = define(&mut writer, module)?;
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    for request in 0..requests {
        let thread = threads[request % 2];
        writer.stamp(thread, request as u64)?;
        writer.request(thread)?;
        serve(&mut writer, thread, request, &blocks)?;
    }
    // The next request of each thread makes its last one complete.
    for thread in threads {
        writer.request(thread)?;
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

/// Returns the code blocks of the functions' entries.
fn define(writer: &mut Writer, module: u32) -> Result<Vec<u32>, Error> {
    let define = |(name, offset): (&str, u64)| {
        let unpatchable = (name == "inlined").then_some("something jumps into it");
        definitions::function(writer, (module, CODE), (name, offset), unpatchable)
    };
    FUNCTIONS
        .into_iter()
        .zip((0..).step_by(64))
        .map(define)
        .collect()
}

fn serve(
    writer: &mut Writer,
    thread: ThreadId,
    request: usize,
    blocks: &[u32],
) -> Result<(), Error> {
    let [parse, execute, log, flush, inlined, commit] = blocks else {
        unreachable!("as many as there are functions");
    };
    let enter = |writer: &mut Writer, block: &u32| writer.execution(thread, *block);
    enter(writer, parse)?;
    enter(writer, inlined)?;
    load(writer, thread, 0x1000_0000)?;
    enter(writer, execute)?;
    if request == 0 {
        enter(writer, log)?;
        enter(writer, log)?;
    }
    load(writer, thread, 0x1000_1000)?;
    writer.data(thread, 0, Kind::Store, 8, 0x1000_0000)?;
    if request.is_multiple_of(2) {
        enter(writer, flush)?;
    }
    enter(writer, commit)
}

/// Loads from ten lines, forty times each.
fn load(writer: &mut Writer, thread: ThreadId, first: u64) -> Result<(), Error> {
    for load in 0..400 {
        let address = first + load % 10 * 64;
        writer.data(thread, 0, Kind::Load, 8, address)?;
    }
    Ok(())
}
