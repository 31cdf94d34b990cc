//! Circular paths through the lines of a buffer, in an order drawn from a seed.
//!
//! An element is four bytes, so a line has sixteen, and a path passes an element once. By Zipf's
//! law with exponent 1 a line is passed in proportion to the inverse of its rank, at least once and
//! no more often than it has elements (Accesstest); or every line once (Srinivasan's benchmark).

use corehop_traces::execution::LINE_SHIFT;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

pub const LINE_BYTES: u64 = 1 << LINE_SHIFT;

/// In a line.
const ELEMENTS: u64 = 16;

/// A load, and perhaps a store to the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Of the element.
    pub address: u64,
    /// Whether it is written once it is read.
    pub is_written: bool,
}

/// A path through so many lines from `base` on, by Zipf's law; this share of its steps writes.
pub fn zipf(base: u64, lines: u64, written: f64, seed: u64) -> Vec<Step> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let harmonic: f64 = (1..=lines).map(|rank| 1.0 / rank as f64).sum();
    let visits = |rank: u64| {
        let share = lines as f64 / harmonic / rank as f64;
        (share.round() as u64).clamp(1, ELEMENTS)
    };
    let mut ranks: Vec<u64> = (1..=lines).collect();
    ranks.shuffle(&mut random);
    let of_line = |(line, rank): (u64, u64)| (0..visits(rank)).map(move |n| (line, n));
    let elements = (0..lines).zip(ranks).flat_map(of_line);
    let addresses = elements.map(|(line, n)| base + line * LINE_BYTES + n * 4);
    let addresses: Vec<u64> = addresses.collect();
    let count = (addresses.len() as f64 * written).round() as usize;
    steps(addresses, count, &mut random)
}

/// A path through so many lines from `base` on, each once; so many of them are written.
pub fn once(base: u64, lines: u64, written: u64, seed: u64) -> Vec<Step> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let addresses = (0..lines).map(|line| base + line * LINE_BYTES);
    steps(addresses.collect(), written as usize, &mut random)
}

/// The addresses in a random order, so many of them to be written.
fn steps(mut addresses: Vec<u64>, written: usize, random: &mut ChaCha8Rng) -> Vec<Step> {
    let mut is_written: Vec<bool> = (0..addresses.len()).map(|place| place < written).collect();
    is_written.shuffle(random);
    addresses.shuffle(random);
    let step = |(address, is_written)| Step {
        address,
        is_written,
    };
    addresses.into_iter().zip(is_written).map(step).collect()
}
