//! Writes a chunk of executions as a `block` entry of the file.

use crate::codec::address::{Coded, Coder};
use crate::codec::matches::Match;
use crate::format::column::{Packed, pack, room};
use crate::format::entry::{Message, message};
use crate::format::raw_chunk::RawChunk;
use crate::format::system_calls::PackedCalls;
use crate::format::trace_capnp::entry;
use crate::model::limits::MAX_TEMPLATES;
use crate::model::run::Run;
use zstd::bulk::Compressor;

/// Writes chunks; buffers are reused for each chunk.
#[derive(Default)]
pub struct Encoder {
    places: Places,
    coder: Coder,
}

impl Encoder {
    /// Writes a chunk as one entry; `None` if it needs more than one. `data_counts` has the number
    /// of data accesses of each template.
    pub fn write(
        &mut self,
        compressor: &mut Compressor<'_>,
        chunk: &RawChunk,
        data_counts: &[u16],
    ) -> std::io::Result<Option<Message>> {
        let found = &chunk.parsed;
        let places = &mut self.places;
        places.find(&found.templates, data_counts);
        if places.numbers.len() > MAX_TEMPLATES {
            return Ok(None);
        }
        let slot_count = places.slot_count;
        let Some(coded) = self.coder.code(&places.slots, slot_count, &found.addresses) else {
            return Ok(None);
        };
        columns(compressor, chunk, places, coded).map(Some)
    }
}

fn columns(
    compressor: &mut Compressor<'_>,
    chunk: &RawChunk,
    places: &Places,
    coded: &Coded,
) -> std::io::Result<Message> {
    let found = &chunk.parsed;
    let mut before = 0;
    let mut step = |run: &Run| run.stamp - std::mem::replace(&mut before, run.stamp);
    let steps: Vec<u64> = chunk.runs.iter().map(&mut step).collect();
    let lengths: Vec<u32> = chunk.runs.iter().map(|run| run.executions).collect();
    let mut after = 0;
    let mut literals_before = |matched: &Match| {
        let end = matched.place + matched.length;
        matched.place - std::mem::replace(&mut after, end)
    };
    let literals_before: Vec<u32> = found.matches.iter().map(&mut literals_before).collect();
    let match_lengths: Vec<u32> = found.matches.iter().map(|matched| matched.length).collect();
    let distances: Vec<u32> = found
        .matches
        .iter()
        .map(|matched| matched.distance)
        .collect();
    let columns = [
        pack(compressor, &steps)?,
        pack(compressor, &lengths)?,
        pack(compressor, &places.numbers)?,
        pack(compressor, &places.low)?,
        pack(compressor, &places.high)?,
        pack(compressor, &coded.bases)?,
        pack(compressor, &coded.hows)?,
        pack(compressor, &coded.regions)?,
        pack(compressor, &coded.regions_low)?,
        pack(compressor, &coded.regions_high)?,
        pack(compressor, &coded.offsets)?,
        pack(compressor, &literals_before)?,
        pack(compressor, &match_lengths)?,
        pack(compressor, &distances)?,
    ];
    let counts = Counts {
        templates: places.numbers.len() as u32,
        explicit: coded.offsets.len() as u32,
        matches: found.matches.len() as u32,
    };
    let calls = PackedCalls::of(compressor, &chunk.system_calls)?;
    Ok(assemble(chunk, &counts, &columns, &calls))
}

/// Sizes of a block's columns.
struct Counts {
    templates: u32,
    explicit: u32,
    matches: u32,
}

fn assemble(
    chunk: &RawChunk,
    counts: &Counts,
    columns: &[Packed; 14],
    calls: &PackedCalls,
) -> Message {
    let mut message = message(room(columns) + calls.size_bytes() + chunk.requests.len() * 20);
    let mut block = message.init_root::<entry::Builder<'_>>().init_block();
    block.set_thread(chunk.thread.0);
    block.set_executions(chunk.executions);
    block.set_accesses(chunk.data_accesses);
    block.set_run_count(chunk.runs.len() as u32);
    block.set_shape_count(counts.templates);
    block.set_explicit_count(counts.explicit);
    block.set_repeat_count(counts.matches);
    let count = chunk.requests.len() as u32;
    let mut requests = block.reborrow().init_requests(count);
    for (place, request) in chunk.requests.iter().enumerate() {
        requests.set(place as u32, *request);
    }
    if chunk.numbers.iter().any(|&number| number != 0) {
        let mut numbers = block.reborrow().init_request_numbers(count);
        for (place, &number) in chunk.numbers.iter().enumerate() {
            numbers.set(place as u32, number);
        }
    }
    if chunk.connections.iter().any(|&number| number != 0) {
        let mut connections = block.reborrow().init_request_connections(count);
        for (place, &number) in chunk.connections.iter().enumerate() {
            connections.set(place as u32, number);
        }
    }
    let [
        steps,
        lengths,
        numbers,
        low,
        high,
        bases,
        hows,
        regions,
        regions_low,
        rest @ ..,
    ] = columns;
    let [
        regions_high,
        offsets,
        matches_after,
        match_lengths,
        distances,
    ] = rest;
    steps.store(block.reborrow().init_run_stamps());
    lengths.store(block.reborrow().init_run_lengths());
    numbers.store(block.reborrow().init_shape_numbers());
    low.store(block.reborrow().init_shapes_low());
    high.store(block.reborrow().init_shapes_high());
    bases.store(block.reborrow().init_bases());
    hows.store(block.reborrow().init_hows());
    regions.store(block.reborrow().init_regions());
    regions_low.store(block.reborrow().init_regions_low());
    regions_high.store(block.reborrow().init_regions_high());
    offsets.store(block.reborrow().init_offsets());
    if counts.matches > 0 {
        matches_after.store(block.reborrow().init_repeats_after());
        match_lengths.store(block.reborrow().init_repeat_lengths());
        distances.store(block.reborrow().init_repeat_distances());
    }
    calls.store(block);
    message
}

/// The templates of the literals, renumbered within the block, and the slot of each of their data
/// accesses.
#[derive(Default)]
struct Places {
    numbers: Vec<u32>,
    low: Vec<u8>,
    high: Vec<u8>,
    slots: Vec<u32>,
    slot_count: usize,
    /// For each template: 1 + its number within the block, and its first slot; 0 if it has no
    /// number yet.
    known: Vec<(u32, u32)>,
}

impl Places {
    fn find(&mut self, literals: &[u32], data_counts: &[u16]) {
        for &template in &self.numbers {
            self.known[template as usize] = (0, 0);
        }
        self.known.resize(data_counts.len(), (0, 0));
        self.numbers.clear();
        self.low.clear();
        self.high.clear();
        self.slots.clear();
        self.slot_count = 0;
        for &template in literals {
            let count = usize::from(data_counts[template as usize]);
            let known = &mut self.known[template as usize];
            if known.0 == 0 {
                self.numbers.push(template);
                *known = (self.numbers.len() as u32, self.slot_count as u32);
                self.slot_count += count;
            }
            let (number, first_slot) = (known.0 - 1, known.1);
            self.low.push(number as u8);
            self.high.push((number >> 8) as u8);
            // At least four are written, because a processor cannot predict a smaller number.
            let slot = |place: usize| first_slot + place as u32;
            let end = self.slots.len() + count;
            self.slots.extend([0, 1, 2, 3].map(slot));
            self.slots.extend((4..count).map(slot));
            self.slots.truncate(end);
        }
    }
}
