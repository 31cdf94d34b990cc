//! Any machine that the kernel may describe is read as it is, read with assumptions that are
//! stated, or refused with the file. Each test is one kind of machine; the figures of real ones are
//! those of the test trees of hwloc, or of the vendors.

mod caches;
mod cpus;
mod damaged;
mod tree;
