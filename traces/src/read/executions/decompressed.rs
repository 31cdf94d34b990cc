//! Decompresses a chunk: the templates and addresses of all its executions, matches copied out.
//!
//! Whoever wants whole accesses gets them from here. A match may reach back to the beginning of its
//! chunk, so all of a chunk is decompressed when its playing begins.

use crate::codec::address::{Explicit, Predictor};
use crate::format::chunk::Chunk;
use std::slice::Iter;

/// A chunk's executions, decompressed.
#[derive(Default)]
pub struct Decompressed {
    /// Of every execution, place of its template among those of the chunk.
    pub places: Vec<u16>,
    /// Of all data accesses, execution by execution.
    pub addresses: Vec<u64>,
}

/// What of a chunk is not yet decompressed.
struct Rest<'b> {
    places: &'b [u16],
    hows: &'b [u8],
    explicit: Iter<'b, Explicit>,
    predictor: Predictor,
    /// By place of a template: the first of its slots, and of the next one's.
    slots: Vec<usize>,
}

impl Decompressed {
    /// Decompresses a chunk; `data_counts` are those of its templates.
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
