//! The recorder: runs a server under QEMU with the plugin, and writes its accesses as a trace.
//!
//! The plugin writes into memory shared with this process. This process runs on another core,
//! builds the trace's columns, compresses them and writes them. Reading order: `recording` contains
//! the steps, `session` the loop, `transcript` converts words to a trace, `binaries` handles the
//! server's files, and `system` creates the guest for recording a whole machine.
//!
//! The crate prints nothing and reads no command line. [`Options`] are the parameters, an
//! [`Observer`] receives events, and an [`Error`] describes why a recording failed.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod allocator;
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

pub use allocator::{Allocator, NoAllocator};
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
