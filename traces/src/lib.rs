//! The corehop trace: everything a server touched while it served requests, in one order.
//!
//! A trace is what stands between recording and replay. It holds *executions*: one run of one
//! straight-line code block by one thread, with the loads and stores it made. Which instructions a
//! block holds is written once, when the block is first seen, so an execution costs its block's
//! number and its data addresses and nothing else; fetches, program counters and function entries
//! follow from the block. Of the addresses most are predicted, and cost next to nothing.
//!
//! A recorder drives a [`Writer`], a replay takes [`Executions`] from a [`Trace`], and [`check`]
//! says what is wrong with a file. The format is described in `docs/reference/trace-format.md`, and
//! for other programs in `traces/schema/trace.capnp`.
//!
//! ```
//! use corehop_traces::{CodeBlock, EndReason, Header, Kind, Trace, Writer, WriterOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("bank.trace");
//! let header = Header {
//!     created_by: "an example".into(),
//!     command: vec!["bank-server".into()],
//!     ..Header::default()
//! };
//! let mut writer = Writer::create(&path, &header, &WriterOptions::default())?;
//! let block = writer.code_block(&CodeBlock::new(0x401000, [4]), None)?;
//! let thread = writer.thread(1000, 1001)?;
//! writer.stamp(thread, 1)?;
//! writer.request(thread)?;
//! writer.execution(thread, block)?;
//! writer.data(thread, 0, Kind::Load, 8, 0x7fff_0010)?;
//! writer.finish(EndReason::ServerExited)?;
//!
//! let trace = Trace::open(&path)?;
//! let mut executions = trace.executions();
//! let execution = executions.next()?.expect("there is one");
//! assert_eq!(execution.request, Some(0));
//! let kinds: Vec<Kind> = execution.accesses.iter().map(|access| access.kind).collect();
//! assert_eq!(kinds, [Kind::Fetch, Kind::Load]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod address_space;
mod batch;
mod block;
mod bounds;
mod calls;
mod check;
mod column;
mod contents;
mod copy;
mod cursor;
mod definition;
mod entry;
mod error;
pub mod execution;
mod executions;
mod gaps;
mod history;
mod order;
mod player;
pub mod program;
mod reading;
mod recording;
mod repeats;
mod requests;
mod rule;
mod shape;
mod signals;
mod sink;
mod sizes;
mod sources;
mod spelling;
mod stream;
mod stretch;
mod switches;
mod thin;
mod touch;
mod trace;
// Made from `schema/trace.capnp`, and kept current by a test.
#[allow(clippy::all, clippy::too_many_lines, clippy::undocumented_unsafe_blocks)]
#[allow(unused, unreachable_pub)]
#[rustfmt::skip]
mod trace_capnp;
mod wanted;
mod writer;

pub use address_space::{MAX_OBJECTS, Mapping, Owner};
pub use calls::{Call, Calls};
pub use check::{Finding, Intact, Report, check};
pub use copy::copy;
pub use error::Error;
pub use execution::{Access, Execution, Kind};
pub use executions::Executions;
pub use history::Followed;
pub use order::Order;
pub use player::{BlockRef, Player};
pub use program::{CodeBlock, Function, Instruction, Module, Request};
pub use recording::{EndReason, Header, Note, Summary, WriterOptions, partial_path};
pub use rule::{Rule, Violation};
pub use shape::DataAccess;
pub use sizes::ColumnSize;
pub use thin::Thinner;
pub use touch::{Listener, Played, Touch};
pub use trace::{Ending, Thread, Trace};
pub use writer::Writer;
