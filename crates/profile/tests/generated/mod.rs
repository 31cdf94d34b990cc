//! Random programs of a few functions and threads, recorded as traces of a file that is nowhere.

use corehop_traces::{
    AllocatedObject, CodeBlock, EndReason, Function, FunctionId, Header, HeapEvent, Kind, Module,
    ThreadId, Trace, Writer, WriterOptions,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

/// One execution of a code block.
#[derive(Clone, Debug)]
pub struct Step {
    pub thread: u32,
    pub begins_request: bool,
    pub block: u32,
    /// Which of the block's instructions access which addresses, whether they store, and how many
    /// bytes.
    pub data: Vec<(u16, u64, bool, u16)>,
}

pub const THREADS: u32 = 4;

pub const FILE: &str = "/nowhere/server";
pub const CODE: u64 = 0x40_0000;
/// The code of a function, whose first block is its entry. Its second block spans two lines.
pub const FUNCTION_BYTES: u64 = 128;
pub const FUNCTIONS: u32 = 3;
/// Beyond the functions' blocks: one of the module, one outside, one in the kernel.
pub const BLOCKS: u32 = 2 * FUNCTIONS + 3;
/// The last instruction of each block. Before an entry, it is a call if it stores.
pub const LAST: u16 = 2;
/// Bytes of a return address.
const WORD: u16 = 8;
pub const KERNEL: u64 = 0xffff_8880_0000_0000;
/// Areas far from each other, of three pages each: what one is called depends on no other.
pub const AREAS: [u64; 3] = [0x1000_0000, 0x2000_0000, KERNEL];
/// Pages that may be stacks.
pub const STACKS: [u64; 2] = [0x7000_0000, 0x7800_0000];

/// Where a block begins.
pub fn address_of(block: u32) -> u64 {
    let function = u64::from(block / 2) * FUNCTION_BYTES;
    match block {
        _ if block >= 2 * FUNCTIONS + 2 => KERNEL + 0x10_0000,
        _ if block == 2 * FUNCTIONS + 1 => 0x900_0000,
        _ if block == 2 * FUNCTIONS => CODE + 0x800,
        _ if block.is_multiple_of(2) => CODE + function,
        _ => CODE + function + 58,
    }
}

/// Which function a block enters.
pub fn entered_by(block: u32) -> Option<u32> {
    (block < 2 * FUNCTIONS && block.is_multiple_of(2)).then_some(block / 2)
}

/// Programs, of which some accesses span two lines or two pages.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let area = (0..AREAS.len(), 0u64..0x2000).prop_map(|(area, place)| AREAS[area] + place);
    let near = (0..AREAS.len(), 0u64..12).prop_map(|(area, line)| AREAS[area] + line * 64);
    let stack = (0..STACKS.len(), 0u64..30).prop_map(|(of, line)| STACKS[of] + line * 64);
    programs(prop_oneof![2 => area, 4 => near, 1 => stack])
}

/// Allocators by number.
pub const ALLOCATORS: [&str; 2] = ["malloc", "operator new"];

/// Events of a small heap in the first area: objects of a few bytes up to several lines, many of
/// which overlap, and some of which were made by the same place.
pub fn heap_events() -> impl Strategy<Value = Vec<HeapEvent>> {
    let sites = [0x41, 0x95, 0x96, 0x801, 0x9_0000_0000].map(|distance| CODE + distance);
    let object = (
        0..ALLOCATORS.len() as u16,
        prop::sample::select(sites.to_vec()),
    );
    let object = object.prop_map(|(allocator, site)| AllocatedObject { allocator, site });
    let object = prop::option::weighted(0.7, object);
    let start = prop_oneof![3 => (0u64..50).prop_map(|place| place * 16), 1 => 0u64..0x300];
    let size = prop_oneof![1 => Just(0u64), 4 => 1u64..40, 3 => 40u64..300];
    let event = (0u64..150, start, size, object);
    let event = event.prop_map(|(since, start, size_bytes, object)| HeapEvent {
        process_id: 1,
        since,
        address: AREAS[0] + start,
        size_bytes,
        object,
    });
    vec(event, 1..60)
}

/// Programs whose threads use a few lines, in parts.
pub fn steps_of_few_lines() -> impl Strategy<Value = Vec<Step>> {
    let word = (0..AREAS.len(), 0u64..24).prop_map(|(area, word)| AREAS[area] + word * 8);
    let byte = (0..AREAS.len(), 0u64..200).prop_map(|(area, byte)| AREAS[area] + byte);
    programs(prop_oneof![3 => word, 1 => byte])
}

/// Programs that mostly use the memory of [`heap_events`].
pub fn steps_of_a_heap() -> impl Strategy<Value = Vec<Step>> {
    let byte = (0u64..0x420).prop_map(|byte| AREAS[0] + byte);
    let other = (0..AREAS.len(), 0u64..0x2000).prop_map(|(area, place)| AREAS[area] + place);
    programs(prop_oneof![6 => byte, 1 => other])
}

/// Programs that access such addresses.
fn programs(address: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<Step>> {
    let stack = (0..STACKS.len(), 0u64..30).prop_map(|(of, line)| STACKS[of] + line * 64);
    let size = prop_oneof![2 => Just(8u16), 1 => 1u16..=16, 1 => 60u16..140];
    let other = (0..LAST, address, any::<bool>(), size);
    let last = (stack, any::<bool>()).prop_map(|(address, store)| (LAST, address, store, WORD));
    let last = prop::option::weighted(0.4, last);
    let data = (vec(other, 0..4), last).prop_map(|(mut data, last)| {
        data.extend(last);
        data.sort_by_key(|&(instruction, ..)| instruction);
        data
    });
    let step = (0..THREADS, prop::bool::weighted(0.2), 0..BLOCKS, data);
    let step = step.prop_map(|(thread, begins_request, block, data)| Step {
        thread,
        begins_request,
        block,
        data,
    });
    vec(step, 1..150)
}

/// Writes the steps, each at its own stamp, and opens the trace.
pub fn record(path: &Path, steps: &[Step]) -> Result<Trace, corehop_traces::Error> {
    record_with_heap(path, steps, &[])
}

/// The same with these heap events.
pub fn record_with_heap(
    path: &Path,
    steps: &[Step],
    events: &[HeapEvent],
) -> Result<Trace, corehop_traces::Error> {
    let header = Header {
        command: vec!["server".into()],
        ..Header::default()
    };
    let mut writer = Writer::create(path, &header, &WriterOptions::default())?;
    let module = writer.module(&Module {
        path: FILE.into(),
        build_id: "0a1b".into(),
        load_bias: CODE,
        start: CODE,
        end: CODE + 0x1000,
    })?;
    for function in 0..FUNCTIONS {
        let offset = u64::from(function) * FUNCTION_BYTES;
        // The first one's file has lost its symbol.
        let symbol = match function {
            0 => format!("fn_{offset:x}"),
            _ => format!("f{function}"),
        };
        writer.function(&Function {
            module,
            offset,
            size_bytes: FUNCTION_BYTES,
            name: symbol.clone(),
            symbol,
            unpatchable: None,
        })?;
    }
    for block in 0..BLOCKS {
        let code = CodeBlock::new(address_of(block), [4, 4, 4]);
        writer.code_block(&code, entered_by(block).map(FunctionId))?;
    }
    for thread in 0..THREADS {
        writer.thread(1, 100 + thread)?;
    }
    for name in ALLOCATORS {
        writer.allocator(name)?;
    }
    for &event in events {
        writer.heap_event(event)?;
    }
    for (stamp, step) in (1..).zip(steps) {
        let thread = ThreadId(step.thread);
        writer.stamp(thread, stamp)?;
        if step.begins_request {
            writer.request(thread)?;
        }
        writer.execution(thread, step.block)?;
        for &(instruction, address, store, size_bytes) in &step.data {
            let kind = if store { Kind::Store } else { Kind::Load };
            writer.data(thread, instruction, kind, size_bytes, address)?;
        }
    }
    writer.finish(EndReason::Interrupted)?;
    Trace::open(path)
}
