//! The replay as it is run: condensed, cut into residues, on all host threads.
//!
//! [`condense`] makes a block of the trace into short streams, one a residue, and [`stream`] keeps
//! them; [`order`] puts the blocks' pieces into replay order; [`shard`] numbers the lines of a
//! residue; [`placement`] says which core each piece runs on; [`simulate`] runs a shard through its
//! caches. [`pass`] does all this for a trace, batch by batch. [`replay`] simulates on the way;
//! [`prepared`] keeps the condensed streams for later, without the touches that [`certain`] leaves
//! out, [`alone`] runs one core of them, and [`unavoidable`] counts what any core must miss of
//! them. Equal, on every count, to [`crate::Replayer`], which knows nothing of all this.

pub(crate) mod alone;
pub(crate) mod certain;
pub(crate) mod condense;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod pass;
pub(crate) mod placement;
pub(crate) mod prepared;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod shard;
pub(crate) mod simulate;
pub(crate) mod stream;
pub(crate) mod unavoidable;
