//! The new address of each byte of the changed objects, and the accesses at new addresses.
//!
//! An object is an array of elements, and an element a list of pieces, each in one of the object's
//! new arrays. The first array keeps what is not split off. Further arrays follow it, each at the
//! beginning of a line. Objects behind each other are a group, which takes unused addresses
//! together.

use super::free::{FreeRegions, REGION_BYTES};
use super::resolved::Resolved;
use corehop_simulator::detail::Rewriter;
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{Access, Kind, Trace};

/// A range of addresses of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub start: u64,
    /// Exclusive.
    pub end: u64,
    /// Number of the object.
    pub object: usize,
}

/// Ranges of addresses, none of which overlaps another.
#[derive(Clone, Debug)]
pub(super) struct Places(Vec<Place>);

impl Places {
    pub fn of(mut places: Vec<Place>) -> Places {
        places.sort_by_key(|place| place.start);
        Places(places)
    }

    /// Returns the range that holds the address, or the next one above it.
    #[inline]
    fn at_or_above(&self, address: u64) -> Option<&Place> {
        let index = self.0.partition_point(|place| place.end <= address);
        self.0.get(index)
    }

    /// Returns the number of the object that holds the address.
    #[inline]
    pub fn object(&self, address: u64) -> Option<usize> {
        let place = self.at_or_above(address)?;
        (place.start <= address).then_some(place.object)
    }

    /// Returns whether all bytes of `start..end` belong to this object, or all to none.
    pub fn is_whole(&self, start: u64, end: u64, object: Option<usize>) -> bool {
        match (self.at_or_above(start), object) {
            (None, None) => true,
            (Some(place), None) => end <= place.start,
            (Some(place), Some(object)) => {
                place.object == object && place.start <= start && end <= place.end
            }
            (None, Some(_)) => false,
        }
    }

    /// Returns the ranges of an object, by address.
    pub fn ranges(&self, object: usize) -> Vec<(u64, u64)> {
        let own = self.0.iter().filter(|place| place.object == object);
        own.map(|place| (place.start, place.end)).collect()
    }
}

/// Bytes of each element that stay together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The first byte in the old element.
    from: u64,
    /// Exclusive.
    to: u64,
    /// Address of the piece of the first element.
    start: u64,
    /// Distance from one element to the next.
    stride: u64,
}

/// The new layout of an object.
#[derive(Clone, Debug)]
struct Laid {
    element_bytes: u64,
    /// By `from`; they cover the element.
    pieces: Vec<Piece>,
}

impl Laid {
    /// Returns the new address of a byte, and how many bytes from there on stay together.
    fn find(&self, offset: u64) -> (u64, u64) {
        let (element, within) = (offset / self.element_bytes, offset % self.element_bytes);
        let index = self.pieces.partition_point(|piece| piece.to <= within);
        let piece = &self.pieces[index];
        let address = piece.start + element * piece.stride + (within - piece.from);
        (address, piece.to - within)
    }
}

/// All changed objects.
pub(super) struct Layout<'t> {
    trace: &'t Trace,
    /// By object.
    laid: Vec<Laid>,
    pub old: Places,
    pub new: Places,
    changed: Vec<Access>,
}

impl<'t> Layout<'t> {
    /// Puts the objects at unused addresses; `None` if there are too few.
    pub fn of(trace: &'t Trace, all: &[Resolved], free: &mut FreeRegions) -> Option<Layout<'t>> {
        let mut group = Vec::new();
        let mut laid = vec![None; all.len()];
        let mut new = Vec::new();
        let roots = (0..all.len()).filter(|&index| all[index].behind.is_none());
        for root in roots {
            group.clear();
            behind(all, root, &mut group);
            let own = &all[root];
            let mut end = (own.object.start + own.color_bytes) % REGION_BYTES;
            for &index in &group {
                let (of, arrays) = lay(&all[index], index, end)?;
                end = arrays.last().map_or(end, |place| place.end);
                laid[index] = Some((of, arrays));
            }
            let start = free.take(end)?;
            for &index in &group {
                if let Some((of, arrays)) = &mut laid[index] {
                    of.pieces.iter_mut().for_each(|piece| piece.start += start);
                    new.extend(arrays.iter().map(|place| Place {
                        start: place.start + start,
                        end: place.end + start,
                        ..*place
                    }));
                }
            }
        }
        let old = all.iter().enumerate().map(|(object, of)| Place {
            start: of.object.start,
            end: of.object.end,
            object,
        });
        Some(Layout {
            trace,
            laid: laid
                .into_iter()
                .map(|of| of.map(|(laid, _)| laid))
                .collect::<Option<_>>()?,
            old: Places::of(old.collect()),
            new: Places::of(new),
            changed: Vec::new(),
        })
    }

    /// Whether any byte of the access moves.
    fn moves(&self, access: &Access) -> bool {
        if access.kind == Kind::Fetch {
            return false;
        }
        let (_, address) = self.trace.owner(access.address);
        let place = self.old.at_or_above(address);
        place.is_some_and(|place| place.start < end_of(access, address))
    }

    /// Adds the accesses that replace this one.
    fn add(&mut self, access: &Access) {
        let (_, address) = self.trace.owner(access.address);
        let memory = access.address - address;
        let end = end_of(access, address);
        let (mut from, mut last) = (address, None::<(u64, u64)>);
        while from < end {
            let (start, bytes) = match self.old.at_or_above(from) {
                Some(place) if place.start <= from => {
                    let (start, bytes) = self.laid[place.object].find(from - place.start);
                    (start, bytes.min(place.end - from))
                }
                Some(place) => (from, place.start - from),
                None => (from, end - from),
            };
            let bytes = bytes.min(end - from);
            from += bytes;
            last = match last {
                Some((first, behind)) if behind == start => Some((first, behind + bytes)),
                Some(range) => {
                    self.push(access, memory, range);
                    Some((start, start + bytes))
                }
                None => Some((start, start + bytes)),
            };
        }
        if let Some(range) = last {
            self.push(access, memory, range);
        }
    }

    fn push(&mut self, access: &Access, memory: u64, (start, end): (u64, u64)) {
        self.changed.push(Access {
            address: memory + start,
            // At most the bytes of the old access.
            size_bytes: (end - start) as u16,
            ..*access
        });
    }
}

/// Returns the address behind an access.
fn end_of(access: &Access, address: u64) -> u64 {
    address.saturating_add(access.size_bytes.max(1).into())
}

impl Rewriter for Layout<'_> {
    fn rewrite(&mut self, accesses: &[Access]) -> Option<&[Access]> {
        let first = accesses.iter().position(|access| self.moves(access))?;
        self.changed.clear();
        self.changed.extend_from_slice(&accesses[..first]);
        for access in &accesses[first..] {
            match self.moves(access) {
                true => self.add(access),
                false => self.changed.push(*access),
            }
        }
        Some(&self.changed)
    }
}

/// Adds an object and those behind it: what is behind an object comes before the object's next one.
fn behind(all: &[Resolved], index: usize, group: &mut Vec<usize>) {
    group.push(index);
    for (next, of) in all.iter().enumerate() {
        if of.behind == Some(index) {
            behind(all, next, group);
        }
    }
}

/// Lays out an object behind `end`; `None` if it is too large. Returns its arrays in order.
fn lay(of: &Resolved, object: usize, end: u64) -> Option<(Laid, Vec<Place>)> {
    let count = of.object.size_bytes().div_ceil(of.element_bytes);
    // By array: the bytes of its elements.
    let mut sizes = vec![0];
    let mut pieces = Vec::new();
    for (from, to, array) in whole(of) {
        if array >= sizes.len() {
            sizes.resize(array + 1, 0);
        }
        pieces.push((from, to, array, sizes[array]));
        sizes[array] += to - from;
    }
    sizes[0] = of.pad_to_bytes.unwrap_or(sizes[0]);
    let mut arrays: Vec<Place> = Vec::new();
    let mut next = end;
    for (array, &size) in sizes.iter().enumerate() {
        let align = match array {
            0 => of.align_bytes,
            _ => of.align_bytes.max(1 << LINE_SHIFT),
        };
        let start = next.checked_next_multiple_of(align)?;
        next = start.checked_add(count.checked_mul(size)?)?;
        arrays.push(Place {
            start,
            end: next,
            object,
        });
    }
    let piece = |&(from, to, array, offset): &(u64, u64, usize, u64)| Piece {
        from,
        to,
        start: arrays[array].start + offset,
        stride: sizes[array],
    };
    let laid = Laid {
        element_bytes: of.element_bytes,
        pieces: pieces.iter().map(piece).collect(),
    };
    arrays.retain(|place| place.start < place.end);
    Some((laid, arrays))
}

/// Returns the pieces of an element by first byte: the end, exclusive, and the array of each.
fn whole(of: &Resolved) -> Vec<(u64, u64, usize)> {
    let mut split: Vec<_> = of.split.iter().collect();
    split.sort_by_key(|part| part.from);
    let (mut pieces, mut end) = (Vec::new(), 0);
    for part in split {
        if end < part.from {
            pieces.push((end, part.from, 0));
        }
        pieces.push((part.from, part.to, part.array as usize));
        end = part.to;
    }
    if end < of.element_bytes {
        pieces.push((end, of.element_bytes, 0));
    }
    pieces
}
