//! A made-up program whose two threads enter the kernel frequently, written as a trace.
//!
//! Both modes access the same few lines, so that each takes lines over from the other.

use crate::definitions;
use corehop_second_oracle::random::Random;
use corehop_traces::{CodeBlock, EndReason, Function, FunctionId, Kind, Module, WriterOptions};
use std::path::{Path, PathBuf};

const CODE: u64 = 0x40_0000;
const KERNEL: u64 = 0xffff_ffff_8100_0000;
const FUNCTIONS: u32 = 8;
const EXECUTIONS: u64 = 4000;

/// Writes the trace into a folder, and returns its path.
pub fn write(folder: &Path, random: &mut Random) -> Result<PathBuf, corehop_traces::Error> {
    let path = folder.join("mixed.trace");
    let (mut writer, module) = definitions::begin(&path, &WriterOptions::default(), "f0", CODE)?;
    definitions::functions(&mut writer, (module, CODE), FUNCTIONS)?;
    let kernel = writer.module(&Module {
        path: "[kernel]".into(),
        build_id: String::new(),
        load_bias: 0,
        start: KERNEL,
        end: KERNEL + 4096,
    })?;
    for number in 0..FUNCTIONS {
        let start = KERNEL + u64::from(number) * 64;
        writer.function(&Function {
            module: kernel,
            offset: start,
            size_bytes: 4,
            symbol: format!("k{number}"),
            name: format!("k{number}"),
            unpatchable: Some("it is the kernel's".into()),
        })?;
        let entered = Some(FunctionId(FUNCTIONS + number));
        writer.code_block(&CodeBlock::new(start, [4]), entered)?;
    }
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    for stamp in 1..=EXECUTIONS {
        let thread = threads[random.below(2)];
        writer.stamp(thread, stamp)?;
        writer.execution(thread, random.below(2 * FUNCTIONS as usize) as u32)?;
        for _ in 0..random.below(4) {
            let kind = [Kind::Load, Kind::Store][random.below(2)];
            let half = [0x9000, KERNEL + 0x9000][random.below(2)];
            let address = half + random.below(20) as u64 * 64;
            // Four bytes each, so that none looks like a return address.
            writer.data(thread, 0, kind, 4, address)?;
        }
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(path)
}
