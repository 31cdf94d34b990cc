//! Writes hops into an ELF file and verifies what it wrote.
//!
//! [`Analysis`] says which function entries may be patched, [`patch`] writes a patched copy, and
//! [`verify`] re-reads one and checks every promise made about it:
//!
//! ```no_run
//! use std::path::Path;
//! let plan = corehop_plans::read(Path::new("split.toml"))?;
//! let output = Path::new("mariadbd.hop");
//! let patched = corehop_patcher::patch(Path::new("/usr/sbin/mariadbd"), &plan, output, false)?;
//! assert_eq!(patched.hooks.len(), 2);
//! assert!(corehop_patcher::verify(output, None)?.findings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analysis;
mod choose;
mod code;
mod compose;
mod error;
mod exits;
mod functions;
mod hand_over;
mod image;
mod in_memory;
mod note;
mod patch;
mod sites;
mod steal;
mod targets;
mod trampoline;
mod verify;
mod write;

pub use analysis::Analysis;
pub use compose::Hook;
pub use error::{Error, Unhookable};
pub use functions::Function;
pub use in_memory::InMemory;
pub use patch::{Patched, patch, patch_all};
use steal::JUMP_SIZE;
pub use verify::{Verification, verify};
