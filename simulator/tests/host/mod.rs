//! Every machine that the kernel can describe is either read exactly, read with stated assumptions,
//! or rejected with the file. Each test is one kind of machine; the figures of real ones are from
//! the test trees of hwloc, or from the vendors.

mod caches;
mod cpus;
mod damaged;
mod tree;
