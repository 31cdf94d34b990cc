//! Random programs of a few functions on two threads, recorded as traces. One function and some of
//! the data are in the kernel's half of addresses.

#![allow(dead_code)] // Each test uses its part.

use crate::definitions;
use crate::steps::{Step, perform, steps_of};
use corehop_traces::{Mapping, Page, Pointer, WriterOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

/// Number of functions. Each has one code block with one instruction on a separate line.
pub const FUNCTIONS: u32 = 6;
/// Functions before this one have instructions of one byte.
pub const FIRST_LONG: u32 = 3;
const CODE: u64 = 0x10_000;
pub const KERNEL: u64 = 0xffff_8880_0000_0000;

pub fn programs() -> impl Strategy<Value = Vec<Step>> {
    // A few addresses serve for pushing and loading return addresses, among other accesses.
    let address = prop_oneof![
        4 => 0u64..1200,
        4 => 0u64..9000,
        4 => (0u64..5).prop_map(|n| 4000 + n * 8),
        1 => (0u64..9000).prop_map(|n| KERNEL + n),
    ];
    let data = vec((address, any::<bool>()), 0..4);
    vec(steps_of(0u32..2, 0.2, 0..FUNCTIONS, data), 1..80)
}

pub fn code_address(function: u32) -> u64 {
    code_of(function) + u64::from(function) * 64
}

/// Returns the code address of a function; the last function is in the kernel.
fn code_of(function: u32) -> u64 {
    if function + 1 == FUNCTIONS {
        KERNEL
    } else {
        CODE
    }
}

/// Mappings of both threads' data and code if they belong to processes 1 and 2. In half of the
/// cases there are no mappings, which means one process.
pub fn mappings() -> impl Strategy<Value = Vec<Mapping>> {
    let page = prop_oneof![3 => 0..3u64, 1 => Just(CODE / PAGE)];
    let mapping = (
        1..3u32,
        0..80u64,
        page,
        1..3u64,
        prop::option::of(0..OBJECTS),
        0..4u64,
    );
    let mapping = mapping.prop_map(|(process_id, since, page, pages, object, offset)| Mapping {
        process_id,
        since,
        start: page * PAGE,
        end: (page + pages) * PAGE,
        object,
        offset: offset * PAGE,
    });
    prop_oneof![Just(Vec::new()), vec(mapping, 1..8)]
}

/// Physical pages of the two processes and of the kernel. A few are shared by several pages, and
/// some move. In half of the cases there are none.
pub fn pages() -> impl Strategy<Value = Vec<Page>> {
    let of_kernel = (0..3u64).prop_map(|n| KERNEL / PAGE + n);
    let number = prop_oneof![3 => 0..3u64, 1 => Just(CODE / PAGE), 2 => of_kernel];
    let since = prop_oneof![Just(0), 0..80u64];
    let page =
        (1..3u32, since, number, 0..6u64).prop_map(|(process_id, since, number, frame)| Page {
            process_id,
            since,
            number,
            frame,
        });
    prop_oneof![Just(Vec::new()), vec(page, 1..16)]
}

const PAGE: u64 = 4096;
const OBJECTS: u32 = 2;

/// How the code block of a function uses register contents. The first two access memory relative to
/// argument 1, at distances that make addresses of these programs an object or nearly one. The
/// third passes the argument on, the fourth accesses memory by the passed value, and the fifth
/// overwrites it.
fn pointers_of(function: u32) -> Vec<Pointer> {
    let accessed = |register, distance| Pointer::Accessed {
        instruction: 0,
        register,
        distance,
    };
    let (lost, handed_on) = (Pointer::Lost { at_end: RBX }, |distance| Pointer::Held {
        at_end: RBX,
        register: RDI,
        distance,
    });
    match function {
        0 => vec![accessed(RDI, DISTANCES[0])],
        1 => vec![accessed(RDI, DISTANCES[1]), lost],
        2 => vec![handed_on(DISTANCES[2]), Pointer::Lost { at_end: RDI }],
        3 => vec![accessed(RBX, 0)],
        4 => vec![Pointer::Lost { at_end: RDI }],
        _ => Vec::new(),
    }
}

const RBX: u8 = 3;
const RDI: u8 = 7;
/// Distances from argument 1 of the accesses of the first two functions, and of the value that the
/// third passes on.
pub const DISTANCES: [i64; 3] = [-0x2_0000, -0xf000, -0x1_0000];

/// Writes the steps as a trace, each at a different stamp, with requests of these numbers.
pub fn record(
    steps: &[Step],
    numbers: &[u64],
    executions_per_chunk: usize,
    path: &Path,
) -> Result<(), corehop_traces::Error> {
    record_processes(steps, numbers, (&[], &[]), executions_per_chunk, path)
}

/// Does the same for two processes if there are mappings, and on a machine if there are pages.
pub fn record_processes(
    steps: &[Step],
    numbers: &[u64],
    (mappings, pages): (&[Mapping], &[Page]),
    executions_per_chunk: usize,
    path: &Path,
) -> Result<(), corehop_traces::Error> {
    let options = WriterOptions {
        executions_per_chunk,
        ..WriterOptions::default()
    };
    let (mut writer, module) = definitions::begin(path, &options, "f0", CODE)?;
    for number in 0..FUNCTIONS {
        let function = (&*format!("f{number}"), u64::from(number) * 64);
        let at = (module, code_of(number));
        let size_bytes = if number < FIRST_LONG { 1 } else { 4 };
        let told = (None, size_bytes, pointers_of(number));
        definitions::function_with(&mut writer, at, function, told)?;
    }
    writer.pages(pages)?;
    if mappings.is_empty() {
        return perform(writer, &[1, 1], steps, numbers);
    }
    for object in 0..OBJECTS {
        writer.shared_object(&format!("object {object}"))?;
    }
    writer.mappings(mappings)?;
    perform(writer, &[1, 2], steps, numbers)
}

/// Returns the request of each step; requests are numbered in the order in which they begin.
pub fn requests_of(steps: &[Step]) -> Vec<Option<u32>> {
    let (mut begun, mut current) = (0, [None; 2]);
    let of_step = |step: &Step| {
        let current = &mut current[step.thread as usize];
        if step.begins_request {
            *current = Some(begun);
            begun += 1;
        }
        *current
    };
    steps.iter().map(of_step).collect()
}
