//! Whether a plan makes a server faster, on the real machine.
//!
//! Original and patched are started in turn, each warmed up and put under the user's own load, and
//! what that load says of throughput is compared, round by round. Whatever else the machine does
//! then falls on both. Rejected: all rounds of one, then all of the other, which takes a drift of
//! the machine for a gain; and one long run of each, whose spread nobody knows.
//!
//! Nothing is printed here: an [`Observer`] is told how far a measurement is.
//!
//! [`calibration`] measures the machine itself: what its caches, cores and hops cost.
//!
//! Reading order: `trial` is one start of one side, `server/` has its parts, `rounds/` compares
//! trials, and `machine/` is what the machine counts and lets servers do. `screening/` says before
//! any of that whether a server is worth recording.

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
