//! The parallel engine: it reduces a trace, divides it into set partitions, and replays them on all
//! host threads.
//!
//! [`order`] puts the chunks' pieces into replay order; [`set_partition`] numbers the lines of one
//! set partition; [`piece_placement`] computes the core of each piece; [`simulate`] runs the
//! references of a set partition through its caches. [`pass`] does all this for a trace, batch by
//! batch. [`replay`] simulates during the pass; [`prepared`] keeps the reduced streams for later.
//! [`watch`] observes misses. [`checks`] and [`totals`] are the common steps before and after. All
//! counts equal those of [`crate::Replayer`], which uses none of this.

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
