//! Decompresses a chunk: the templates and addresses of all its executions, with matches expanded.
//!
//! It serves readers that need complete accesses. A match may refer to the beginning of its chunk,
//! so the whole chunk is decompressed before playing.

use crate::codec::address::{Explicit, Predictor};
use crate::format::chunk::Chunk;
use std::slice::Iter;

/// A chunk's executions, decompressed.
#[derive(Default)]
pub struct Decompressed {
    /// For each execution, the index of its template among those of the chunk.
    pub places: Vec<u16>,
    /// Addresses of all data accesses, execution by execution.
    pub addresses: Vec<u64>,
}

/// The part of a chunk that is not yet decompressed.
struct Rest<'b> {
    places: &'b [u16],
    hows: &'b [u8],
    explicit: Iter<'b, Explicit>,
    predictor: Predictor,
    /// By index of a template: its first slot; the last element is the end.
    slots: Vec<usize>,
}

impl Decompressed {
    /// Decompresses a chunk; `data_counts` has the number of data accesses of each of its
    /// templates.
    pub fn decompress(&mut self, chunk: &Chunk, data_counts: impl Iterator<Item = u32>) {
        self.places.clear();
        self.addresses.clear();
        let mut slots = vec![0];
        slots.extend(data_counts.scan(0, |sum, count| {
            *sum += count as usize;
            Some(*sum)
        }));
        let mut rest = Rest {
            places: &chunk.places,
            hows: &chunk.hows,
            explicit: chunk.explicit.iter(),
            predictor: Predictor::new(&chunk.bases),
            slots,
        };
        for matched in &chunk.matches {
            self.take(&mut rest, matched.place as usize - self.places.len());
            let source = matched.source();
            let data = chunk.bounds.data(source.clone());
            self.places
                .extend_from_within(source.start as usize..source.end as usize);
            self.addresses.extend_from_within(data);
        }
        let last = rest.places.len();
        self.take(&mut rest, last);
    }

    fn take(&mut self, rest: &mut Rest<'_>, count: usize) {
        let (own, later) = rest.places.split_at(count);
        rest.places = later;
        self.places.extend_from_slice(own);
        for &place in own {
            let place = usize::from(place);
            let (first, next) = (rest.slots[place], rest.slots[place + 1]);
            let (hows, later) = rest.hows.split_at(next - first);
            rest.hows = later;
            rest.predictor
                .decode(first, hows, &mut rest.explicit, &mut self.addresses);
        }
    }
}
