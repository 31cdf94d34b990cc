//! The corehop trace: everything a server referenced while it served requests, in one order.
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
//! Five folders hold the code, and each uses only those before it: what a trace says (`model`), how
//! it gets small (`codec`), how it stands in its file (`format`), how it is read (`read`), and how
//! it is written (`write`). On top of them, [`convert`] reads and writes traces of other tools.
//!
//! ```
//! use corehop_traces::{
//!     CodeBlock, EndReason, Header, Kind, RequestId, Trace, Writer, WriterOptions,
//! };
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
//! assert_eq!(execution.request, Some(RequestId(0)));
//! let kinds: Vec<Kind> = execution.accesses.iter().map(|access| access.kind).collect();
//! assert_eq!(kinds, [Kind::Fetch, Kind::Load]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod codec;
pub mod convert;
mod format;
mod model;
mod read;
pub mod samples;
mod write;

// The generated code knows itself by this path.
use format::trace_capnp;

pub use codec::match_finder::Followed;
pub use codec::template::DataAccess;
pub use codec::trace_filter::TraceFilter;
pub use format::entry::has_magic;
pub use format::rule::{Rule, Violation};
pub use model::address_space::{MAX_OBJECTS, Mapping, Owner};
pub use model::cpu::OnCpu;
pub use model::dependence::{Dependence, Dependent, GENERAL_REGISTERS, Source};
pub use model::error::Error;
pub use model::execution::{self, Access, Execution, Kind};
pub use model::function_name;
pub use model::ids::{FunctionId, RequestId, ThreadId};
pub use model::lasting_call::LastingCall;
pub use model::locator::{Index, physical_address};
pub use model::page::{PAGE_SHIFT, Page};
pub use model::pointer::Pointer;
pub use model::program::{self, CodeBlock, Function, Instruction, Module, Request};
pub use model::recording::{EndReason, Header, Note, Summary, WriterOptions, partial_path};
pub use model::reference::{LineReference, Listener, Played};
pub use model::system_call::SystemCall;
pub use model::thread::Thread;
pub use read::arguments::{ARGUMENTS, Arguments, EnteredCall};
pub use read::calls::{Call, Calls};
pub use read::check::{Finding, Intact, Report, check};
pub use read::executions::{Executions, Tell};
pub use read::open_calls::{OpenCall, OpenCalls};
pub use read::order::OrderSummary;
pub use read::player::{ChunkRef, Player};
pub use read::sizes::ColumnSize;
pub use read::trace::{Ending, Trace};
pub use write::copy::{Addition, Chosen, UNWATCHED, Watched, copy, copy_chosen, copy_with};
pub use write::writer::Writer;
