//! A repeatable measurement: a walk through memory or code, timed per step.
//!
//! A walk's steps depend on each other, so its time per step is a latency and not a rate. A walk
//! continues where it stopped, so that short repetitions together cover all of a large size.

use crate::calibration::clock::nanoseconds_of;
use crate::calibration::error::Error;
use crate::calibration::native::chain::Chain;
use crate::calibration::native::follow::IN_A_ROUND;
use crate::calibration::native::jumps::Jumps;
use crate::calibration::native::mapping::{Mapping, Pages};
use crate::calibration::orders;
use corehop_simulator::machine::LINE_SIZE_BYTES;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const LINE_BYTES: usize = LINE_SIZE_BYTES as usize;
/// Rounds of loads in a repetition: 4096 loads, 400 us where each comes from memory.
const ROUNDS: usize = 256;
/// Bytes in a small page.
pub const PAGE_BYTES: usize = 4096;
/// Lines of a walk through memory, each in a separate cell, so that small pages have an effect.
pub const FLUSHED_LINES: usize = 4096;
pub const CELL_BYTES: usize = 16 << 10;
/// Fewest jumps in a repetition.
const JUMPS: usize = 4096;

/// A measurement that can be repeated.
pub trait Repeated {
    /// Brings its data to the level where it will be measured.
    fn warm_up(&mut self);
    /// Runs one repetition. Returns the nanoseconds per step.
    fn repeat(&mut self) -> f64;
}

/// Order in which a walk visits lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A random cycle, which no prefetcher can follow.
    Random,
    /// Line after line.
    Sequential,
}

/// Returns the successors of this many lines; equal seeds give equal orders.
fn successors(order: Order, lines: u32) -> Vec<u32> {
    match order {
        Order::Random => {
            let mut random = ChaCha8Rng::seed_from_u64(lines.into());
            orders::random(lines, &mut random)
        }
        Order::Sequential => orders::sequential(lines),
    }
}

/// Maps this much memory, for one walk or several successive walks.
pub fn memory(bytes: u64, pages: Pages) -> Result<Mapping, Error> {
    Mapping::new(bytes as usize, pages).map_err(|source| Error::Memory { bytes, source })
}

/// Loads that visit all lines of a range.
pub struct Walk {
    chain: Chain,
    lines: usize,
}

impl Walk {
    /// Creates a walk through the first `bytes` of a mapping, at least one line.
    pub fn through(mapping: Mapping, bytes: u64, order: Order) -> Walk {
        let lines = (bytes as usize / LINE_BYTES).max(1);
        let next = successors(order, lines as u32);
        let chain = Chain::new(mapping, &next, |line| line * LINE_BYTES);
        Walk { chain, lines }
    }

    /// Creates a walk through this much newly mapped memory.
    pub fn of(bytes: u64, order: Order, pages: Pages) -> Result<Walk, Error> {
        Ok(Walk::through(memory(bytes, pages)?, bytes, order))
    }

    /// Whether any of it is in huge pages.
    pub fn is_huge(&self) -> bool {
        self.chain.is_huge()
    }

    /// Returns the memory, for another walk.
    pub fn into_mapping(self) -> Mapping {
        self.chain.into_mapping()
    }
}

impl Repeated for Walk {
    /// Walks twice around if that is quick: the second time finds the lines that the first brought
    /// in, as later repetitions do.
    fn warm_up(&mut self) {
        const MANY_LINES: usize = 1 << 20;
        let times = if self.lines > MANY_LINES { 1 } else { 2 };
        self.chain.pass(times * self.lines);
    }

    fn repeat(&mut self) -> f64 {
        nanoseconds_of(|| self.chain.follow(ROUNDS)) / (ROUNDS * IN_A_ROUND) as f64
    }
}

/// Loads of one line in each cell of memory. If a cell is a page, the TLBs have as many pages to
/// hold as the caches lines.
pub struct CellWalk {
    chain: Chain,
    cells: usize,
}

impl CellWalk {
    /// Creates a walk over this many cells of so many bytes, in such pages.
    pub fn new(cells: usize, cell_bytes: usize, pages: Pages) -> Result<CellWalk, Error> {
        const LINES: usize = PAGE_BYTES / LINE_BYTES;
        // The lines are in all sets of an L1D and of an L2.
        let place = |cell: usize| cell * cell_bytes + (cell + cell / LINES) % LINES * LINE_BYTES;
        let next = successors(Order::Random, cells as u32);
        let mapping = memory((cells * cell_bytes) as u64, pages)?;
        let chain = Chain::new(mapping, &next, place);
        Ok(CellWalk { chain, cells })
    }
}

impl Repeated for CellWalk {
    fn warm_up(&mut self) {
        self.chain.pass(2 * self.cells);
    }

    fn repeat(&mut self) -> f64 {
        nanoseconds_of(|| self.chain.follow(ROUNDS)) / (ROUNDS * IN_A_ROUND) as f64
    }
}

/// Loads of lines that were flushed from all caches before: the latency of memory, whatever the
/// size of the caches.
pub struct FlushedWalk {
    chain: Chain,
    places: Vec<usize>,
}

impl FlushedWalk {
    /// Creates a walk over lines that lie far apart, in such pages.
    pub fn new(pages: Pages) -> Result<FlushedWalk, Error> {
        let mut random = ChaCha8Rng::seed_from_u64(FLUSHED_LINES as u64);
        let mut place = |cell: usize| {
            let line = random.random_range(0..CELL_BYTES / LINE_BYTES);
            cell * CELL_BYTES + line * LINE_BYTES
        };
        let places: Vec<usize> = (0..FLUSHED_LINES).map(&mut place).collect();
        let next = successors(Order::Random, FLUSHED_LINES as u32);
        let mapping = memory((FLUSHED_LINES * CELL_BYTES) as u64, pages)?;
        let chain = Chain::new(mapping, &next, |line| places[line]);
        Ok(FlushedWalk { chain, places })
    }
}

impl Repeated for FlushedWalk {
    fn warm_up(&mut self) {
        self.chain.pass(FLUSHED_LINES);
    }

    fn repeat(&mut self) -> f64 {
        self.chain.flush(&self.places);
        nanoseconds_of(|| self.chain.pass(FLUSHED_LINES)) / FLUSHED_LINES as f64
    }
}

/// Jumps that visit all lines of a range of code.
pub struct CodeWalk {
    jumps: Jumps,
    lines: usize,
}

impl CodeWalk {
    /// Creates a walk through this many bytes of code.
    ///
    /// # Errors
    /// The system error if programs may not create code.
    pub fn of(bytes: u64) -> std::io::Result<CodeWalk> {
        /// The last offset in a line where a jump fits.
        const LAST_OFFSET: usize = 59;
        let lines = (bytes as usize / LINE_BYTES).max(1);
        let mut random = ChaCha8Rng::seed_from_u64(lines as u64);
        let mut offset = |_| random.random_range(0..=LAST_OFFSET);
        let offsets: Vec<usize> = (0..lines).map(&mut offset).collect();
        let next = successors(Order::Random, lines as u32);
        let jumps = Jumps::new(&next, |line| offsets[line])?;
        Ok(CodeWalk { jumps, lines })
    }
}

impl Repeated for CodeWalk {
    fn warm_up(&mut self) {
        (0..2 * JUMPS.div_ceil(self.lines)).for_each(|_| self.jumps.run());
    }

    fn repeat(&mut self) -> f64 {
        let passes = JUMPS.div_ceil(self.lines);
        let all = || (0..passes).for_each(|_| self.jumps.run());
        nanoseconds_of(all) / (passes * self.lines) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_walk_takes_time() {
        let mut walks: Vec<Box<dyn Repeated>> = vec![
            Box::new(Walk::of(64, Order::Random, Pages::Small).unwrap()),
            Box::new(Walk::of(9000, Order::Sequential, Pages::Huge).unwrap()),
            Box::new(Walk::of(65_536, Order::Random, Pages::Small).unwrap()),
            Box::new(CodeWalk::of(16_384).unwrap()),
            Box::new(CellWalk::new(100, PAGE_BYTES, Pages::Small).unwrap()),
        ];
        for walk in &mut walks {
            walk.warm_up();
            assert!(walk.repeat() > 0.0);
        }
    }
}
