//! In which order a walk goes through its lines: always one cycle through all of them.
//!
//! An order is a successor for each line. If it fell apart into several cycles, a walk would stay
//! in a short one and measure a smaller cache than it was meant for.

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
    strided(lines, 1)
}

/// The successors of `lines` lines at a fixed stride too long for a prefetcher to follow: about
/// the golden section of the whole, so that lines near each other in memory are far apart in time.
pub fn circular(lines: u32) -> Vec<u32> {
    const GOLDEN_SECTION: f64 = 0.618_033_988_749_895;
    let mut stride = ((f64::from(lines) * GOLDEN_SECTION) as u32).max(1);
    while common_divisor(stride, lines) > 1 {
        stride += 1;
    }
    strided(lines, stride)
}

fn strided(lines: u32, stride: u32) -> Vec<u32> {
    let after = |line: u32| (u64::from(line) + u64::from(stride)) % u64::from(lines);
    (0..lines).map(|line| after(line) as u32).collect()
}

fn common_divisor(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        _ => common_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// How many lines a walk from line 0 meets before it is back there.
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
            for next in [random, sequential(lines), circular(lines)] {
                prop_assert_eq!(next.len(), lines as usize);
                prop_assert_eq!(length_of_cycle(&next), lines as usize);
            }
        }
    }

    #[test]
    fn a_circular_path_never_goes_on_to_a_neighbour() {
        for lines in [40_960_u32, 5120, 20_480] {
            let stride = circular(lines)[0];
            assert!(
                stride > lines / 2 && stride < lines * 2 / 3,
                "{stride} of {lines}"
            );
        }
    }
}
