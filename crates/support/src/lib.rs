//! What every stage uses and none is about: outputs that appear whole, other programs that are
//! started, numbers and names as people read them, and this machine's CPUs and caches.
//!
//! [`atomic_file`] writes a file whole or not at all. [`processes`] finds, starts and ends other
//! programs. [`mod@format`] writes numbers and names the same in every table, report and message,
//! and [`quantity`] reads numbers with their units. [`topology`] reads which CPUs there are and
//! what they share.

#![deny(missing_docs)]

pub mod atomic_file;
pub mod format;
pub mod processes;
pub mod quantity;
pub mod topology;
