//! Random streams of several threads, and traces of them.
//!
//! Tests of different ways to read a trace share these, so that each way gets the same special
//! cases.

use corehop_traces::{
    CodeBlock, Dependence, Dependent, EndReason, Function, FunctionId, GENERAL_REGISTERS, Header,
    Kind, Mapping, Module, Page, Pointer, Source, ThreadId, Writer, WriterOptions,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// A thread's next step: one execution, and the events before and after it.
#[derive(Clone, Debug)]
pub struct Step {
    pub thread: usize,
    pub stamped: bool,
    pub request: bool,
    /// The request ends after it.
    pub end: bool,
    pub code_block: usize,
    pub data: Vec<Data>,
    pub flush: bool,
}

/// A load or store of an execution.
#[derive(Clone, Debug)]
pub struct Data {
    pub instruction: u16,
    pub store: bool,
    pub size_bytes: u16,
    pub address: u64,
}

/// Number of threads.
pub const THREADS: usize = 3;

/// Generates dependences of a block with this many instructions: any valid ones, in order, and
/// usually none.
fn dependences(instructions: u16) -> impl Strategy<Value = Vec<Dependence>> {
    let number = (any::<(u8, u16)>(), any::<(u8, u16)>());
    let dependence = number.prop_map(move |((kind, of), (from_kind, from))| {
        let place = of % instructions;
        let register = (of % GENERAL_REGISTERS as u16) as u8;
        let (of, loads) = match kind % 3 {
            0 => (Dependent::Address(place), place),
            1 => (Dependent::Stored(place), place + 1),
            _ => (Dependent::Register(register), instructions),
        };
        let from = match from_kind % 3 {
            0 if loads > 0 => Source::Load(from % loads),
            1 => Source::Register((from % GENERAL_REGISTERS as u16) as u8),
            _ => Source::Nothing,
        };
        Dependence { of, from }
    });
    let some = prop::collection::btree_set(dependence, 0..30);
    let some = some.prop_map(|some| some.into_iter().collect());
    prop_oneof![2 => Just(Vec::new()), 1 => some]
}

/// Generates pointers of a block with this many instructions, in order; usually none.
fn pointers(instructions: u16) -> impl Strategy<Value = Vec<Pointer>> {
    let number = (
        0u8..3,
        any::<u16>(),
        0..GENERAL_REGISTERS as u8,
        -1i64 << 38..1 << 38,
    );
    let pointer = number.prop_map(move |(kind, of, register, distance)| {
        let at_end = (of % GENERAL_REGISTERS as u16) as u8;
        let place = of % instructions;
        match kind {
            0 => (
                (kind, place),
                Pointer::Accessed {
                    instruction: place,
                    register,
                    distance,
                },
            ),
            1 => (
                (kind, at_end.into()),
                Pointer::Held {
                    at_end,
                    register,
                    distance,
                },
            ),
            _ => ((kind, at_end.into()), Pointer::Lost { at_end }),
        }
    });
    let some = prop::collection::vec(pointer, 0..30);
    let some = some.prop_map(|some| {
        let in_order: BTreeMap<(u8, u16), Pointer> = some.into_iter().collect();
        in_order.into_values().collect()
    });
    prop_oneof![2 => Just(Vec::new()), 1 => some]
}

/// Generates code blocks, short or long, near each other or not.
pub fn code_blocks() -> impl Strategy<Value = Vec<CodeBlock>> {
    let start = prop_oneof![0x1000u64..0x1100, 0u64..1 << 47];
    let sizes = prop_oneof![
        prop::collection::vec(1u8..16, 1..20),
        prop::collection::vec(1u8..16, 1..500)
    ];
    let block = (start, sizes).prop_flat_map(|(start, sizes)| {
        let told = (
            dependences(sizes.len() as u16),
            pointers(sizes.len() as u16),
        );
        told.prop_map(move |(dependences, pointers)| CodeBlock {
            dependences,
            pointers,
            ..CodeBlock::new(start, sizes.iter().copied())
        })
    });
    prop::collection::vec(block, 1..6)
}

/// Generates the threads' steps, which must still be fitted to the code blocks.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let address = prop_oneof![
        4 => 0x7fff_0000u64..0x7fff_0100,
        2 => (0u64..40).prop_map(|n| 0x5000 + n * 24),
        1 => any::<u64>(),
    ];
    let size_bytes = prop_oneof![20 => 1u16..70, 1 => 1u16..];
    let data = (any::<u16>(), any::<bool>(), size_bytes, address);
    let data = data.prop_map(|(instruction, store, size_bytes, address)| Data {
        instruction,
        store,
        size_bytes,
        address,
    });
    let data = prop::collection::vec(data, 0..5);
    let often = prop::bool::weighted;
    let step = (
        0..THREADS,
        often(0.3),
        (often(0.1), often(0.05)),
        any::<usize>(),
        data,
        often(0.03),
    );
    let step = step.prop_map(|(thread, stamped, marks, code_block, data, flush)| Step {
        thread,
        stamped,
        request: marks.0,
        end: marks.1,
        code_block,
        data,
        flush,
    });
    let steps = prop::collection::vec(step, 0..200);
    // Some of them are repeated, half of the time directly after themselves.
    let again = (
        any::<prop::sample::Index>(),
        1usize..40,
        1usize..4,
        any::<bool>(),
    );
    let again = prop::collection::vec(again, 0..6);
    (steps, again).prop_map(|(mut steps, again)| {
        if steps.is_empty() {
            return steps;
        }
        for (first, length, times, at_end) in again {
            let first = first.index(steps.len());
            let end = steps.len().min(first + length);
            let copied = std::iter::repeat_n(steps[first..end].to_vec(), times);
            let place = if at_end { steps.len() } else { end };
            steps.splice(place..place, copied.flatten());
        }
        steps
    })
}

/// Returns the process of a thread, if there are several: the last thread has its own.
#[allow(dead_code)] // As `write`.
pub fn process_of(thread: u32) -> u32 {
    1 + u32::from(thread as usize == THREADS - 1)
}

/// Generates mappings of two processes at some of the threads' addresses; none half of the time.
#[allow(dead_code)] // As `write`.
pub fn mappings() -> impl Strategy<Value = Vec<Mapping>> {
    let page = prop_oneof![0u64..8, 0x7_fff0u64..0x7_fff2, 0..1u64 << 35];
    let mapping = (
        1..3u32,
        0u64..150,
        page,
        1u64..4,
        prop::option::of(0..OBJECTS),
        0u64..4,
    );
    let mapping = mapping.prop_map(|(process_id, since, page, pages, object, offset)| Mapping {
        process_id,
        since,
        start: page << 12,
        end: (page + pages).min(1 << 35) << 12,
        object,
        offset: offset << 12,
    });
    prop_oneof![Just(Vec::new()), prop::collection::vec(mapping, 1..12)]
}

/// Generates physical locations of some of the threads' pages, with few distinct frames; none half
/// of the time.
#[allow(dead_code)] // As `write`.
pub fn pages() -> impl Strategy<Value = Vec<Page>> {
    let number = prop_oneof![
        4 => 0u64..8,
        4 => 0x7_fff0u64..0x7_fff2,
        2 => any::<u64>().prop_map(|address| address >> 12),
        1 => Just(u64::MAX >> 12),
    ];
    let since = prop_oneof![Just(0), 0u64..150];
    let page = (1..3u32, since, number, 0u64..4);
    let page = page.prop_map(|(process_id, since, number, frame)| Page {
        process_id: if number >> 51 == 0 { process_id } else { 0 },
        since,
        number,
        frame,
    });
    prop_oneof![Just(Vec::new()), prop::collection::vec(page, 1..40)]
}

/// Number of shared objects, if there are mappings.
const OBJECTS: u32 = 3;

/// Fits the steps to their blocks: indices in range and in order.
pub fn fit(steps: &mut [Step], blocks: &[CodeBlock]) {
    for step in steps {
        step.code_block %= blocks.len();
        let instructions = blocks[step.code_block].instructions.len() as u16;
        for data in &mut step.data {
            data.instruction %= instructions;
        }
        step.data.sort_by_key(|data| data.instruction);
    }
}

/// Returns the function that a code block enters: every second block does.
pub fn entered(code_block: u32) -> Option<FunctionId> {
    let enters = code_block.is_multiple_of(2);
    enters.then_some(FunctionId(code_block / 2))
}

/// Writes the code blocks and the functions that they enter; returns the numbers of the blocks.
fn define(writer: &mut Writer, blocks: &[CodeBlock]) -> Vec<u32> {
    let module = Module {
        path: "/usr/bin/server".into(),
        build_id: String::new(),
        load_bias: 0,
        start: 0,
        end: u64::MAX,
    };
    writer.module(&module).unwrap();
    let function = |offset| Function {
        module: 0,
        offset,
        size_bytes: 1,
        symbol: format!("f{offset}"),
        name: format!("f{offset}"),
        unpatchable: None,
    };
    blocks
        .iter()
        .enumerate()
        .map(|(place, block)| {
            let entered = entered(place as u32);
            if let Some(number) = entered {
                let offset = u64::from(number.0);
                assert_eq!(writer.function(&function(offset)).unwrap(), number);
            }
            writer.code_block(block, entered).unwrap()
        })
        .collect()
}

/// Writes the steps; the time of each is its index.
#[allow(dead_code)] // Not every test that shares this needs it.
pub fn write(path: &Path, blocks: &[CodeBlock], steps: &[Step], executions_per_chunk: usize) {
    write_processes(path, blocks, steps, executions_per_chunk, &[]);
}

/// Like [`write`], of two processes with these mappings; of one, if there are none.
pub fn write_processes(
    path: &Path,
    blocks: &[CodeBlock],
    steps: &[Step],
    executions_per_chunk: usize,
    mappings: &[Mapping],
) {
    write_machine(path, blocks, steps, executions_per_chunk, (mappings, &[]));
}

/// Like [`write_processes`], on a machine with these pages in physical memory.
pub fn write_machine(
    path: &Path,
    blocks: &[CodeBlock],
    steps: &[Step],
    executions_per_chunk: usize,
    (mappings, pages): (&[Mapping], &[Page]),
) {
    let options = WriterOptions {
        compression_level: 1,
        executions_per_chunk,
    };
    let header = Header {
        has_address_spaces: !mappings.is_empty(),
        ..Header::default()
    };
    let mut writer = Writer::create(path, &header, &options).unwrap();
    if !mappings.is_empty() {
        for object in 0..OBJECTS {
            let name = format!("/dev/shm/{object}");
            assert_eq!(writer.shared_object(&name).unwrap(), object);
        }
        writer.mappings(mappings).unwrap();
    }
    writer.pages(pages).unwrap();
    let numbers = define(&mut writer, blocks);
    let mut begun = [false; THREADS];
    for thread in 0..THREADS as u32 {
        let process = match mappings {
            [] => 1,
            _ => process_of(thread),
        };
        let written = writer.thread(process, thread + 1).unwrap();
        assert_eq!(written, ThreadId(thread));
    }
    for (stamp, step) in steps.iter().enumerate() {
        let thread = ThreadId::from_index(step.thread);
        let first = !std::mem::replace(&mut begun[step.thread], true);
        if step.stamped || first {
            writer.stamp(thread, stamp as u64).unwrap();
        }
        if step.request {
            writer.numbered_request(thread, stamp as u64).unwrap();
            writer.connection(thread, stamp as u64 % 3).unwrap();
        }
        writer.execution(thread, numbers[step.code_block]).unwrap();
        for data in &step.data {
            let kind = if data.store { Kind::Store } else { Kind::Load };
            let Data {
                instruction,
                size_bytes,
                address,
                ..
            } = *data;
            writer
                .data(thread, instruction, kind, size_bytes, address)
                .unwrap();
        }
        if stamp % 5 == 0 {
            let result = (stamp % 2 == 0).then_some(3 - stamp as i64);
            writer.system_call(thread, stamp as i32, result).unwrap();
        }
        if step.end {
            writer.end_request(thread).unwrap();
        }
        if step.flush {
            writer.flush().unwrap();
        }
    }
    writer.finish(EndReason::Interrupted).unwrap();
}
