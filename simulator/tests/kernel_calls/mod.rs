//! Small programs whose system calls reference some lines of a kernel, and the references of each
//! call.

use corehop_traces::{
    CodeBlock, EndReason, Error, Function, Header, Kind, Module, Trace, Writer, WriterOptions,
};
use std::collections::BTreeMap;
use std::path::Path;

/// A step of one of two threads: an execution of the only code block, with loads of these lines,
/// followed by the system calls of these numbers.
pub type Step = (usize, Vec<u64>, Vec<i32>);

/// Address of the code block.
pub const CODE: u64 = 0x40_0000;

/// The calls that programs make, each with its number of lines of code and of data.
pub const CALLS: [(i32, &str, [u64; 2]); 5] = [
    (0, "read", [3, 40]),
    (4, "stat", [5, 7]),
    (17, "pread64", [1, 300]),
    (18, "pwrite64", [12, 90]),
    (257, "openat", [2, 2]),
];

const KERNEL: u64 = 0xffff_9000_0000_0000;
const DATA: u64 = 0xffff_a000_0000_0000;
/// Distance between the lines of one call and those of the next.
const APART: u64 = 0x1_0000 + 0x140;

/// Returns the references of the call at this index in [`CALLS`]: fetched lines, each with the
/// lines loaded after it.
fn by_fetch(place: usize) -> Vec<(u64, Vec<u64>)> {
    let [code, data] = CALLS[place].2;
    let first = |base: u64| (base + place as u64 * APART) / 64;
    (0..code)
        .map(|line| {
            let loads = (0..data).filter(|load| load % code == line);
            let loads = loads.map(|load| first(DATA) + load);
            (first(KERNEL) + line, loads.collect())
        })
        .collect()
}

/// Returns the references of a call of this number, in order.
pub fn references(call: i32) -> Vec<(Kind, u64)> {
    let place = CALLS.iter().position(|(number, ..)| *number == call);
    let fetches = by_fetch(place.unwrap()).into_iter();
    fetches
        .flat_map(|(line, loads)| {
            let loads = loads.into_iter().map(|load| (Kind::Load, load));
            [(Kind::Fetch, line)].into_iter().chain(loads)
        })
        .collect()
}

/// A trace of the steps, in which the kernel runs after each call.
pub fn record(steps: &[Step]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.trace");
    write(steps, &path).unwrap();
    Trace::open(&path).unwrap()
}

/// For each call number: its code blocks, and what each loads.
type Handlers = BTreeMap<i32, Vec<(u32, Vec<u64>)>>;

fn define(writer: &mut Writer) -> Result<Handlers, Error> {
    let module = writer.module(&Module {
        path: "[kernel, modelled]".into(),
        build_id: String::new(),
        load_bias: 0,
        start: KERNEL,
        end: DATA,
    })?;
    let mut handlers = Handlers::new();
    for (place, (number, name, [code, _])) in CALLS.into_iter().enumerate() {
        let fetches = by_fetch(place);
        let entered = writer.function(&Function {
            module,
            offset: fetches[0].0 * 64,
            size_bytes: code * 64,
            symbol: format!("modelled_{name}"),
            name: name.into(),
            unpatchable: Some("nobody enters it".into()),
        })?;
        let mut blocks = Vec::new();
        for (line, loads) in fetches {
            let entered = blocks.is_empty().then_some(entered);
            let block = writer.code_block(&CodeBlock::new(line * 64, [4; 16]), entered)?;
            blocks.push((block, loads));
        }
        handlers.insert(number, blocks);
    }
    Ok(handlers)
}

fn write(steps: &[Step], path: &Path) -> Result<(), Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    let block = writer.code_block(&CodeBlock::new(CODE, [4]), None)?;
    let handlers = define(&mut writer)?;
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    for ((thread, lines, calls), stamp) in steps.iter().zip(1..) {
        let thread = threads[*thread];
        writer.stamp(thread, stamp)?;
        writer.execution(thread, block)?;
        for line in lines {
            writer.data(thread, 0, Kind::Load, 8, line * 64)?;
        }
        for call in calls {
            writer.system_call(thread, *call, Some(0))?;
            for (block, loads) in &handlers[call] {
                writer.execution(thread, *block)?;
                for line in loads {
                    writer.data(thread, 0, Kind::Load, 8, line * 64)?;
                }
            }
        }
    }
    writer.finish(EndReason::ServerExited)?;
    Ok(())
}
