//! Orders in which a walk visits its lines: always one cycle through all of them.
//!
//! An order is a successor for each line. If it fell apart into several cycles, a walk would stay
//! in a short one and measure a smaller cache than intended.

use rand::{Rng, RngExt};

/// The successors of `lines` lines, in a random cycle: Sattolo's algorithm (Sattolo 1986), which
/// never swaps an element with itself and so leaves no second cycle.
pub fn random(lines: u32, random: &mut impl Rng) -> Vec<u32> {
    let mut next: Vec<u32> = (0..lines).collect();
    for last in (1..lines).rev() {
        let other = random.random_range(0..last);
        next.swap(last as usize, other as usize);
    }
    next
}

/// The successors of `lines` lines, each after the one before it in memory.
pub fn sequential(lines: u32) -> Vec<u32> {
    (0..lines).map(|line| (line + 1) % lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Counts the lines that a walk from line 0 visits before it returns there.
    fn length_of_cycle(next: &[u32]) -> usize {
        let mut line = next[0];
        let mut length = 1;
        while line != 0 && length <= next.len() {
            line = next[line as usize];
            length += 1;
        }
        length
    }

    proptest! {
        #[test]
        fn every_order_is_one_cycle_through_all_lines(lines in 1_u32..3000, seed in any::<u64>()) {
            let mut generator = ChaCha8Rng::seed_from_u64(seed);
            let random = random(lines, &mut generator);
            for next in [random, sequential(lines)] {
                prop_assert_eq!(next.len(), lines as usize);
                prop_assert_eq!(length_of_cycle(&next), lines as usize);
            }
        }
    }
}
