//! Converts the accesses that Valgrind's lackey prints to a trace, with one code block for each
//! instruction.

use corehop_traces::{CodeBlock, EndReason, Error, Header, Kind, Module, Writer, WriterOptions};
use std::collections::HashMap;
use std::path::Path;

/// Writes lackey's output for a program that is this module. `M`, an instruction that changes a
/// value in memory, makes a load and a store, which cannot miss. Alternatively it makes only the
/// load, as in cachegrind's counts.
pub fn write(
    text: &str,
    path: &Path,
    module: Option<&Module>,
    changes: &[Kind],
) -> Result<(), Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    if let Some(module) = module {
        writer.module(module)?;
    }
    let thread = writer.thread(1, 1)?;
    writer.stamp(thread, 1)?;
    let mut blocks = HashMap::new();
    for line in text.lines() {
        let Some((kind, place)) = line.split_at_checked(3) else {
            continue;
        };
        let Some((address, size)) = place.split_once(',') else {
            continue;
        };
        let (Ok(address), Ok(size_bytes)) = (u64::from_str_radix(address, 16), size.parse()) else {
            continue;
        };
        let mut data = |kind| writer.data(thread, 0, kind, size_bytes, address);
        match kind {
            "I  " => {
                let block = match blocks.get(&(address, size_bytes)) {
                    Some(&block) => block,
                    None => {
                        let block = CodeBlock::new(address, [size_bytes as u8]);
                        let block = writer.code_block(&block, None)?;
                        blocks.insert((address, size_bytes), block);
                        block
                    }
                };
                writer.execution(thread, block)?;
            }
            " L " => data(Kind::Load)?,
            " S " => data(Kind::Store)?,
            " M " => changes.iter().try_for_each(|&kind| data(kind))?,
            _ => {}
        }
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}
