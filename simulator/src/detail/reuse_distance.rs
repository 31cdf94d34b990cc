//! How many distinct lines lie between two accesses to the same line: the LRU stack distance.
//!
//! A fully associative LRU cache of n lines misses exactly the accesses whose distance is n or more
//! and the first references, so one histogram tells the misses of every size at once (Mattson et
//! al., "Evaluation techniques for storage hierarchies", 1970). Searching the stack itself takes as
//! long as the distance. Instead every line has a mark on a time line, at its last access, and the
//! distance is the number of later marks (Bennett and Kruskal, "LRU stack processing", 1975),
//! counted by a Fenwick tree in O(log n). A balanced tree (Olken, 1981) counts the same, at a
//! pointer or two for each line; here 64 marks are one word, and the tree stands on words.

use crate::ids::LineId;
use corehop_traces::Kind;
use serde::Serialize;

/// The line was never accessed.
const NEVER: u32 = u32::MAX;

/// Times before the first compaction; a multiple of 64.
const FEWEST_TIMES: usize = 256;

/// Lines in order of their last access, without the list: it tells an access's distance.
///
/// Lines are numbered by the caller, densely from 0.
pub struct LruStack {
    /// For each line the time of its last access, or [`NEVER`].
    last: Vec<u32>,
    /// Bit `t % 64` of word `t / 64`: time `t` is some line's last access.
    marks: Vec<u64>,
    /// Fenwick tree, from 1, over the number of marks in each word.
    tree: Vec<u32>,
    /// The next time. The time before it is always marked, once there was an access.
    now: u32,
    /// Marks, which is distinct lines.
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
    /// Accesses `line`; returns how many other lines were accessed since its last access, or `None`
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

    /// Adds to the count of a word; one less is added as the largest number, which wraps.
    fn add(&mut self, word: usize, marks: u32) {
        let mut node = word + 1;
        while node < self.tree.len() {
            self.tree[node] = self.tree[node].wrapping_add(marks);
            node += node & node.wrapping_neg();
        }
    }

    /// Closes the gaps that old accesses left, which keeps the order, and makes room for three
    /// times as many accesses as there are lines.
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

/// How many accesses have which distance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distances {
    /// Accesses to lines that were never accessed before.
    pub first_touches: u64,
    /// Entry 0: accesses to the line accessed last. Entry k: those with 2^(k-1) or more and fewer
    /// than 2^k other lines since the last access to the same line.
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

    /// All accesses.
    pub fn accesses(&self) -> u64 {
        self.first_touches + self.buckets.iter().sum::<u64>()
    }

    /// What an empty, fully associative LRU cache of 2^`log2_lines` lines would miss of these.
    pub fn misses(&self, log2_lines: u32) -> u64 {
        let beyond = self.buckets.iter().skip(log2_lines as usize + 1);
        self.first_touches + beyond.sum::<u64>()
    }
}

/// Stack distances of all accesses of a replay. There is one stack, of code and data together as
/// in an L2; which histogram counts an access depends on its own kind alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReuseDistances {
    /// Of fetches.
    pub fetches: Distances,
    /// Of loads and stores.
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
