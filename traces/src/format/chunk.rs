//! A chunk of executions, as stored in a `block` entry of the file.

mod write;

pub use write::Encoder;

use crate::codec::address::{BASES, EXPLICIT, Explicit, MAX_REGIONS};
use crate::codec::bounds::Bounds;
use crate::codec::matches::Match;
use crate::codec::template::Size;
use crate::format::column::unpack;
use crate::format::rule::{Rule, Violation};
use crate::format::trace_capnp::block;
use crate::model::ids::ThreadId;
use crate::model::limits::{MAX_ACCESSES, MAX_EXECUTIONS, MAX_REFERENCES, MAX_TEMPLATES};
use crate::model::run::Run;
use zstd::bulk::Decompressor;

/// A chunk's runs and request marks: what indexing a trace needs.
#[derive(Default)]
pub struct ChunkOrder {
    /// The thread.
    pub thread: ThreadId,
    /// Runs, by ascending stamp.
    pub runs: Vec<Run>,
    /// Request marks, ascending.
    pub requests: Vec<u32>,
    /// For each mark its request's number, 0 if it is not known; empty if none is known.
    pub numbers: Vec<u64>,
    /// For each mark its request's connection, 0 if it is not known; empty if none is known.
    pub connections: Vec<u64>,
}

/// A chunk, decoded for replay.
#[derive(Default)]
pub struct Chunk {
    /// Its runs and request marks.
    pub order: ChunkOrder,
    /// The distinct templates, by number in the trace.
    pub templates: Vec<u32>,
    /// Index into `templates` for each literal; always valid.
    pub places: Vec<u16>,
    /// The other executions, by place; no match is longer than its distance.
    pub matches: Vec<Match>,
    /// Where its matches, and their sources, begin and end.
    pub bounds: Bounds,
    /// Number of references that may be copied: all if there are matches, otherwise 0.
    pub copied_references: usize,
    /// Base of the address of each data access of each of `templates`, below [`BASES`].
    pub bases: Vec<u8>,
    /// How the address of each data access of a literal is predicted; at most [`EXPLICIT`].
    pub hows: Vec<u8>,
    /// The explicit addresses, one for each explicit element of `hows`.
    pub explicit: Vec<Explicit>,
}

impl Chunk {
    fn find_bounds(&mut self, executions: usize, stops: &[u32]) {
        let runs = self.order.runs.iter().scan(0, |end, run| {
            *end += run.executions;
            Some(*end)
        });
        let requests = self.order.requests.iter();
        let stops = stops.iter().chain(requests).copied().chain(runs);
        self.bounds.find(executions, &self.matches, stops);
    }
}

/// Reads chunks; buffers are reused for each chunk.
pub struct Decoder {
    decompressor: Decompressor<'static>,
    longs: Vec<u64>,
    lengths: Vec<u32>,
    low: Vec<u8>,
    high: Vec<u8>,
    offsets: Vec<u16>,
    matches: [Vec<u32>; 3],
}

impl Decoder {
    /// Creates a decoder with empty buffers.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new() -> std::io::Result<Decoder> {
        Ok(Decoder {
            decompressor: Decompressor::new()?,
            longs: Vec::new(),
            lengths: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            offsets: Vec::new(),
            matches: Default::default(),
        })
    }

    /// Returns the decompressor, for entries other than chunks.
    pub fn decompressor(&mut self) -> &mut Decompressor<'static> {
        &mut self.decompressor
    }

    /// Reads a chunk's runs and request marks.
    pub fn read_order(
        &mut self,
        chunk: block::Reader<'_>,
        order: &mut ChunkOrder,
    ) -> Result<(), Violation> {
        let executions = chunk.get_executions() as usize;
        let accesses = chunk.get_accesses() as usize;
        if executions > MAX_EXECUTIONS || accesses > MAX_ACCESSES {
            let detail = format!("claims {executions} executions, {accesses} data accesses");
            return Err(Rule::Counts.broken(detail));
        }
        let runs = chunk.get_run_count() as usize;
        if runs > executions {
            let detail = format!("claims {runs} runs of {executions} executions");
            return Err(Rule::Runs.broken(detail));
        }
        let zstd = &mut self.decompressor;
        unpack(
            zstd,
            chunk.get_run_stamps(),
            "runStamps",
            runs,
            &mut self.longs,
        )?;
        unpack(
            zstd,
            chunk.get_run_lengths(),
            "runLengths",
            runs,
            &mut self.lengths,
        )?;
        order.thread = ThreadId(chunk.get_thread());
        order.runs.clear();
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
            order.runs.push(Run { stamp, executions });
        }
        if total != executions {
            let detail = format!("the runs have {total} executions, the block {executions}");
            return Err(Rule::Runs.broken(detail));
        }
        order.requests.clear();
        for place in chunk.get_requests()? {
            let ascending = order.requests.last().is_none_or(|last| *last < place);
            if !ascending || place as usize > executions {
                return Err(Rule::Requests.broken("request marks out of order or out of range"));
            }
            order.requests.push(place);
        }
        order.numbers.clear();
        order.numbers.extend(chunk.get_request_numbers()?);
        order.connections.clear();
        order.connections.extend(chunk.get_request_connections()?);
        let requests = order.requests.len();
        let told = [
            ("numbers", order.numbers.len()),
            ("connections", order.connections.len()),
        ];
        match told
            .iter()
            .find(|(_, count)| ![0, requests].contains(count))
        {
            None => Ok(()),
            Some((what, count)) => {
                Err(Rule::Requests.broken(format!("{count} {what} of {requests} requests")))
            }
        }
    }

    /// Reads a whole chunk. A reader may stop at these `stops` and where runs and requests end.
    /// `size` returns the size of a template, or `None` if it is not defined.
    pub fn read(
        &mut self,
        message: block::Reader<'_>,
        chunk: &mut Chunk,
        size: impl Fn(u32) -> Option<Size>,
        stops: &[u32],
    ) -> Result<(), Violation> {
        self.read_order(message, &mut chunk.order)?;
        let literals = self.read_matches(message, chunk)?;
        chunk.find_bounds(message.get_executions() as usize, stops);
        let accesses = self.read_templates(message, chunk, literals, size)?;
        let zstd = &mut self.decompressor;
        unpack(zstd, message.get_hows(), "hows", accesses, &mut chunk.hows)?;
        // Both are folds without a branch, which the compiler vectorizes.
        let largest = chunk.hows.iter().fold(0, |largest, &how| how.max(largest));
        if largest > EXPLICIT {
            return Err(Rule::Columns.broken("column hows has a value above 2"));
        }
        let explicit = |hows: &[u8]| hows.iter().map(|&how| how >> 1).sum::<u8>();
        let explicit = chunk.hows.chunks(255).map(explicit);
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
        chunk.explicit.clear();
        for ((low, high), &offset) in self.low.iter().zip(&self.high).zip(&self.offsets) {
            let place = usize::from(*high) << 8 | usize::from(*low);
            let region = self.longs.get(place);
            let region = region.ok_or_else(|| Rule::References.broken("a region is missing"))?;
            chunk.explicit.push(Explicit {
                region: region << 16,
                offset,
            });
        }
        Ok(())
    }

    /// Reads the matches; returns the number of literals.
    fn read_matches(
        &mut self,
        message: block::Reader<'_>,
        chunk: &mut Chunk,
    ) -> Result<usize, Violation> {
        let executions = message.get_executions();
        let matches = message.get_repeat_count() as usize;
        if matches > executions as usize {
            let detail = format!("claims {matches} repeats of {executions} executions");
            return Err(Rule::Repeats.broken(detail));
        }
        let zstd = &mut self.decompressor;
        let [after, lengths, distances] = &mut self.matches;
        let columns = [
            (message.get_repeats_after(), "repeatsAfter"),
            (message.get_repeat_lengths(), "repeatLengths"),
            (message.get_repeat_distances(), "repeatDistances"),
        ];
        chunk.matches.clear();
        if matches == 0 {
            return Ok(executions as usize);
        }
        for ((column, name), values) in columns.into_iter().zip([&mut *after, lengths, distances]) {
            unpack(zstd, column, name, matches, values)?;
        }
        let (mut end, mut in_matches) = (0u32, 0);
        for ((&after, &length), &distance) in after.iter().zip(&*lengths).zip(&*distances) {
            let place = end.saturating_add(after);
            end = place.saturating_add(length);
            in_matches += length as usize;
            if length == 0 || distance == 0 || distance > place || end > executions {
                let detail =
                    format!("{length} executions at {place} repeat those {distance} before");
                return Err(Rule::Repeats.broken(detail));
            }
            let matched = Match {
                place,
                length,
                distance,
            };
            chunk.matches.extend(matched.apart());
        }
        Ok(executions as usize - in_matches)
    }

    /// Reads the templates of the literals and counts accesses; returns the number of the literals'
    /// data accesses.
    fn read_templates(
        &mut self,
        message: block::Reader<'_>,
        chunk: &mut Chunk,
        literals: usize,
        size: impl Fn(u32) -> Option<Size>,
    ) -> Result<usize, Violation> {
        let accesses = message.get_accesses() as usize;
        let templates = message.get_shape_count() as usize;
        if templates > literals || templates > MAX_TEMPLATES {
            let detail = format!("claims {templates} shapes of {literals} executions");
            return Err(Rule::Counts.broken(detail));
        }
        let zstd = &mut self.decompressor;
        let numbers = message.get_shape_numbers();
        unpack(
            zstd,
            numbers,
            "shapeNumbers",
            templates,
            &mut chunk.templates,
        )?;
        let low = message.get_shapes_low();
        unpack(zstd, low, "shapesLow", literals, &mut self.low)?;
        let high = message.get_shapes_high();
        unpack(zstd, high, "shapesHigh", literals, &mut self.high)?;
        // Small, so that the sums below find all sizes in the first-level cache.
        let mut sizes = Vec::with_capacity(templates);
        for &template in &chunk.templates {
            sizes.push(size(template).ok_or_else(|| {
                Rule::References.broken(format!("shape {template} is not defined before it"))
            })?);
        }
        chunk.places.clear();
        let bytes = self.low.iter().zip(&self.high);
        let places = bytes.map(|(&low, &high)| u16::from_le_bytes([low, high]));
        chunk.places.extend(places);
        let largest = chunk.places.iter().fold(0, |largest, &p| p.max(largest));
        if usize::from(largest) >= templates && literals > 0 {
            return Err(Rule::References.broken("a shape is missing"));
        }
        let (mut literal_references, mut literal_data) = (0, 0);
        for &place in &chunk.places {
            let size = sizes[usize::from(place)];
            literal_references += size.references() as usize;
            literal_data += usize::from(size.data);
        }
        let mut total = literal_data;
        chunk.copied_references = 0;
        if !chunk.matches.is_empty() {
            let too_many =
                || Rule::Counts.broken("a block with repeats has more than 16 777 216 accesses");
            if literal_references > MAX_REFERENCES {
                return Err(too_many());
            }
            let (places, matches) = (&chunk.places, &chunk.matches);
            let counted = chunk
                .bounds
                .measure(places, &sizes, matches, MAX_REFERENCES);
            let counted = counted.ok_or_else(too_many)?;
            (chunk.copied_references, total) = (counted.references(), counted.data());
        }
        let slots = sizes.iter().map(|size| usize::from(size.data)).sum();
        if total != accesses || slots > literal_data {
            let detail = format!("the shapes have {total} data accesses, the block {accesses}");
            return Err(Rule::Counts.broken(detail));
        }
        unpack(zstd, message.get_bases(), "bases", slots, &mut chunk.bases)?;
        if chunk.bases.iter().any(|&base| usize::from(base) >= BASES) {
            return Err(Rule::Columns.broken("column bases has a value above 15"));
        }
        Ok(literal_data)
    }
}
