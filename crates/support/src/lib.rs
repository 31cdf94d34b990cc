//! What every stage uses and none is about: outputs that appear whole, other programs that are
//! started, and numbers and names as people read them.
//!
//! [`atomic_file`] writes a file whole or not at all. [`processes`] finds, starts and ends other
//! programs. [`mod@format`] writes numbers and names the same in every table, report and message.

#![deny(missing_docs)]

pub mod atomic_file;
pub mod format;
pub mod processes;
