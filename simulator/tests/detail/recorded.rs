//! Small traces of a made-up server, written and opened.

use corehop_plans::{Mode, Plan, PlannedFunction};
use corehop_simulator::detail::Segments;
use corehop_traces::{
    CodeBlock, EndReason, Function, Header, Instruction, Kind, Module, Trace, Writer, WriterOptions,
};
use std::path::Path;

pub const FUNCTIONS: u32 = 4;
const CODE: u64 = 0x10_000;
const BUILD: &str = "0a1b";

/// One execution of the recorded program.
#[derive(Clone, Debug)]
pub struct Step {
    pub thread: u32,
    pub begins_request: bool,
    /// A function's number for its first block, which is its entry; more for its second; beyond
    /// those, code of no function.
    pub block: u32,
    /// Addresses, all of 8 bytes, and whether they are stored to.
    pub data: Vec<(u64, bool)>,
}

/// Blocks beyond those of functions: one in the module, one outside.
pub const BLOCKS: u32 = 2 * FUNCTIONS + 2;

fn header() -> Header {
    Header {
        created_by: "test".into(),
        command: vec!["server".into()],
        request_at: "f0".into(),
        qemu_version: "7.2".into(),
        architecture: "x86_64".into(),
    }
}

fn define(writer: &mut Writer) -> Result<(), corehop_traces::Error> {
    let module = writer.module(&Module {
        path: "/usr/bin/server".into(),
        build_id: BUILD.into(),
        load_bias: CODE,
        start: CODE,
        end: CODE + 4096,
    })?;
    for number in 0..FUNCTIONS {
        writer.function(&Function {
            module,
            offset: u64::from(number) * 128,
            size_bytes: 128,
            symbol: format!("f{number}"),
            name: format!("f{number}()"),
            unpatchable: None,
        })?;
    }
    let entries = (0..FUNCTIONS).map(|f| (u64::from(f) * 128, Some(f)));
    let inner = (0..FUNCTIONS).map(|f| (u64::from(f) * 128 + 64, None));
    for (offset, entered) in entries.chain(inner).chain([(2048, None), (8192, None)]) {
        let start = CODE + offset;
        let instructions = vec![Instruction {
            offset: 0,
            size_bytes: 4,
        }];
        writer.code_block(
            &CodeBlock {
                start,
                instructions,
            },
            entered,
        )?;
    }
    Ok(())
}

/// Writes the steps, each at its own stamp; the last request is cut short.
pub fn record(path: &Path, threads: u32, steps: &[Step]) -> Result<Trace, corehop_traces::Error> {
    let mut writer = Writer::create(path, &header(), &WriterOptions::default())?;
    define(&mut writer)?;
    for thread in 0..threads {
        writer.thread(1, thread)?;
    }
    for (stamp, step) in (1..).zip(steps) {
        writer.stamp(step.thread, stamp)?;
        if step.begins_request {
            writer.request(step.thread)?;
        }
        writer.execution(step.thread, step.block)?;
        for &(address, store) in &step.data {
            let kind = if store { Kind::Store } else { Kind::Load };
            writer.data(step.thread, 0, kind, 8, address)?;
        }
    }
    writer.finish(EndReason::Interrupted)?;
    Trace::open(path)
}

/// A segment for each of these functions, planned so.
pub fn segments(trace: &Trace, functions: &[u32], mode: Mode) -> Segments {
    let planned = functions.iter().map(|&function| PlannedFunction {
        module: "/usr/bin/server".into(),
        build_id: BUILD.into(),
        offset: u64::from(function) * 128,
        symbol: format!("f{function}"),
        core: 0,
        mode,
    });
    let plan = Plan {
        version: corehop_plans::VERSION,
        machine: "tiny".into(),
        trace: "server.trace".into(),
        cores: 1,
        seed: 1,
        expected: None,
        functions: planned.collect(),
    };
    Segments::from_plan(&plan, trace.modules(), trace.functions()).unwrap()
}
