//! The recorder: runs a server under QEMU with the plugin and writes what it references as a trace.
//!
//! The plugin writes into memory that this process shares. This process, on another core, builds
//! the trace's columns, compresses and writes. Reading order: `recording` has the steps, `session`
//! is the loop, `transcript` turns words into a trace, `binaries` knows the server's files, and
//! `system` makes the machine that is recorded with its operating system.
//!
//! The crate prints nothing and reads no command line. [`Options`] say what to record, an
//! [`Observer`] hears of what happens, and an [`Error`] says why a recording failed.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod binaries;
mod choice;
pub mod control;
mod ending;
mod error;
mod events;
mod options;
mod plugin;
mod reading;
mod recording;
mod session;
pub mod system;
pub mod tools;
pub mod trace_file;
pub mod transcript;

pub use binaries::linked::libraries_of;
pub use binaries::marker::Error as MarkerError;
pub use binaries::program::Error as ProgramError;
pub use choice::TooMany;
pub use error::{Error, Stopped};
pub use events::{Event, Observer, Warning};
pub use options::{Options, SystemOptions};
pub use plugin::{CarriedPlugins, Error as PluginError};
pub use reading::Reading;
pub use recording::Prepared;
pub use session::driver::{Driver, Recorded};
pub use session::waiting::Waiting;
