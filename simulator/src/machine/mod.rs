//! The machine that is simulated: how many cores, how large their caches, how slow each level.
//!
//! `description` and `processor` hold the types, `file` reads them from TOML, `named` knows the
//! machines that come with corehop, [`host`] describes the one this runs on, and [`calibrated`]
//! finds what was measured of it. `rules` checks every rule that the simulator relies on when a
//! machine is read, so that a cache never has to; `impossible` says which is broken. `topology` is
//! which cores are near each other, `translation` what translates addresses, with
//! `translation_rules`.

pub mod calibrated;
mod description;
mod file;
pub mod host;
mod impossible;
mod named;
mod processor;
mod rules;
mod topology;
mod translation;
mod translation_rules;

pub use description::{
    CARRIED_HOP_CYCLES, CORES_MAXIMUM, Inclusion, LINE_SIZE_BYTES, Level, Machine, Policy,
};
pub use impossible::ImpossibleMachine;
pub use processor::Core;
pub use topology::{Distance, Topology};
pub(crate) use translation::bits_below;
pub use translation::{PageSize, Tlb, TlbUse, Translation, WalkCache, WalkStart};
