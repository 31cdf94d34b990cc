//! The shared memory between the recording plugin (many threads of a server) and the recorder.
//!
//! The plugin runs inside a user's server. So its hot path takes no lock, allocates nothing, and
//! waits only if the recorder is a whole memory behind. It writes 8-byte [`word`]s into a chunk
//! that it owns and publishes its progress. A pipe would cost a system call per few thousand words,
//! and a killed server would lose the words in its buffers. Words that were published here survive
//! it, because the memory does.
//!
//! The memory contains two kinds of streams. *Data*: each thread's [`Stream`] of words, in chunks,
//! read by [`Drain`]. *Control*: [`Message`]s that define what data refers to, under a lock because
//! they are rare. A definition is sent before the first word that needs it, and [`Drain`] passes
//! control before data, so a reader never sees an unknown number.
//!
//! ```
//! use corehop_wire::ring::{Drain, Event, Memory, Message, Piece, Settings, Sink, Stream};
//! use std::convert::Infallible;
//!
//! struct Collect(Vec<Event>);
//! impl Sink for Collect {
//!     type Error = Infallible;
//!     fn message(&mut self, _: Message) -> Result<(), Infallible> {
//!         Ok(())
//!     }
//!     fn piece(&mut self, piece: Piece<'_>) -> Result<(), Infallible> {
//!         self.0.extend(piece.events());
//!         Ok(())
//!     }
//! }
//!
//! let (memory, _file) = Memory::create(&Settings::default())?;
//! let mut stream = Stream::idle();
//! stream.begin(&memory, 10, 11)?;
//! stream.push(Event::Execution { code_block: 7 }.encode());
//! let mut collect = Collect(Vec::new());
//! Drain::new(&memory).pass(&mut collect)?;
//! assert_eq!(collect.0, [Event::Stamp(1), Event::Execution { code_block: 7 }]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calls;
mod choice;
mod chunk;
mod control;
mod drain;
mod flag;
mod header;
mod marker;
mod memory;
mod message;
mod offsets;
mod reader;
mod settings;
mod stream;
pub mod word;

pub use choice::{Mark, Requests};
pub use drain::{Drain, Piece, Sink, Words};
pub use marker::{NO_OP, RequestMarker};
pub use memory::{Error, Memory};
pub use message::{HeapChange, LastingCall, Message, Object};
pub use settings::Settings;
pub use stream::{Off, STAMP_EVERY, Stream};
pub use word::Event;
