//! The CPUs of this machine and what they share, as the kernel describes them under
//! `/sys/devices/system/cpu`.
//!
//! [`Topology::read`] reads such a folder once; every question about it goes to the result. The
//! kernel, a hypervisor or a container may leave out any file of it. Reading therefore never fails:
//! a number that is missing is kept as the reason ([`Reading`]), and whoever needs the number
//! decides whether to refuse or what to assume. Only CPUs that are online count.

mod allowed;
mod description;
mod notation;
mod tree;

pub use allowed::allowed;
pub use description::{Cache, Cpu, Holds, Reading, Topology, Unknown};
pub use notation::{CpuNumbers, ranges};
pub use tree::SYSFS;
