//! Small traces of a synthetic server, written and opened.

use crate::steps::{Step, perform};
use corehop_plan::{Destination, Mode, Plan, PlannedFunction};
use corehop_simulator::detail::Segments;
use corehop_traces::{
    CodeBlock, Function, FunctionId, Header, Module, Trace, Writer, WriterOptions,
};
use std::path::Path;

pub const FUNCTIONS: u32 = 4;
const CODE: u64 = 0x10_000;
const BUILD: &str = "0a1b";

/// A function's number is that of its first block, its entry; that number plus `FUNCTIONS` is its
/// second block. The last two blocks belong to no function: one in the module, one outside.
pub const BLOCKS: u32 = 2 * FUNCTIONS + 2;

/// Blocks of kernel code, after all others.
pub const KERNEL_BLOCKS: std::ops::Range<u32> = BLOCKS..BLOCKS + 6;
/// The functions of all but the last.
const KERNELS: [&str; 5] = [
    "entry_SYSCALL_64",
    "__x64_sys_read",
    "asm_exc_page_fault",
    "native_irq_return_iret",
    "asm_common_interrupt",
];
/// Address of the first kernel block.
pub const KERNEL: u64 = 0xffff_ffff_8100_0000;

/// Returns the address of a block.
pub fn address_of(block: u32) -> u64 {
    let number = u64::from(block);
    match block {
        _ if block < FUNCTIONS => CODE + number * 128,
        _ if block < 2 * FUNCTIONS => CODE + (number - u64::from(FUNCTIONS)) * 128 + 64,
        _ if block == 2 * FUNCTIONS => CODE + 2048,
        _ if block < BLOCKS => CODE + 8192,
        _ => KERNEL + (number - u64::from(BLOCKS)) * 64,
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
    let kernel = writer.module(&Module {
        path: "[kernel]".into(),
        build_id: String::new(),
        load_bias: KERNEL,
        start: KERNEL,
        end: KERNEL + 4096,
    })?;
    for (place, name) in (0..).zip(KERNELS) {
        writer.function(&Function {
            module: kernel,
            offset: place * 64,
            size_bytes: 64,
            symbol: name.into(),
            name: name.into(),
            unpatchable: None,
        })?;
    }
    for block in 0..KERNEL_BLOCKS.end {
        let kernels = block.checked_sub(BLOCKS).map(|place| place + FUNCTIONS);
        let function = kernels.unwrap_or(block);
        let is_entered = function < FUNCTIONS || kernels.is_some();
        let is_known = function < FUNCTIONS + KERNELS.len() as u32;
        let entered = (is_entered && is_known).then_some(FunctionId(function));
        writer.code_block(&CodeBlock::new(address_of(block), [4]), entered)?;
    }
    Ok(())
}

/// Writes the steps, each at a different stamp; the last request is truncated.
pub fn record(path: &Path, threads: u32, steps: &[Step]) -> Result<Trace, corehop_traces::Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    define(&mut writer)?;
    perform(writer, &vec![1; threads as usize], steps, &[])?;
    Trace::open(path)
}

/// Returns a segment for each of these functions, planned with this mode.
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
        version: corehop_plan::VERSION,
        machine: "tiny".into(),
        trace: "server.trace".into(),
        cores: 1,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: planned.collect(),
    };
    Segments::from_plan(&plan, trace.modules(), trace.functions()).unwrap()
}
