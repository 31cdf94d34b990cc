//! Generates messages that a plugin can send.

use corehop_wire::ring::{HeapChange, LastingCall, Message, Object};
use proptest::prelude::*;

pub fn messages() -> impl Strategy<Value = Message> {
    let sizes = proptest::collection::vec(1..16u8, 1..513);
    let accesses = proptest::collection::vec(any::<u64>(), 0..1025);
    prop_oneof![
        (any::<[u32; 2]>(), any::<u64>(), sizes, accesses).prop_map(
            |([code_block, process], start, instruction_sizes, accesses)| Message::Block {
                code_block,
                process,
                start,
                code: code_of(&instruction_sizes),
                instruction_sizes,
                accesses,
            }
        ),
        (any::<u32>(), any::<[u64; 3]>(), ".{0,100}").prop_map(
            |(process, [start, end, file_offset], path)| Message::Mapping {
                process,
                start,
                end,
                file_offset,
                path
            }
        ),
        (
            any::<u32>(),
            any::<[u64; 3]>(),
            proptest::option::of(object())
        )
            .prop_map(|(process, [since, start, end], object)| Message::Memory {
                process,
                since,
                start,
                end,
                object
            }),
        (any::<u32>(), any::<[u64; 3]>()).prop_map(|(process, [since, number, frame])| {
            Message::Page {
                process,
                since,
                number,
                frame,
            }
        }),
        any::<u64>().prop_map(Message::Handler),
        (any::<u32>(), any::<i32>(), any::<[u64; 2]>()).prop_map(|(process, number, arguments)| {
            Message::LastingCall(LastingCall {
                process,
                number,
                arguments,
            })
        }),
        (any::<u32>(), any::<[u64; 4]>(), ".{0,100}").prop_map(
            |(process, [since, address, size_bytes, site], allocator)| {
                Message::Heap(HeapChange {
                    process,
                    since,
                    address,
                    size_bytes,
                    site,
                    allocator,
                })
            }
        ),
        ".{0,100}".prop_map(Message::Program),
        ".{0,100}".prop_map(Message::Trouble),
    ]
}

/// Returns as many bytes of code as instructions with these lengths have.
fn code_of(instruction_sizes: &[u8]) -> Vec<u8> {
    let size = instruction_sizes.iter().map(|&size| u32::from(size)).sum();
    (0..size).map(|place| (place * 37 + 1) as u8).collect()
}

fn object() -> impl Strategy<Value = Object> {
    (any::<[u64; 2]>(), any::<u64>(), ".{0,100}").prop_map(|(identity, offset, name)| Object {
        identity,
        offset,
        name,
    })
}
