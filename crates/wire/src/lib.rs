//! Code shared by the QEMU plugin and the recorder, which runs in another process.
//!
//! [`ring`] is their shared memory: one writes to it, and the other reads from it. [`elision`]
//! decides which accesses of a code block follow from others. The plugin leaves these out, and the
//! recorder restores them.

#![deny(missing_docs)]

pub mod elision;
pub mod ring;
