//! The parallel engine: a trace is reduced, divided into set partitions, and replayed on all host
//! threads.
//!
//! [`order`] puts the chunks' pieces into replay order; [`set_partition`] numbers the lines of one
//! set partition; [`piece_placement`] says which core each piece runs on; [`simulate`] runs the
//! references of a set partition through its caches. [`pass`] does all this for a trace, batch by
//! batch. [`replay`] simulates on the way; [`prepared`] keeps the reduced streams for later.
//! [`watch`] is told of misses meanwhile. [`checks`] is what both do before, [`totals`]
//! what they do after. Equal, on every count, to [`crate::Replayer`], which knows nothing of all
//! this.

pub(crate) mod checks;
pub(crate) mod order;
pub(crate) mod pass;
pub(crate) mod piece_placement;
pub(crate) mod prepared;
pub(crate) mod replay;
pub(crate) mod set_partition;
pub(crate) mod simulate;
pub(crate) mod totals;
pub(crate) mod watch;
