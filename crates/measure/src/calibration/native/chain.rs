//! A closed chain of pointers in a mapping.
//!
//! Invariant that makes following them safe: each node's word holds the address of a node.

use super::follow::{IN_A_ROUND, follow};
use super::mapping::Mapping;
use std::arch::asm;

/// A closed chain of nodes, and the current position of a walk.
pub struct Chain {
    mapping: Mapping,
    at: *const u8,
}

impl Chain {
    /// Node `i` lies at `place(i)` bytes from the mapping's start, and `next[i]` comes after it.
    ///
    /// # Panics
    /// If there is no node, if a successor is not a node, or if a node lies outside the mapping.
    pub fn new(mut mapping: Mapping, next: &[u32], place: impl Fn(usize) -> usize) -> Chain {
        assert!(!next.is_empty());
        for (node, &successor) in next.iter().enumerate() {
            assert!((successor as usize) < next.len());
            mapping.link(place(node), place(successor as usize));
        }
        let at = mapping.start().wrapping_add(place(0));
        Chain { mapping, at }
    }

    /// Follows the chain for this many rounds of [`IN_A_ROUND`] nodes, at least one.
    pub fn follow(&mut self, rounds: usize) {
        // SAFETY: `new` linked each word on the path to the next node, in memory of this mapping.
        self.at = unsafe { follow(self.at, rounds) };
    }

    /// Follows a chain of this many nodes once around, rounded up to whole rounds.
    pub fn pass(&mut self, nodes: usize) {
        self.follow(nodes.div_ceil(IN_A_ROUND));
    }

    /// Flushes the lines at these places, in bytes from the mapping's start, from all caches.
    ///
    /// # Panics
    /// If a place lies outside the mapping.
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

    /// Returns the memory, for another chain.
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
