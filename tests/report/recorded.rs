//! A report on a small recorded server, one of whose functions has a name that tries to leave the
//! page's markup.

#[path = "../../traces/tests/definitions/mod.rs"]
mod definitions;

use corehop_traces::{EndReason, Error, Kind, ThreadId, Writer, WriterOptions};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// What a linker accepts, and markup must not.
pub const HOSTILE: &str = "</script><script>document.title='left'</script><!--\"'&";

const CODE: u64 = 0x40_0000;

/// Requests, each of so many accesses: a fetch and 1500 loads or stores in each of three functions.
pub const REQUESTS: usize = 6;
pub const ACCESSES: u64 = 3 * 1501;

/// L2s of 16 lines; a function references eight and its code.
const MACHINE: &str = include_str!("../machines/tiny.toml");

/// A folder with a trace, a machine and a plan.
pub fn folder() -> TempDir {
    folder_of(REQUESTS, 1500)
}

/// The same with so many requests, and in each function so many loads or stores.
pub fn folder_of(requests: usize, touches: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("bank.trace"), requests, touches).unwrap();
    let plan = format!(
        "version = 1\nmachine = \"tiny.toml\"\ntrace = \"bank.trace\"\ncores = 2\nseed = 1\n\
         function = [\n{}{}]\n",
        planned(0, "parse", 1),
        planned(64, HOSTILE, 0)
    );
    std::fs::write(folder.path().join("tiny.toml"), MACHINE).unwrap();
    std::fs::write(folder.path().join("split.toml"), plan).unwrap();
    folder
}

fn planned(offset: u64, symbol: &str, core: u32) -> String {
    format!(
        "{{ module = \"/usr/bin/server\", build_id = \"0a1b\", offset = {offset}, \
         symbol = '''{symbol}''', core = {core}, mode = \"enter\" }},\n"
    )
}

fn record(path: &Path, requests: usize, touches: u64) -> Result<(), Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "parse", CODE)?;
    let mut blocks = Vec::new();
    for (name, offset) in ["parse", HOSTILE, "commit"]
        .into_iter()
        .zip((0..).step_by(64))
    {
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
    // The next request makes the last one complete.
    writer.request(thread)?;
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

/// Eight lines of a function's own, in turn; the last function stores.
fn touch(writer: &mut Writer, thread: ThreadId, place: u64, touches: u64) -> Result<(), Error> {
    let kind = if place == 2 { Kind::Store } else { Kind::Load };
    for access in 0..touches {
        let address = 0x1000_0000 + place * 0x1000_0000 + access % 8 * 64;
        writer.data(thread, 0, kind, 8, address)?;
    }
    Ok(())
}

/// `corehop report split.toml` with these arguments, in this folder.
pub fn report(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.args(["report", "split.toml"]).args(arguments);
    command
        .current_dir(folder.path())
        .output()
        .expect("the command starts")
}

/// The same, which must succeed; what it printed.
pub fn said(folder: &TempDir, arguments: &[&str]) -> String {
    let output = report(folder, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
