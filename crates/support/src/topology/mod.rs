//! The CPUs of this machine and what they share, as the kernel describes them under
//! `/sys/devices/system/cpu`.
//!
//! [`Topology::read`] reads such a folder once; queries use the result. The kernel, a hypervisor or
//! a container may omit any file of it. Reading therefore never fails: a missing number is kept as
//! the reason ([`Reading`]). The code that needs it either fails or assumes a value. Only CPUs that
//! are online count.

mod allowed;
mod description;
mod distance;
mod notation;
mod tree;

pub use allowed::allowed;
pub use description::{Cache, Cpu, Holds, Reading, Topology, Unknown};
pub use distance::{Distance, NoPair};
pub use notation::{CpuNumbers, list, ranges};
pub use tree::SYSFS;
