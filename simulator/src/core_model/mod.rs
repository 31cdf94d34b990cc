//! Core models: how many cycles a core takes for the instructions and line references of a thread.
//!
//! The cache simulator says what served each reference; a [`CoreModel`] turns that into time. There
//! is a file for each model, and whoever replays with clocks takes the model as a type parameter,
//! so that a reference costs no virtual call.
//!
//! [`InOrder`] adds the latency of the level that served, one reference after the other.
//! [`Interval`] overlaps misses that do not wait for each other, and [`Window`] all that a reorder
//! buffer overlaps, for which they have to know where addresses come from: [`AddressSources`].

#![forbid(unsafe_code)]

mod address_sources;
mod in_order;
mod interval;
mod latest_loads;
mod store_buffer;
mod window;

pub use address_sources::AddressSources;
pub use in_order::InOrder;
pub use interval::Interval;
pub use window::Window;

use crate::Core;
use corehop_traces::Kind;

/// What served a line reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServedBy {
    /// The L1 that the reference went to.
    L1,
    /// The core's L2.
    L2,
    /// The L3.
    L3,
    /// Caches above another L2.
    OtherL2,
    /// Memory.
    Memory,
}

/// One line reference, as it costs time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Fetch, load or store.
    pub kind: Kind,
    /// What served it.
    pub served_by: ServedBy,
    /// The load that this one has to wait for, because the address was computed from it, as the
    /// number of the thread's references that are loads back from here: 1 is the last one before
    /// this reference. 0 where no load is known.
    pub address_from: u8,
    /// Cycles that it takes at least, since a prefetch has still to bring the line; 0 where none
    /// has. Never of a reference that the L1 serves.
    pub at_least_cycles: u32,
    /// Whether it is a store that took the line from caches above another L2, whatever served it.
    pub takes_line: bool,
}

/// Parts of a cycle that clocks count which take instructions at a rate: 2 to this power.
const PARTS: u32 = 16;

/// Parts of a cycle that an instruction takes.
fn parts_per_instruction(core: &Core) -> u64 {
    let per_1000 = u64::from(core.instructions_in_1000_cycles.max(1));
    (((1000u64 << PARTS) + per_1000 / 2) / per_1000).max(1)
}

/// A core with a clock. Each method is called in the order of the thread's program.
pub trait CoreModel {
    /// The next `count` instructions of the thread begin.
    fn instructions(&mut self, count: u32);

    /// The thread makes a reference.
    fn reference(&mut self, reference: Reference);

    /// Another thread comes to the core, or the same one after it was away: whatever was still
    /// outstanding is waited for, and the newcomer's references depend on nothing before them.
    fn switch(&mut self);

    /// Nothing happens on the core until `cycle`, if that is later than now.
    fn wait_until(&mut self, cycle: u64);

    /// The cycle that the core has come to, from 0.
    fn cycle(&self) -> u64;
}
