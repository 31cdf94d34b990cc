//! Decompresses a chunk: the templates and addresses of its executions, with matches expanded.
//!
//! It serves readers that need complete accesses. A match may refer to the beginning of its chunk,
//! so what is decompressed stays until the next chunk. But it is decompressed only as far as it is
//! read: a chunk is larger than a cache, and the reader finds what was decompressed just before.

use crate::codec::address::Predictor;
use crate::format::chunk::Chunk;

/// A chunk's executions, decompressed up to some place.
#[derive(Default)]
pub struct Decompressed {
    /// For each execution, the index of its template among those of the chunk.
    pub places: Vec<u16>,
    /// Addresses of all data accesses, execution by execution.
    pub addresses: Vec<u64>,
    chunk: Chunk,
    rest: Rest,
    predictor: Predictor,
    /// By index of a template: its first slot; the last element is the end.
    slots: Vec<usize>,
}

/// Where the part of a chunk begins that is not yet decompressed, by index in the chunk's columns.
#[derive(Default)]
struct Rest {
    matches: usize,
    places: usize,
    hows: usize,
    explicit: usize,
}

impl Decompressed {
    /// Begins a chunk, and swaps it with the one before; `data_counts` has the number of data
    /// accesses of each of its templates.
    pub fn begin(&mut self, chunk: &mut Chunk, data_counts: impl Iterator<Item = u32>) {
        std::mem::swap(&mut self.chunk, chunk);
        self.rest = Rest::default();
        self.predictor.begin(&self.chunk.bases);
        self.places.clear();
        self.addresses.clear();
        self.slots.clear();
        self.slots.push(0);
        self.slots.extend(data_counts.scan(0, |sum, count| {
            *sum += count as usize;
            Some(*sum)
        }));
    }

    /// Decompresses at least this many executions of the chunk, or all.
    pub fn reach(&mut self, count: usize) {
        while self.places.len() < count {
            let matched = self.chunk.matches.get(self.rest.matches);
            let literals = match matched {
                Some(matched) => matched.place as usize - self.places.len(),
                None => self.chunk.places.len() - self.rest.places,
            };
            if literals > 0 {
                self.take(literals.min(count - self.places.len()));
                continue;
            }
            let Some(matched) = matched else {
                break;
            };
            let source = matched.source();
            let data = self.chunk.bounds.data(source.clone());
            self.places
                .extend_from_within(source.start as usize..source.end as usize);
            self.addresses.extend_from_within(data);
            self.rest.matches += 1;
        }
    }

    /// Decompresses the next literals.
    fn take(&mut self, count: usize) {
        let (chunk, rest) = (&self.chunk, &mut self.rest);
        let own = &chunk.places[rest.places..][..count];
        rest.places += count;
        self.places.extend_from_slice(own);
        let mut hows = &chunk.hows[rest.hows..];
        let mut explicit = chunk.explicit[rest.explicit..].iter();
        for &place in own {
            let place = usize::from(place);
            let (first, next) = (self.slots[place], self.slots[place + 1]);
            let (of_this, later) = hows.split_at(next - first);
            hows = later;
            self.predictor
                .decode(first, of_this, &mut explicit, &mut self.addresses);
        }
        rest.hows = chunk.hows.len() - hows.len();
        rest.explicit = chunk.explicit.len() - explicit.len();
    }
}
