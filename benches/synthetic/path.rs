//! Circular paths through the lines of a buffer, in a seeded random order.
//!
//! An element is four bytes, so a line has sixteen, and a path visits an element once. By Zipf's
//! law with exponent 1, a line is visited in proportion to the inverse of its rank, at least once
//! and at most once per element (Accesstest); or every line is visited once (Srinivasan's
//! benchmark).

use corehop_traces::execution::LINE_SHIFT;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

pub const LINE_BYTES: u64 = 1 << LINE_SHIFT;

/// Elements per line.
const ELEMENTS: u64 = 16;

/// A load, and possibly a store to the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Address of the element.
    pub address: u64,
    /// Whether it is written after the load.
    pub is_written: bool,
}

/// Returns a path by Zipf's law through this many lines from `base` on; this share of its steps
/// writes.
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

/// Returns a path that visits each of these lines from `base` on once; `written` of them are
/// written.
pub fn once(base: u64, lines: u64, written: u64, seed: u64) -> Vec<Step> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let addresses = (0..lines).map(|line| base + line * LINE_BYTES);
    steps(addresses.collect(), written as usize, &mut random)
}

/// Returns the addresses in a random order, with this many of them to be written.
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
