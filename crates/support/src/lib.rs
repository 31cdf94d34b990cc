//! Code that all stages use: atomic outputs, child processes, formatting, and this machine's CPUs
//! and caches.
//!
//! [`atomic_file`] writes a file completely or not at all. [`processes`] finds, starts and ends
//! other programs. [`mod@format`] formats numbers and names the same in every table, report and
//! message, and [`quantity`] parses numbers with their units. [`topology`] reads the machine's CPUs
//! and the caches that they share. [`whole_file`] reads files that can end.

#![deny(missing_docs)]

pub mod atomic_file;
pub mod format;
pub mod processes;
pub mod quantity;
pub mod topology;
pub mod whole_file;
