//! The trace of walking threads: like a recording of the program, without its stack.

use super::path::Step;
use corehop_traces::{
    CodeBlock, Dependence, Dependent, EndReason, Error, Function, Header, Kind, Module, Source,
    ThreadId, Trace, Writer, WriterOptions,
};

/// Steps per execution; the rest at a path's end has one execution per step.
const STEPS: usize = 16;

/// The register with the position of the next step.
const NEXT: u8 = 0;
const CODE: u64 = 4096;

/// A function that walks once around a path.
#[derive(Clone, Copy, Debug)]
pub struct Phase<'a> {
    /// Number of the function.
    pub function: usize,
    /// The path.
    pub steps: &'a [Step],
    /// Whether a step loads the position of the next one; otherwise all positions are known in
    /// advance.
    pub is_chained: bool,
}

/// Code blocks of a function: its entry; blocks of sixteen and of one dependent step; and the same
/// with independent steps.
struct Blocks {
    entry: u32,
    chained: [u32; 2],
    free: [u32; 2],
}

/// Writes each thread's steps in one request as a trace, and opens it. The function with number `n`
/// is on page `n + 1`.
///
/// # Errors
/// If it cannot be written.
pub fn record(functions: &[&str], threads: &[Vec<Phase<'_>>]) -> Result<Trace, Error> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("synthetic.trace");
    let mut writer = Writer::create(&path, &Header::default(), &WriterOptions::default())?;
    let blocks = define(&mut writer, functions)?;
    let mut stamp = 0;
    for (number, phases) in (0..).zip(threads) {
        let thread = writer.thread(1, number + 1)?;
        stamp += 1;
        writer.stamp(thread, stamp)?;
        writer.request(thread)?;
        for phase in phases {
            walk(&mut writer, thread, &blocks[phase.function], phase)?;
        }
        // A request ends when the next one begins.
        writer.request(thread)?;
        writer.execution(thread, blocks[0].entry)?;
    }
    writer.finish(EndReason::ServerExited)?;
    Trace::open(&path)
}

fn walk(
    writer: &mut Writer,
    thread: ThreadId,
    blocks: &Blocks,
    phase: &Phase<'_>,
) -> Result<(), Error> {
    writer.execution(thread, blocks.entry)?;
    let [many, one] = match phase.is_chained {
        true => blocks.chained,
        false => blocks.free,
    };
    let mut left = phase.steps;
    while !left.is_empty() {
        let (block, count) = match left.len() {
            STEPS.. => (many, STEPS),
            _ => (one, 1),
        };
        writer.execution(thread, block)?;
        let (now, later) = left.split_at(count);
        for (place, step) in (0..).step_by(2).zip(now) {
            writer.data(thread, place, Kind::Load, 4, step.address)?;
            if step.is_written {
                writer.data(thread, place + 1, Kind::Store, 4, step.address)?;
            }
        }
        left = later;
    }
    Ok(())
}

fn define(writer: &mut Writer, functions: &[&str]) -> Result<Vec<Blocks>, Error> {
    let module = writer.module(&Module {
        path: "synthetic".into(),
        build_id: String::new(),
        load_bias: 0,
        start: 0,
        end: CODE * (functions.len() as u64 + 1),
    })?;
    let define = |(start, name): (u64, &&str)| {
        let function = writer.function(&Function {
            module,
            offset: start,
            size_bytes: CODE,
            symbol: (*name).into(),
            name: (*name).into(),
            unpatchable: None,
        })?;
        Ok(Blocks {
            entry: writer.code_block(&CodeBlock::new(start, [2]), Some(function))?,
            chained: [
                writer.code_block(&chained(start + 64, STEPS), None)?,
                writer.code_block(&chained(start + 128, 1), None)?,
            ],
            free: [
                writer.code_block(&steps(start + 192, STEPS), None)?,
                writer.code_block(&steps(start + 256, 1), None)?,
            ],
        })
    };
    (CODE..)
        .step_by(CODE as usize)
        .zip(functions)
        .map(define)
        .collect()
}

/// Returns a block of this many steps, with a load and a store each.
fn steps(start: u64, count: usize) -> CodeBlock {
    CodeBlock::new(start, (0..2 * count).map(|_| 2))
}

/// Returns the same, with each step's address loaded by the previous step.
fn chained(start: u64, count: usize) -> CodeBlock {
    let mut block = steps(start, count);
    let from = |place: u16| match place / 2 {
        0 => Source::Register(NEXT),
        step => Source::Load(2 * (step - 1)),
    };
    let address = |place| Dependence {
        of: Dependent::Address(place),
        from: from(place),
    };
    block.dependences = (0..2 * count as u16).map(address).collect();
    block.dependences.push(Dependence {
        of: Dependent::Register(NEXT),
        from: Source::Load(2 * (count as u16 - 1)),
    });
    block
}
