//! Other programs that corehop starts: finds, watches and ends them.
//!
//! A program is looked up in PATH as a shell does ([`find`]); the system may start an interpreter
//! for it ([`started()`]). A started one ([`Process`]) leads its own process group, so that it can
//! be ended together with its children. A server may leave that group and is still tracked
//! ([`Tree`]). Some are Python programs of this repository ([`python_program`]). [`Awake`] keeps
//! the time to wake CPUs out of measurements.

#![deny(missing_docs)]

mod awake;
mod in_path;
mod keeper;
mod process;
mod python;
mod started;
mod tree;

pub use awake::Awake;
pub use in_path::{NotInPath, find, installed, is_executable};
pub use keeper::Until;
pub use process::{GRACE, Process, end_with_this_process, fail_writes_beyond_file_limit};
pub use python::{python_program, pythons, unpacked, without_python_variables};
pub use started::{Started, started};
pub use tree::{Tree, descendants};
