//! Core models: the cycles that a core takes for the instructions and line references of a thread.
//!
//! The cache simulator determines the level that served each reference; a [`CoreModel`] converts
//! that to time. Each model is in a separate file. A replay with clocks takes the model as a type
//! parameter, so that a reference needs no virtual call.
//!
//! [`InOrder`] adds the latency of the level that served each reference, without overlap.
//! [`Interval`] overlaps independent misses, and [`Window`] everything that a reorder buffer
//! overlaps. Both need to know the sources of addresses: [`AddressSources`].

#![forbid(unsafe_code)]

mod address_sources;
mod arrivals;
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
use crate::ids::LineId;
use corehop_traces::Kind;

/// The level that served a line reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServedBy {
    /// The L1 that the reference accessed.
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

/// The timing-relevant properties of one line reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Fetch, load or store.
    pub kind: Kind,
    /// The line.
    pub line: LineId,
    /// The level that served it.
    pub served_by: ServedBy,
    /// The load that this reference has to wait for, because the address was computed from it. The
    /// value is the distance back in the thread's loads: 1 is the last load before this reference,
    /// 0 means unknown.
    pub address_from: u8,
    /// Minimum number of cycles, because a prefetch is still bringing the line; 0 without a
    /// prefetch. Never set for a reference that the L1 serves.
    pub at_least_cycles: u32,
    /// Whether it is a store that invalidated the line in caches above another L2.
    pub takes_line: bool,
    /// Cycles of its address translation, before its cache access; 0 if a first-level TLB serves
    /// it.
    pub translation_cycles: u32,
}

/// Base-2 logarithm of the parts of a cycle in clocks that execute instructions at a rate.
const PARTS: u32 = 16;

/// Returns the parts of a cycle that an instruction takes.
fn parts_per_instruction(core: &Core) -> u64 {
    let per_1000 = u64::from(core.instructions_in_1000_cycles.max(1));
    (((1000u64 << PARTS) + per_1000 / 2) / per_1000).max(1)
}

/// A core with a clock. Methods are called in the order of the thread's program.
pub trait CoreModel {
    /// Begins the next `count` instructions of the thread.
    fn instructions(&mut self, count: u32);

    /// Makes a reference of the thread.
    fn reference(&mut self, reference: Reference);

    /// Continues elsewhere than predicted: waits until the branch is decided, which depends on this
    /// load (as [`Reference::address_from`]), and for the instructions there.
    fn mispredicted(&mut self, depends_on: u8);

    /// Switches to another thread, or to the same one after it was away. Waits for all outstanding
    /// references; later references do not depend on earlier ones.
    fn switch(&mut self);

    /// Idles until `cycle`, if that is later than now.
    fn wait_until(&mut self, cycle: u64);

    /// Returns the current cycle, from 0.
    fn cycle(&self) -> u64;
}
