//! Reads the columns of the example's trace directly from its file, by the schema of the format.

use crate::trace_capnp::{column, entry};
use capnp::message::ReaderOptions;

/// The parts of the file that the page shows.
#[derive(Default)]
pub struct Columns {
    /// The access template, as in the schema's `Shapes`.
    pub template: String,
    /// The position of the match.
    pub matches: String,
    /// The rest of the chunk, as in the schema's `Block`.
    pub chunk: String,
}

/// Reads the entries of a trace with one chunk.
pub fn columns(mut file: &[u8]) -> Columns {
    let mut found = Columns::default();
    while !file.is_empty() {
        let message = capnp::serialize::read_message(&mut file, ReaderOptions::new());
        let message = message.expect("an entry");
        let root = message
            .get_root::<entry::Reader<'_>>()
            .expect("an entry's root");
        match root.which().expect("a kind that is known") {
            entry::Shapes(shapes) => {
                let shapes = shapes.expect("shapes");
                let accesses = numbers(shapes.get_accesses(), 4);
                let shown = accesses.iter().map(|access| {
                    let store = if access >> 16 & 1 == 1 {
                        "store"
                    } else {
                        "load"
                    };
                    let instruction = access >> 17;
                    let bytes = access & 0xffff;
                    format!("{access:#010x}  instruction {instruction} {store} {bytes} bytes\n")
                });
                found.template = shown.collect();
            }
            entry::Block(block) => {
                let block = block.expect("a chunk");
                found.matches = format!(
                    "executions      {}\nrepeatsAfter    {:?}\nrepeatLengths   {:?}\n\
                     repeatDistances {:?}\n",
                    block.get_executions(),
                    numbers(block.get_repeats_after(), 4),
                    numbers(block.get_repeat_lengths(), 4),
                    numbers(block.get_repeat_distances(), 4),
                );
                let rows = numbers(block.get_hows(), 1);
                let rows = rows
                    .chunks(6)
                    .map(|row| format!("{row:?}"))
                    .collect::<Vec<_>>();
                let hex = |values: Vec<u64>| {
                    let values = values.iter().map(|value| format!("{value:#x}"));
                    values.collect::<Vec<_>>().join(", ")
                };
                found.chunk = format!(
                    "runStamps  {:?}\nrunLengths {:?}\nshapesLow  {:?}\nbases      {:?}\n\
                     hows       {}\nregions    [{}]\nregionsLow {:?}\noffsets    [{}]\n",
                    numbers(block.get_run_stamps(), 8),
                    numbers(block.get_run_lengths(), 4),
                    numbers(block.get_shapes_low(), 1),
                    numbers(block.get_bases(), 1),
                    rows.join("\n           "),
                    hex(numbers(block.get_regions(), 8)),
                    numbers(block.get_regions_low(), 1),
                    hex(numbers(block.get_offsets(), 2)),
                );
            }
            _ => {}
        }
    }
    found
}

/// Returns the values of a column, each of this size in bytes.
fn numbers(column: capnp::Result<column::Reader<'_>>, size_bytes: usize) -> Vec<u64> {
    let column = column.expect("a column");
    let frame = column.get_frame().expect("a frame");
    let room = column.get_bytes() as usize;
    let bytes = zstd::bulk::decompress(frame, room).expect("a frame of zstd");
    let value = |bytes: &[u8]| {
        let mut padded = [0; 8];
        padded[..size_bytes].copy_from_slice(bytes);
        u64::from_le_bytes(padded)
    };
    bytes.chunks_exact(size_bytes).map(value).collect()
}
