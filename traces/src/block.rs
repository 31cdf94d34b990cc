//! A stretch of executions as a `block` entry of the file, and back.

use crate::address::{self, BASES, EXPLICIT, Explicit, MAX_REGIONS};
use crate::column::{Packed, pack, unpack};
use crate::entry::Message;
use crate::rule::{Rule, Violation};
use crate::stretch::{Run, Stretch};
use crate::trace_capnp::{block, entry};
use std::collections::HashMap;
use zstd::bulk::{Compressor, Decompressor};

/// The most executions in one block.
pub const MAX_EXECUTIONS: usize = 1 << 20;
/// The most data accesses in one block, which bounds the memory that reading one takes.
pub const MAX_ACCESSES: usize = 1 << 23;
/// The most distinct shapes in one block.
const MAX_SHAPES: usize = 1 << 16;

/// Writes a stretch as a `block` entry; `None` when it needs more than one. `data_counts` has the
/// number of data accesses of each shape.
pub fn write(
    compressor: &mut Compressor<'_>,
    stretch: &Stretch,
    data_counts: &[u16],
) -> std::io::Result<Option<Message>> {
    let Some(places) = Places::new(stretch, data_counts) else {
        return Ok(None);
    };
    let bases = address::choose_bases(&places.slots, places.slot_count, &stretch.addresses);
    let Some(coded) = address::code(&places.slots, &bases, &stretch.addresses) else {
        return Ok(None);
    };
    let mut before = 0;
    let mut step = |run: &Run| run.stamp - std::mem::replace(&mut before, run.stamp);
    let steps: Vec<u64> = stretch.runs.iter().map(&mut step).collect();
    let lengths: Vec<u32> = stretch.runs.iter().map(|run| run.executions).collect();
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
    ];
    let counts = (places.numbers.len() as u32, coded.offsets.len() as u32);
    Ok(Some(assemble(stretch, counts, &columns)))
}

fn assemble(
    stretch: &Stretch,
    (shape_count, explicit_count): (u32, u32),
    columns: &[Packed; 11],
) -> Message {
    let bytes: usize = columns.iter().map(|column| column.size_bytes() + 64).sum();
    let mut message = crate::entry::message(bytes + stretch.requests.len() * 4);
    let mut block = message.init_root::<entry::Builder<'_>>().init_block();
    block.set_thread(stretch.thread);
    block.set_executions(stretch.shapes.len() as u32);
    block.set_accesses(stretch.addresses.len() as u32);
    block.set_run_count(stretch.runs.len() as u32);
    block.set_shape_count(shape_count);
    block.set_explicit_count(explicit_count);
    let count = stretch.requests.len() as u32;
    let mut requests = block.reborrow().init_requests(count);
    for (place, request) in stretch.requests.iter().enumerate() {
        requests.set(place as u32, *request);
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
    let [regions_high, offsets] = rest;
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
    offsets.store(block.init_offsets());
    message
}

/// The shapes of a stretch, numbered anew within the block, and the slot of each data access.
struct Places {
    numbers: Vec<u32>,
    low: Vec<u8>,
    high: Vec<u8>,
    slots: Vec<u32>,
    slot_count: usize,
}

impl Places {
    fn new(stretch: &Stretch, data_counts: &[u16]) -> Option<Places> {
        let mut places = Places {
            numbers: Vec::new(),
            low: Vec::with_capacity(stretch.shapes.len()),
            high: Vec::with_capacity(stretch.shapes.len()),
            slots: Vec::with_capacity(stretch.addresses.len()),
            slot_count: 0,
        };
        let mut known: HashMap<u32, (usize, usize)> = HashMap::new();
        for &shape in &stretch.shapes {
            let count = usize::from(data_counts[shape as usize]);
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

/// A block's order: what is needed of it to index a trace.
#[derive(Default)]
pub struct Outline {
    /// Index of the thread.
    pub thread: u32,
    /// Runs, by ascending stamp.
    pub runs: Vec<Run>,
    /// Request marks, ascending.
    pub requests: Vec<u32>,
}

/// A block as it is played.
#[derive(Default)]
pub struct Block {
    /// Its order.
    pub outline: Outline,
    /// The distinct shapes, by number in the trace.
    pub shapes: Vec<u32>,
    /// Per execution, place of its shape in `shapes`; every one exists.
    pub places: Vec<u16>,
    /// Per data access of each of `shapes`, the base of its address, below [`BASES`].
    pub bases: Vec<u8>,
    /// Per data access, how its address follows; at most [`EXPLICIT`].
    pub hows: Vec<u8>,
    /// The explicit addresses; as many as there are explicit `hows`.
    pub explicit: Vec<Explicit>,
}

/// Reads blocks, with room that is used again for each.
pub struct Decoder {
    decompressor: Decompressor<'static>,
    longs: Vec<u64>,
    lengths: Vec<u32>,
    low: Vec<u8>,
    high: Vec<u8>,
    offsets: Vec<u16>,
}

impl Decoder {
    /// A decoder with no room yet.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new() -> std::io::Result<Decoder> {
        Ok(Decoder {
            decompressor: Decompressor::new()?,
            longs: Vec::new(),
            lengths: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            offsets: Vec::new(),
        })
    }

    /// The decompressor, for entries other than blocks.
    pub fn decompressor(&mut self) -> &mut Decompressor<'static> {
        &mut self.decompressor
    }

    /// Reads a block's runs and request marks.
    pub fn read_outline(
        &mut self,
        block: block::Reader<'_>,
        outline: &mut Outline,
    ) -> Result<(), Violation> {
        let executions = block.get_executions() as usize;
        let accesses = block.get_accesses() as usize;
        if executions > MAX_EXECUTIONS || accesses > MAX_ACCESSES {
            let detail = format!("claims {executions} executions, {accesses} data accesses");
            return Err(Rule::Counts.broken(detail));
        }
        let runs = block.get_run_count() as usize;
        if runs > executions {
            let detail = format!("claims {runs} runs of {executions} executions");
            return Err(Rule::Runs.broken(detail));
        }
        let zstd = &mut self.decompressor;
        unpack(
            zstd,
            block.get_run_stamps(),
            "runStamps",
            runs,
            &mut self.longs,
        )?;
        unpack(
            zstd,
            block.get_run_lengths(),
            "runLengths",
            runs,
            &mut self.lengths,
        )?;
        outline.thread = block.get_thread();
        outline.runs.clear();
        let mut stamp = 0u64;
        let mut total = 0;
        for (place, (step, &executions)) in self.longs.iter().zip(&self.lengths).enumerate() {
            if executions == 0 || (*step == 0 && place > 0) {
                let detail = format!("run {place} is empty or not after the run before it");
                return Err(Rule::Runs.broken(detail));
            }
            let sum = stamp.checked_add(*step);
            stamp = sum.ok_or_else(|| Rule::Runs.broken("a stamp is too large"))?;
            total += executions as usize;
            outline.runs.push(Run { stamp, executions });
        }
        if total != executions {
            let detail = format!("the runs have {total} executions, the block {executions}");
            return Err(Rule::Runs.broken(detail));
        }
        outline.requests.clear();
        for place in block.get_requests()? {
            let ascending = outline.requests.last().is_none_or(|last| *last < place);
            if !ascending || place as usize > executions {
                return Err(Rule::Requests.broken("request marks out of order or out of range"));
            }
            outline.requests.push(place);
        }
        Ok(())
    }

    /// Reads all of a block. `data_count` gives the number of data accesses of a shape, `None` for
    /// one that is not defined.
    pub fn read(
        &mut self,
        message: block::Reader<'_>,
        block: &mut Block,
        data_count: impl Fn(u32) -> Option<usize>,
    ) -> Result<(), Violation> {
        self.read_outline(message, &mut block.outline)?;
        self.read_shapes(message, block, data_count)?;
        let accesses = message.get_accesses() as usize;
        let zstd = &mut self.decompressor;
        unpack(zstd, message.get_hows(), "hows", accesses, &mut block.hows)?;
        // Both are folds without a branch, which the compiler turns into vector instructions.
        let largest = block.hows.iter().fold(0, |largest, &how| how.max(largest));
        if largest > EXPLICIT {
            return Err(Rule::Columns.broken("column hows has a value above 2"));
        }
        let explicit = |hows: &[u8]| hows.iter().map(|&how| how >> 1).sum::<u8>();
        let explicit = block.hows.chunks(255).map(explicit);
        let explicit = explicit.map(usize::from).sum::<usize>();
        if explicit != message.get_explicit_count() as usize {
            let claimed = message.get_explicit_count();
            let detail = format!("claims {claimed} explicit addresses, but {explicit} are there");
            return Err(Rule::Counts.broken(detail));
        }
        let regions = message.get_regions()?;
        let region_count = regions.get_bytes() as usize / size_of::<u64>();
        if region_count > MAX_REGIONS {
            return Err(Rule::Columns.broken(format!("claims {region_count} regions")));
        }
        unpack(zstd, Ok(regions), "regions", region_count, &mut self.longs)?;
        unpack(
            zstd,
            message.get_regions_low(),
            "regionsLow",
            explicit,
            &mut self.low,
        )?;
        unpack(
            zstd,
            message.get_regions_high(),
            "regionsHigh",
            explicit,
            &mut self.high,
        )?;
        unpack(
            zstd,
            message.get_offsets(),
            "offsets",
            explicit,
            &mut self.offsets,
        )?;
        block.explicit.clear();
        for ((low, high), &offset) in self.low.iter().zip(&self.high).zip(&self.offsets) {
            let place = usize::from(*high) << 8 | usize::from(*low);
            let region = self.longs.get(place);
            let region = region.ok_or_else(|| Rule::References.broken("a region is missing"))?;
            block.explicit.push(Explicit {
                region: region << 16,
                offset,
            });
        }
        Ok(())
    }

    fn read_shapes(
        &mut self,
        message: block::Reader<'_>,
        block: &mut Block,
        data_count: impl Fn(u32) -> Option<usize>,
    ) -> Result<(), Violation> {
        let executions = message.get_executions() as usize;
        let accesses = message.get_accesses() as usize;
        let shapes = message.get_shape_count() as usize;
        if shapes > executions || shapes > MAX_SHAPES {
            let detail = format!("claims {shapes} shapes of {executions} executions");
            return Err(Rule::Counts.broken(detail));
        }
        let zstd = &mut self.decompressor;
        unpack(
            zstd,
            message.get_shape_numbers(),
            "shapeNumbers",
            shapes,
            &mut block.shapes,
        )?;
        unpack(
            zstd,
            message.get_shapes_low(),
            "shapesLow",
            executions,
            &mut self.low,
        )?;
        unpack(
            zstd,
            message.get_shapes_high(),
            "shapesHigh",
            executions,
            &mut self.high,
        )?;
        let mut counts = Vec::with_capacity(shapes);
        for &shape in &block.shapes {
            let count = data_count(shape).ok_or_else(|| {
                Rule::References.broken(format!("shape {shape} is not defined before it"))
            })?;
            // At most 65 000; small, so that the sum below finds all of them in the nearest cache.
            counts.push(count as u16);
        }
        block.places.clear();
        let bytes = self.low.iter().zip(&self.high);
        let places = bytes.map(|(&low, &high)| u16::from_le_bytes([low, high]));
        block.places.extend(places);
        let largest = block.places.iter().fold(0, |largest, &p| p.max(largest));
        if usize::from(largest) >= shapes && executions > 0 {
            return Err(Rule::References.broken("a shape is missing"));
        }
        let count_of = |&place: &u16| usize::from(counts[usize::from(place)]);
        let total = block.places.iter().map(count_of).sum::<usize>();
        let slots = counts.iter().copied().map(usize::from).sum();
        if total != accesses || slots > accesses {
            let detail = format!("the shapes have {total} data accesses, the block {accesses}");
            return Err(Rule::Counts.broken(detail));
        }
        unpack(zstd, message.get_bases(), "bases", slots, &mut block.bases)?;
        if block.bases.iter().any(|&base| usize::from(base) >= BASES) {
            return Err(Rule::Columns.broken("column bases has a value above 15"));
        }
        Ok(())
    }
}
