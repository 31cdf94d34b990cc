//! Small traces of a made-up server, written and opened.

use crate::steps::{Step, perform};
use corehop_plans::{Destination, Mode, Plan, PlannedFunction};
use corehop_simulator::detail::Segments;
use corehop_traces::{
    CodeBlock, Function, FunctionId, Header, Module, Trace, Writer, WriterOptions,
};
use std::path::Path;

pub const FUNCTIONS: u32 = 4;
const CODE: u64 = 0x10_000;
const BUILD: &str = "0a1b";

/// A function's number is that of its first block, its entry; more is its second; beyond those is
/// code of no function: one block in the module, one outside.
pub const BLOCKS: u32 = 2 * FUNCTIONS + 2;

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
    let entries = (0..FUNCTIONS).map(|f| (u64::from(f) * 128, Some(FunctionId(f))));
    let inner = (0..FUNCTIONS).map(|f| (u64::from(f) * 128 + 64, None));
    for (offset, entered) in entries.chain(inner).chain([(2048, None), (8192, None)]) {
        writer.code_block(&CodeBlock::new(CODE + offset, [4]), entered)?;
    }
    Ok(())
}

/// Writes the steps, each at its own stamp; the last request is cut short.
pub fn record(path: &Path, threads: u32, steps: &[Step]) -> Result<Trace, corehop_traces::Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    define(&mut writer)?;
    perform(writer, &vec![1; threads as usize], steps, &[])?;
    Trace::open(path)
}

/// A segment for each of these functions, planned so.
pub fn segments(trace: &Trace, functions: &[u32], mode: Mode) -> Segments {
    let planned = functions.iter().map(|&function| PlannedFunction {
        module: "/usr/bin/server".into(),
        build_id: BUILD.into(),
        offset: u64::from(function) * 128,
        symbol: format!("f{function}"),
        to: Destination::Core(0),
        mode,
    });
    let plan = Plan {
        version: corehop_plans::VERSION,
        machine: "tiny".into(),
        trace: "server.trace".into(),
        cores: 1,
        seed: 1,
        request: None,
        expected: None,
        functions: planned.collect(),
    };
    Segments::from_plan(&plan, trace.modules(), trace.functions()).unwrap()
}
