//! The corehop trace: all memory accesses of a server while it serves requests, in one total order.
//!
//! A recorder writes a trace; a replay reads it. A trace contains *executions*: one run of one
//! straight-line code block by one thread, with its loads and stores. A block's instructions are
//! stored once, when the block is first seen. An execution therefore costs only its block's number
//! and its data addresses. Fetches, program counters and function entries follow from the block.
//! Most addresses are predicted and cost almost nothing.
//!
//! A recorder drives a [`Writer`], a replay gets [`Executions`] from a [`Trace`], and [`check`]
//! reports what is wrong with a file. The format is described in `docs/reference/trace-format.md`,
//! and for other programs in `traces/schema/trace.capnp`.
//!
//! The code is in five folders, and each uses only the folders before it: the data model (`model`),
//! compression (`codec`), the file format (`format`), reading (`read`) and writing (`write`). On
//! top of them, [`convert`] reads and writes traces of other tools.
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

// The generated code refers to itself by this path.
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
pub use model::heap_event::{AllocatedObject, HeapEvent};
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
