//! A report on a small recorded server. The name of one function tries to escape from the page's
//! markup.

use crate::definitions;
use corehop_traces::{EndReason, Error, Kind, ThreadId, Writer, WriterOptions};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A name that a linker accepts but that is unsafe in markup.
pub const HOSTILE: &str = "</script><script>document.title='left'</script><!--\"'&";

const CODE: u64 = 0x40_0000;

/// Number of requests, and of the accesses of each: a fetch and 1500 loads or stores in each of
/// three functions.
pub const REQUESTS: usize = 6;
pub const ACCESSES: u64 = 3 * 1501;

/// L2s of 16 lines; a function accesses eight lines and its code.
const MACHINE: &str = include_str!("../machines/tiny.toml");

/// A folder with a trace, a machine and a plan.
pub fn folder() -> TempDir {
    folder_of(REQUESTS, 1500)
}

/// Returns the same with this number of requests, and of loads or stores in each function.
pub fn folder_of(requests: usize, touches: u64) -> TempDir {
    let functions = [("parse", 0), (HOSTILE, 64), ("commit", 128)];
    folder_with(definitions::SERVER, &functions, requests, touches)
}

/// Returns the same for two functions, `parse` and `commit`, of a module at this path.
pub fn folder_of_module(module: &Path, build_id: &str, [parse, commit]: [u64; 2]) -> TempDir {
    let module = (module.to_str().expect("a name of characters"), build_id);
    let functions = [("parse", parse), ("commit", commit)];
    folder_with(module, &functions, REQUESTS, 1500)
}

fn folder_with(
    module: (&str, &str),
    functions: &[(&str, u64)],
    requests: usize,
    touches: u64,
) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("bank.trace");
    record(&trace, (module, functions), requests, touches).unwrap();
    let plan = format!(
        "version = 1\nmachine = \"tiny.toml\"\ntrace = \"bank.trace\"\ncores = 2\nseed = 1\n\
         function = [\n{}{}]\n",
        planned(module, functions[0], 1),
        planned(module, functions[1], 0)
    );
    std::fs::write(folder.path().join("tiny.toml"), MACHINE).unwrap();
    std::fs::write(folder.path().join("split.toml"), plan).unwrap();
    folder
}

fn planned((module, build_id): (&str, &str), (symbol, offset): (&str, u64), core: u32) -> String {
    format!(
        "{{ module = \"{module}\", build_id = \"{build_id}\", offset = {offset}, \
         symbol = '''{symbol}''', core = {core}, mode = \"enter\" }},\n"
    )
}

/// The recorded module and its functions.
type Recorded<'a> = ((&'a str, &'a str), &'a [(&'a str, u64)]);

fn record(
    path: &Path,
    (module, functions): Recorded<'_>,
    requests: usize,
    touches: u64,
) -> Result<(), Error> {
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin_of(path, &options, "parse", (module, CODE))?;
    let mut blocks = Vec::new();
    for &(name, offset) in functions {
        let block = definitions::function(&mut writer, (module, CODE), (name, offset), None)?;
        blocks.push(block);
    }
    let thread = writer.thread(1, 1)?;
    for request in 0..requests {
        writer.stamp(thread, request as u64)?;
        writer.request(thread)?;
        for (place, &block) in (0..).zip(&blocks) {
            writer.execution(thread, block)?;
            touch(&mut writer, thread, place, touches)?;
        }
    }
    // The next request completes the last one.
    writer.request(thread)?;
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

/// Accesses eight lines of a function in order, repeatedly; the last function stores.
fn touch(writer: &mut Writer, thread: ThreadId, place: u64, touches: u64) -> Result<(), Error> {
    let kind = if place == 2 { Kind::Store } else { Kind::Load };
    for access in 0..touches {
        let address = 0x1000_0000 + place * 0x1000_0000 + access % 8 * 64;
        writer.data(thread, 0, kind, 8, address)?;
    }
    Ok(())
}

/// Runs `corehop report split.toml` with these arguments in this folder.
pub fn report(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.args(["report", "split.toml"]).args(arguments);
    command
        .current_dir(folder.path())
        .output()
        .expect("the command starts")
}

/// Runs it, expects success, and returns its output.
pub fn said(folder: &TempDir, arguments: &[&str]) -> String {
    let output = report(folder, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
