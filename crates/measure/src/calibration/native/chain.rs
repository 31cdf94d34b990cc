//! Pointers in a mapping that lead from node to node and at the end back to the first.
//!
//! The invariant that makes following them safe: every node's word holds the address of a node.

use super::follow::{IN_A_ROUND, follow};
use super::mapping::Mapping;
use std::arch::asm;

/// A closed chain of nodes, and where on it a walk is.
pub struct Chain {
    mapping: Mapping,
    at: *const u8,
}

impl Chain {
    /// Node `i` lies at `place(i)` bytes from the mapping's start, and `next[i]` comes after it.
    ///
    /// # Panics
    /// When there is no node, one names a successor that is none, or lies outside the mapping.
    pub fn new(mut mapping: Mapping, next: &[u32], place: impl Fn(usize) -> usize) -> Chain {
        assert!(!next.is_empty());
        for (node, &successor) in next.iter().enumerate() {
            assert!((successor as usize) < next.len());
            mapping.link(place(node), place(successor as usize));
        }
        let at = mapping.start().wrapping_add(place(0));
        Chain { mapping, at }
    }

    /// Goes on for so many rounds of [`IN_A_ROUND`] nodes, at least one.
    pub fn follow(&mut self, rounds: usize) {
        // SAFETY: every word on the way was linked by `new` to the next, in memory that is ours.
        self.at = unsafe { follow(self.at, rounds) };
    }

    /// Goes once around a chain of so many nodes, rounded up to a round.
    pub fn pass(&mut self, nodes: usize) {
        self.follow(nodes.div_ceil(IN_A_ROUND));
    }

    /// Throws the lines at these places, in bytes from the mapping's start, out of all caches.
    ///
    /// # Panics
    /// When a place lies outside the mapping.
    pub fn flush(&self, places: &[usize]) {
        for &place in places {
            assert!(place < self.mapping.size());
            let address = self.mapping.start().wrapping_add(place);
            // SAFETY: the line is mapped, and a flush changes no contents.
            unsafe { asm!("clflush [{}]", in(reg) address, options(nostack)) };
        }
        // SAFETY: a fence has no operands; it waits until the flushes are done.
        unsafe { asm!("mfence", options(nostack)) };
    }

    /// Whether any of its memory is in huge pages.
    pub fn is_huge(&self) -> bool {
        self.mapping.is_huge()
    }

    /// Gives the memory back, for another chain.
    pub fn into_mapping(self) -> Mapping {
        self.mapping
    }
}

#[cfg(test)]
mod tests {
    use super::super::mapping::Pages;
    use super::*;

    #[test]
    fn a_walk_comes_back_to_where_it_began_after_as_many_steps_as_there_are_nodes() {
        let mapping = Mapping::new(4096, Pages::Small).unwrap();
        let next: Vec<u32> = (0..32).map(|node| (node + 5) % 32).collect();
        let mut chain = Chain::new(mapping, &next, |node| node * 64);
        let began = chain.at;
        chain.follow(1);
        assert_eq!(chain.at, began.wrapping_add(16 * 5 % 32 * 64));
        chain.flush(&[0, 64, 128]);
        chain.pass(16);
        assert_eq!(chain.at, began);
    }
}
