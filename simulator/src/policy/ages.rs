//! When each way of each set was last touched, as policies count it.
//!
//! A touch is one store, and touches of one set do not wait for each other; the oldest way is found
//! by looking at all of them, which only a fill has to do. The alternative, each set's ways in
//! order, packed into a word, has the last way at hand, but makes of every touch a chain of a dozen
//! operations that the next touch of the set must wait for: replays took half as long again.

/// Bits of a key that number the way; machines have no more than 251.
const WAY_BITS: u32 = 8;

/// The ages of all sets of one cache.
#[derive(Clone)]
pub(super) struct Ages {
    ways: usize,
    /// By set and way: when it was touched, above the number of the way; an empty way's time is 0.
    keys: Vec<u64>,
    now: u64,
}

impl Ages {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        let set = 0..ways as u64;
        Ages {
            ways,
            keys: (0..sets).flat_map(|_| set.clone()).collect(),
            now: 0,
        }
    }

    /// Makes `way` the newest.
    #[inline(always)]
    pub(super) fn touch(&mut self, set: usize, way: usize) {
        self.now += 1 << WAY_BITS;
        self.keys[set * self.ways + way] = self.now | way as u64;
    }

    /// Makes the oldest way the newest, an empty one if there is any; says which it was.
    #[inline(always)]
    pub(super) fn renew_oldest(&mut self, set: usize) -> usize {
        let first = set * self.ways;
        let keys = &self.keys[first..first + self.ways];
        let oldest = match <&[u64; 8]>::try_from(keys) {
            // So many have most first and second levels. A tree of minima has no long chain.
            Ok(&[a, b, c, d, e, f, g, h]) => (a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h))),
            Err(_) => keys.iter().copied().min().unwrap_or(0),
        };
        let way = (oldest & ((1 << WAY_BITS) - 1)) as usize;
        self.touch(set, way);
        way
    }

    /// Makes `way` as old as one that was never touched.
    #[inline(always)]
    pub(super) fn forget(&mut self, set: usize, way: usize) {
        self.keys[set * self.ways + way] = way as u64;
    }
}
