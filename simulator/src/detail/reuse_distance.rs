//! The LRU stack distance: the number of distinct lines between two accesses to the same line.
//!
//! A fully associative LRU cache of n lines misses exactly the accesses whose distance is n or more
//! and the first references. One histogram therefore gives the misses of every size (Mattson et
//! al., "Evaluation techniques for storage hierarchies", 1970). Searching the stack itself takes
//! time proportional to the distance. Instead, every line has a mark on a time line at its last
//! access. The distance is the number of later marks (Bennett and Kruskal, "LRU stack processing",
//! 1975), counted by a Fenwick tree in O(log n). A balanced tree (Olken, 1981) gives the same
//! counts with one or two pointers for each line; here 64 marks are one word, and the tree is over
//! words.

use crate::ids::LineId;
use corehop_traces::Kind;
use serde::Serialize;

/// Marks a line that was never accessed.
const NEVER: u32 = u32::MAX;

/// Number of times before the first compaction; a multiple of 64.
const FEWEST_TIMES: usize = 256;

/// Computes the distance of each access from the order of last accesses, without keeping a list.
///
/// The caller numbers lines densely from 0.
pub struct LruStack {
    /// For each line, the time of its last access, or [`NEVER`].
    last: Vec<u32>,
    /// Bit `t % 64` of word `t / 64` is set if time `t` is some line's last access.
    marks: Vec<u64>,
    /// Fenwick tree, from 1, over the number of marks in each word.
    tree: Vec<u32>,
    /// The next time. After the first access, the preceding time is always marked.
    now: u32,
    /// Number of marks, which is the number of distinct lines.
    lines: u32,
}

impl Default for LruStack {
    fn default() -> Self {
        LruStack {
            last: Vec::new(),
            marks: vec![0; FEWEST_TIMES / 64],
            tree: vec![0; FEWEST_TIMES / 64 + 1],
            now: 0,
            lines: 0,
        }
    }
}

impl LruStack {
    /// Accesses `line`; returns the number of other lines accessed since its last access, or `None`
    /// on its first.
    pub fn reference(&mut self, line: LineId) -> Option<u32> {
        let line = line.index();
        if line >= self.last.len() {
            self.last.resize(line + 1, NEVER);
        }
        if self.last[line] != NEVER && self.last[line] + 1 == self.now {
            return Some(0);
        }
        if self.now as usize == self.marks.len() * 64 {
            self.compact();
        }
        let distance = match self.last[line] {
            NEVER => {
                self.lines += 1;
                None
            }
            last => {
                let distance = self.lines - 1 - self.marks_before(last);
                self.marks[last as usize / 64] &= !(1 << (last % 64));
                self.add(last as usize / 64, u32::wrapping_sub(0, 1));
                Some(distance)
            }
        };
        self.last[line] = self.now;
        self.marks[self.now as usize / 64] |= 1 << (self.now % 64);
        self.add(self.now as usize / 64, 1);
        self.now += 1;
        distance
    }

    fn marks_before(&self, time: u32) -> u32 {
        let word = time as usize / 64;
        let own = self.marks[word] & ((1 << (time % 64)) - 1);
        let mut before = own.count_ones();
        let mut node = word;
        while node > 0 {
            before += self.tree[node];
            node &= node - 1;
        }
        before
    }

    /// Adds to the count of a word; to subtract one, `marks` is the largest number, which wraps.
    fn add(&mut self, word: usize, marks: u32) {
        let mut node = word + 1;
        while node < self.tree.len() {
            self.tree[node] = self.tree[node].wrapping_add(marks);
            node += node & node.wrapping_neg();
        }
    }

    /// Closes the gaps left by old accesses, preserving the order. Leaves room for three times as
    /// many accesses as there are lines.
    fn compact(&mut self) {
        for line in 0..self.last.len() {
            if self.last[line] != NEVER {
                self.last[line] = self.marks_before(self.last[line]);
            }
        }
        let lines = self.lines as usize;
        let words = (lines * 4).max(FEWEST_TIMES).div_ceil(64);
        self.marks.clear();
        self.marks.resize(lines / 64, u64::MAX);
        self.marks.push((1 << (lines % 64)) - 1);
        self.marks.resize(words, 0);
        self.tree.clear();
        self.tree.resize(words + 1, 0);
        for word in 0..words {
            let node = word + 1;
            self.tree[node] += self.marks[word].count_ones();
            let parent = node + (node & node.wrapping_neg());
            if parent <= words {
                self.tree[parent] += self.tree[node];
            }
        }
        self.now = self.lines;
    }
}

/// A histogram of distances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distances {
    /// Number of accesses to lines that were never accessed before.
    pub first_touches: u64,
    /// Entry 0: accesses to the most recently accessed line. Entry k: accesses with at least
    /// 2^(k-1) and fewer than 2^k other lines since the last access to the same line.
    pub buckets: Vec<u64>,
}

impl Distances {
    fn count(&mut self, distance: Option<u32>) {
        let Some(distance) = distance else {
            self.first_touches += 1;
            return;
        };
        let bucket = (u32::BITS - distance.leading_zeros()) as usize;
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
    }

    /// Returns the number of accesses.
    pub fn accesses(&self) -> u64 {
        self.first_touches + self.buckets.iter().sum::<u64>()
    }

    /// Returns the misses of an initially empty, fully associative LRU cache of 2^`log2_lines`
    /// lines.
    pub fn misses(&self, log2_lines: u32) -> u64 {
        let beyond = self.buckets.iter().skip(log2_lines as usize + 1);
        self.first_touches + beyond.sum::<u64>()
    }
}

/// Stack distances of all accesses of a replay. There is one stack, for code and data together as
/// in an L2; the kind of an access selects its histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReuseDistances {
    /// Distances of fetches.
    pub fetches: Distances,
    /// Distances of loads and stores.
    pub data: Distances,
}

impl ReuseDistances {
    /// Counts an access of this kind and distance, as [`LruStack::reference`] returns it.
    pub fn count(&mut self, kind: Kind, distance: Option<u32>) {
        match kind {
            Kind::Fetch => self.fetches.count(distance),
            Kind::Load | Kind::Store => self.data.count(distance),
        }
    }
}
