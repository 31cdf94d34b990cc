//! Other programs that corehop starts: how they are found, watched and ended.
//!
//! A program is looked up in PATH the way a shell does ([`find`]), and what the system starts for
//! it may be its interpreter ([`started()`]). A started one ([`Process`]) leads a process group of
//! its own, so that it can be ended with all that it has started; a server may leave that group,
//! and is followed wherever it goes ([`Tree`]). Some are Python programs of this repository
//! ([`python_program`]). What wakes a CPU can be kept out of what is measured ([`Awake`]).

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
