//! The simulated machine: the number of cores, the sizes of their caches, and the latency of each
//! level.
//!
//! `description` and `processor` hold the types (`processor_tlbs` TLBs by processor), `file` reads
//! them from TOML, `named` finds bundled machines, [`host`] describes this machine, and
//! [`calibrated`] finds its measured values. `rules` checks every rule that the simulator relies on
//! when a machine is read, so that caches need no checks; `impossible` describes the broken rule.
//! `topology` describes which cores are near each other. `translation` describes TLBs and page-walk
//! caches, and `translation_rules` checks them.

pub mod calibrated;
mod description;
mod file;
pub mod host;
mod impossible;
mod named;
mod processor;
mod processor_tlbs;
mod rules;
mod topology;
mod translation;
mod translation_rules;

pub use description::{
    CARRIED_HOP_CYCLES, CORES_MAXIMUM, IdleHop, Inclusion, LINE_SIZE_BYTES, Level, Machine, Policy,
};
pub use impossible::ImpossibleMachine;
pub use processor::Core;
pub use topology::{Distance, Topology};
pub(crate) use translation::bits_below;
pub use translation::{PageSize, Tlb, TlbUse, Translation, WalkCache, WalkStart};
