//! Small programs whose system calls reference the lines of Soares's table, and a second
//! implementation of the rules of `research/kernel-model.md`.

use corehop_lab::kernel_model::{soares, write};
use corehop_traces::{CodeBlock, EndReason, Header, Kind, Trace, UNWATCHED, Writer, WriterOptions};
use std::path::Path;

/// A step of one of two threads: an execution of the only code block, with loads of these lines,
/// followed by the system calls of these numbers.
pub type Step = (usize, Vec<u64>, Vec<i32>);

/// Address of the code block.
pub const CODE: u64 = 0x40_0000;

fn record(steps: &[Step], path: &Path) -> Result<Trace, corehop_traces::Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    let block = writer.code_block(&CodeBlock::new(CODE, [4]), None)?;
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    for ((thread, lines, calls), stamp) in steps.iter().zip(1..) {
        let thread = threads[*thread];
        writer.stamp(thread, stamp)?;
        writer.execution(thread, block)?;
        for line in lines {
            writer.data(thread, 0, Kind::Load, 8, line * 64)?;
        }
        for &call in calls {
            writer.system_call(thread, call, Some(0))?;
        }
    }
    writer.finish(EndReason::ServerExited)?;
    Trace::open(path)
}

/// Returns a trace of them, with the kernel of Soares's table.
pub fn modelled(steps: &[Step]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let [user, both] = ["user.trace", "both.trace"].map(|name| folder.path().join(name));
    let trace = record(steps, &user).unwrap();
    let model = (soares::NAME, &soares::footprint as &dyn Fn(i32) -> _);
    write(&trace, model, &both, UNWATCHED).unwrap().unwrap();
    Trace::open(&both).unwrap()
}

/// Returns the lines of the L1I, of the L1D and of the L2 that a call of this number loses, for the
/// tested calls.
pub fn row(call: i32) -> Option<[u64; 3]> {
    match call {
        0 | 17 => Some([32, 294, 679]),
        4 => Some([32, 186, 660]),
        18 => Some([50, 373, 985]),
        257 => Some([24, 120, 450]),
        _ => None,
    }
}

/// Returns a call's references by the rules.
pub fn naive_references(call: u64, [code, data, all]: [u64; 3]) -> Vec<(Kind, u64)> {
    let first_code = (0xffff_9000_0000_0000 + (call << 20)) / 64;
    let first_data = (0xffff_a000_0000_0000 + (call << 20)) / 64;
    let first_set = call * 8 % 64;
    let mut loads = Vec::new();
    for line in 0..data {
        let (set, way) = ((first_set + line / 8) % 64, line % 8);
        loads.push(first_data + way * 64 + set);
    }
    let full_sets = data / 8;
    let (mut set, mut way) = (0, 8);
    while (loads.len() as u64) < all - code {
        loads.push(first_data + way * 64 + (first_set + set) % 64);
        set += 1;
        if set == full_sets {
            (set, way) = (0, way + 1);
        }
    }
    let mut references = Vec::new();
    let mut loaded = 0;
    for line in 0..code {
        references.push((Kind::Fetch, first_code + first_set + line));
        let until = (line + 1) * loads.len() as u64 / code;
        while loaded < until {
            references.push((Kind::Load, loads[loaded as usize]));
            loaded += 1;
        }
    }
    references
}
