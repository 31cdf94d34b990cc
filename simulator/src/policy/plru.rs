//! Tree-PLRU: a binary tree of bits over the ways, each bit pointing to the half to give up next.
//!
//! A touch turns every bit on the way's path to the other half. One word holds a set's tree, its
//! root at bit 1 and the children of bit `n` at `2 n` and `2 n + 1`, so a path is the way's binary
//! digits with a one in front. Removing a line turns no bit: hardware does not either.

use super::EMPTY;

#[derive(Clone)]
pub(crate) struct Plru {
    trees: Vec<u64>,
    /// Levels of the tree: the binary logarithm of the number of ways.
    depth: u32,
}

impl Plru {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Plru {
            trees: vec![0; sets],
            depth: ways.trailing_zeros(),
        }
    }

    #[inline]
    pub(super) fn hit(&mut self, set: usize, way: usize) {
        let tree = &mut self.trees[set];
        let leaf = 1 << self.depth | way;
        for level in 1..=self.depth {
            let (node, went) = (leaf >> level, leaf >> (level - 1) & 1);
            *tree = *tree & !(1 << node) | (1 ^ went as u64) << node;
        }
    }

    #[inline]
    pub(super) fn place(&mut self, set: usize, tags: &[u32]) -> usize {
        let empty = tags.iter().position(|&tag| tag == EMPTY);
        let way = empty.unwrap_or_else(|| self.pointed_to(set));
        self.hit(set, way);
        way
    }

    fn pointed_to(&self, set: usize) -> usize {
        let tree = self.trees[set];
        let down = |node: usize, _| (node << 1) | (tree >> node & 1) as usize;
        (0..self.depth).fold(1, down) - (1 << self.depth)
    }
}
