//! Writes hops into an ELF file and verifies what it wrote.
//!
//! [`Analysis`] finds the function entries that may be patched, [`patch`] writes a patched copy,
//! and [`verify`] re-reads one and checks every promise made about it:
//!
//! ```no_run
//! use std::path::Path;
//! let plan = corehop_plan::read(Path::new("split.toml"))?;
//! let output = Path::new("mariadbd.hop");
//! let patched = corehop_patcher::patch(Path::new("/usr/sbin/mariadbd"), &plan, output, false)?;
//! assert_eq!(patched.hooks.len(), 2);
//! assert!(corehop_patcher::verify(output, None)?.findings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analyse;
mod apply;
mod elf;
mod emit;
mod error;
mod hook;

pub use analyse::{Analysis, Function, Refusal, STUB_SUFFIX, implementations};
pub use apply::{InMemory, Patched, Verification, patch, patch_all, verify};
pub use elf::Imports;
pub use error::{Error, Unhookable};
pub use hook::Hook;
