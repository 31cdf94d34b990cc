//! Measures on the real machine whether a plan makes a server faster.
//!
//! The original and the patched server are started alternately. Each is warmed up and put under the
//! user's own load, and the throughput that the load reports is compared round by round. Other load
//! on the machine then affects both. Rejected: all rounds of one before those of the other, because
//! a drift of the machine looks like a gain; and one long run of each, whose spread is unknown.
//!
//! Nothing is printed here: an [`Observer`] receives a measurement's progress.
//!
//! [`calibration`] measures the machine itself: the latencies of its caches and cores, and the cost
//! of hops.
//!
//! Reading order: `trial` is one start of one side, `server/` has its parts, and `rounds/` compares
//! trials. `machine/` has what the machine can count and what it allows servers to do. `screening/`
//! estimates before a recording whether a server is worth it.

#![deny(missing_docs)]

pub mod calibration;
mod error;
pub mod machine;
mod observer;
pub mod rank;
pub mod rounds;
pub mod screening;
pub mod server;
mod trial;

pub use error::{Error, NoNumber};
pub use observer::Observer;
pub use trial::{Sample, Setup, Side, Trials};
