//! A stretch of executions as a `block` entry of the file.

use super::{MAX_SHAPES, MAX_TOUCHES};
use crate::address;
use crate::column::{Packed, pack};
use crate::entry::Message;
use crate::repeats::{self, Repeat, Spelled};
use crate::shape::Size;
use crate::stretch::{Run, Stretch};
use crate::trace_capnp::entry;
use std::collections::HashMap;
use zstd::bulk::Compressor;

/// Writes a stretch as a `block` entry; `None` when it needs more than one. `sizes` are those of
/// the shapes.
pub fn write(
    compressor: &mut Compressor<'_>,
    stretch: &Stretch,
    sizes: &[Size],
) -> std::io::Result<Option<Message>> {
    let touches_of = |&shape: &u32| u64::from(sizes[shape as usize].touches());
    if stretch.shapes.iter().map(touches_of).sum::<u64>() > MAX_TOUCHES as u64 {
        return Ok(None);
    }
    let data_count = |shape: u32| usize::from(sizes[shape as usize].data);
    let spelled = repeats::find(&stretch.shapes, &stretch.addresses, data_count);
    let Some(places) = Places::new(&spelled, data_count) else {
        return Ok(None);
    };
    let bases = address::choose_bases(&places.slots, places.slot_count, &spelled.addresses);
    let Some(coded) = address::code(&places.slots, &bases, &spelled.addresses) else {
        return Ok(None);
    };
    let mut before = 0;
    let mut step = |run: &Run| run.stamp - std::mem::replace(&mut before, run.stamp);
    let steps: Vec<u64> = stretch.runs.iter().map(&mut step).collect();
    let lengths: Vec<u32> = stretch.runs.iter().map(|run| run.executions).collect();
    let mut after = 0;
    let mut spelled_before = |repeat: &Repeat| {
        let end = repeat.place + repeat.length;
        repeat.place - std::mem::replace(&mut after, end)
    };
    let spelled_before: Vec<u32> = spelled.repeats.iter().map(&mut spelled_before).collect();
    let repeat_lengths: Vec<u32> = spelled.repeats.iter().map(|repeat| repeat.length).collect();
    let distances: Vec<u32> = spelled
        .repeats
        .iter()
        .map(|repeat| repeat.distance)
        .collect();
    let columns = [
        pack(compressor, &steps)?,
        pack(compressor, &lengths)?,
        pack(compressor, &places.numbers)?,
        pack(compressor, &places.low)?,
        pack(compressor, &places.high)?,
        pack(compressor, &bases)?,
        pack(compressor, &coded.hows)?,
        pack(compressor, &coded.regions)?,
        pack(compressor, &coded.regions_low)?,
        pack(compressor, &coded.regions_high)?,
        pack(compressor, &coded.offsets)?,
        pack(compressor, &spelled_before)?,
        pack(compressor, &repeat_lengths)?,
        pack(compressor, &distances)?,
    ];
    let counts = Counts {
        shapes: places.numbers.len() as u32,
        explicit: coded.offsets.len() as u32,
        repeats: spelled.repeats.len() as u32,
    };
    Ok(Some(assemble(stretch, &counts, &columns)))
}

/// How many there are in a block.
struct Counts {
    shapes: u32,
    explicit: u32,
    repeats: u32,
}

fn assemble(stretch: &Stretch, counts: &Counts, columns: &[Packed; 14]) -> Message {
    let bytes: usize = columns.iter().map(|column| column.size_bytes() + 64).sum();
    let mut message = crate::entry::message(bytes + stretch.requests.len() * 12);
    let mut block = message.init_root::<entry::Builder<'_>>().init_block();
    block.set_thread(stretch.thread);
    block.set_executions(stretch.shapes.len() as u32);
    block.set_accesses(stretch.addresses.len() as u32);
    block.set_run_count(stretch.runs.len() as u32);
    block.set_shape_count(counts.shapes);
    block.set_explicit_count(counts.explicit);
    block.set_repeat_count(counts.repeats);
    let count = stretch.requests.len() as u32;
    let mut requests = block.reborrow().init_requests(count);
    for (place, request) in stretch.requests.iter().enumerate() {
        requests.set(place as u32, *request);
    }
    if stretch.numbers.iter().any(|&number| number != 0) {
        let mut numbers = block.reborrow().init_request_numbers(count);
        for (place, &number) in stretch.numbers.iter().enumerate() {
            numbers.set(place as u32, number);
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
        repeats_after,
        repeat_lengths,
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
    if counts.repeats > 0 {
        repeats_after.store(block.reborrow().init_repeats_after());
        repeat_lengths.store(block.reborrow().init_repeat_lengths());
        distances.store(block.init_repeat_distances());
    }
    message
}

/// The shapes that are spelled out, numbered anew within the block, and the slot of each of their
/// data accesses.
struct Places {
    numbers: Vec<u32>,
    low: Vec<u8>,
    high: Vec<u8>,
    slots: Vec<u32>,
    slot_count: usize,
}

impl Places {
    fn new(spelled: &Spelled, data_count: impl Fn(u32) -> usize) -> Option<Places> {
        let mut places = Places {
            numbers: Vec::new(),
            low: Vec::with_capacity(spelled.shapes.len()),
            high: Vec::with_capacity(spelled.shapes.len()),
            slots: Vec::with_capacity(spelled.addresses.len()),
            slot_count: 0,
        };
        let mut known: HashMap<u32, (usize, usize)> = HashMap::new();
        for &shape in &spelled.shapes {
            let count = data_count(shape);
            let (place, first_slot) = *known.entry(shape).or_insert_with(|| {
                places.numbers.push(shape);
                places.slot_count += count;
                (places.numbers.len() - 1, places.slot_count - count)
            });
            places.low.push(place as u8);
            places.high.push((place >> 8) as u8);
            places
                .slots
                .extend(first_slot as u32..(first_slot + count) as u32);
        }
        (places.numbers.len() <= MAX_SHAPES).then_some(places)
    }
}
