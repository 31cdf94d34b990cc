//! Sizes of each kind of entry and each column in a trace file, for decisions about the format.

use crate::format::entry;
use crate::format::trace_capnp::{
    block, code_blocks, column, entry as schema, functions, mappings, shapes,
};
use crate::read::trace::Trace;
use std::collections::BTreeMap;

/// Bytes of a trace file that serve one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSize {
    /// Kind of entry, as named in the schema.
    pub entry: &'static str,
    /// Column of the entry; empty for the rest of the entry.
    pub column: &'static str,
    /// Bytes in the file, of all such entries.
    pub size_bytes: u64,
    /// Bytes of the decompressed values; 0 for the rest of the entry.
    pub values_bytes: u64,
}

type Found<'a> = capnp::Result<column::Reader<'a>>;
type Sizes = BTreeMap<(&'static str, &'static str), (u64, u64)>;

impl Trace {
    /// Returns the size of each kind of entry and each column, sorted by name. The sum is the size
    /// of the readable part of the file.
    pub fn column_sizes(&self) -> Vec<ColumnSize> {
        let mut sizes = Sizes::new();
        let (mut offset, mut number) = (0, 0);
        while let entry::Found::Entry(bytes) = entry::look(&self.map, offset, number) {
            // Every entry was read when the trace was opened, so no error can occur here. If one
            // did, its bytes would count as the rest of the entry.
            let _ = measure(bytes, &mut sizes);
            offset += bytes.len();
            number += 1;
        }
        let size = |((entry, column), (size_bytes, values_bytes))| ColumnSize {
            entry,
            column,
            size_bytes,
            values_bytes,
        };
        sizes.into_iter().map(size).collect()
    }
}

fn measure(bytes: &[u8], sizes: &mut Sizes) -> capnp::Result<()> {
    let message = entry::read(bytes)?;
    let which = message.get_root::<schema::Reader<'_>>()?.which()?;
    let (name, columns): (_, Vec<(_, Found<'_>)>) = match which {
        schema::Header(_) => ("header", vec![]),
        schema::Module(_) => ("module", vec![]),
        schema::Thread(_) => ("thread", vec![]),
        schema::Note(_) => ("note", vec![]),
        schema::SharedObject(_) => ("sharedObject", vec![]),
        schema::Mappings(entry) => ("mappings", columns_of_mappings(entry?)),
        schema::SignalHandlers(_) => ("signalHandlers", vec![]),
        schema::End(_) => ("end", vec![]),
        schema::Functions(entry) => ("functions", columns_of_functions(entry?)),
        schema::CodeBlocks(entry) => ("codeBlocks", columns_of_code_blocks(entry?)),
        schema::Shapes(entry) => ("shapes", columns_of_templates(entry?)),
        schema::Block(entry) => ("block", columns_of_block(entry?)),
    };
    let mut rest = bytes.len() as u64;
    for (column, found) in columns {
        let found = found?;
        let frame = found.get_frame()?.len() as u64;
        rest -= frame;
        let size = sizes.entry((name, column)).or_default();
        size.0 += frame;
        size.1 += u64::from(found.get_bytes());
    }
    sizes.entry((name, "")).or_default().0 += rest;
    Ok(())
}

fn columns_of_mappings(entry: mappings::Reader<'_>) -> Vec<(&'static str, Found<'_>)> {
    match entry.get_page_count() {
        0 => vec![],
        _ => vec![
            ("pagesSince", entry.get_pages_since()),
            ("pageNumbers", entry.get_page_numbers()),
            ("pageDistances", entry.get_page_distances()),
        ],
    }
}

fn columns_of_functions(entry: functions::Reader<'_>) -> Vec<(&'static str, Found<'_>)> {
    vec![
        ("modules", entry.get_modules()),
        ("offsets", entry.get_offsets()),
        ("sizes", entry.get_sizes()),
        ("texts", entry.get_texts()),
    ]
}

fn columns_of_code_blocks(entry: code_blocks::Reader<'_>) -> Vec<(&'static str, Found<'_>)> {
    let mut columns = vec![
        ("starts", entry.get_starts()),
        ("entries", entry.get_entries()),
        ("instructionCounts", entry.get_instruction_counts()),
        ("instructionSizes", entry.get_instruction_sizes()),
    ];
    if entry.has_dependence_counts() {
        columns.extend([
            ("dependenceCounts", entry.get_dependence_counts()),
            ("dependences", entry.get_dependences()),
        ]);
    }
    if entry.has_pointer_counts() {
        columns.extend([
            ("pointerCounts", entry.get_pointer_counts()),
            ("pointers", entry.get_pointers()),
        ]);
    }
    columns
}

fn columns_of_templates(entry: shapes::Reader<'_>) -> Vec<(&'static str, Found<'_>)> {
    vec![
        ("codeBlocks", entry.get_code_blocks()),
        ("accessCounts", entry.get_access_counts()),
        ("accesses", entry.get_accesses()),
    ]
}

fn columns_of_block(entry: block::Reader<'_>) -> Vec<(&'static str, Found<'_>)> {
    let mut columns = vec![
        ("runStamps", entry.get_run_stamps()),
        ("runLengths", entry.get_run_lengths()),
        ("shapeNumbers", entry.get_shape_numbers()),
        ("shapesLow", entry.get_shapes_low()),
        ("shapesHigh", entry.get_shapes_high()),
        ("bases", entry.get_bases()),
        ("hows", entry.get_hows()),
        ("regions", entry.get_regions()),
        ("regionsLow", entry.get_regions_low()),
        ("regionsHigh", entry.get_regions_high()),
        ("offsets", entry.get_offsets()),
        ("repeatsAfter", entry.get_repeats_after()),
        ("repeatLengths", entry.get_repeat_lengths()),
        ("repeatDistances", entry.get_repeat_distances()),
    ];
    if entry.get_system_call_count() > 0 {
        columns.extend([
            ("systemCallsAfter", entry.get_system_calls_after()),
            ("systemCallNumbers", entry.get_system_call_numbers()),
            ("systemCallsReturned", entry.get_system_calls_returned()),
            ("systemCallResults", entry.get_system_call_results()),
        ]);
    }
    columns
}
