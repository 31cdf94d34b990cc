//! What the plugin inside QEMU and the recorder beside it have in common.
//!
//! [`ring`] is the shared memory through which one writes what the other reads. [`elision`] decides
//! which accesses of a code block follow from others: the plugin leaves them out, and the recorder
//! restores them.

#![deny(missing_docs)]

pub mod elision;
pub mod ring;
