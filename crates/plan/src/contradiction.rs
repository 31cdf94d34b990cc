//! The rules that a well-formed plan may still break.

use crate::destination::{LAST_CALL, MOST_AFTER};
use crate::plan::{MOST_REASON_BYTES, VERSION, VERSION_BY_ARGUMENT};

/// The rule that a plan breaks, by which entry, and what to do. `name` is the entry's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The fields are what the messages say of them.
#[non_exhaustive]
pub enum Contradiction {
    /// A plan of another corehop.
    #[error(
        "plan version {version}, but this corehop reads versions {first} and {last}: use the \
         corehop that wrote it, or search again",
        first = VERSION,
        last = VERSION_BY_ARGUMENT
    )]
    Version { version: u64 },
    /// A function by argument, or at one call, where an older corehop would read on.
    #[error(
        "{name}: `{key}` is of plan version {VERSION_BY_ARGUMENT}: begin the plan with `version = \
         {VERSION_BY_ARGUMENT}`, by which a corehop that does not know it refuses the plan"
    )]
    TooOld { name: String, key: &'static str },
    /// A plan for no core.
    #[error("cores = 0: a plan needs at least one core")]
    NoCores,
    /// A seed that TOML cannot hold.
    #[error("seed {seed}: TOML integers end at {last}", last = i64::MAX)]
    Seed { seed: u64 },
    /// A reason that does not fit a line.
    #[error("carriers_refuse: a reason has 1 to {MOST_REASON_BYTES} bytes on one line")]
    Reason,
    /// A function that is only counted.
    #[error("{name}: mode \"count\" migrates no thread: name the function in [request] instead")]
    OnlyCounted { name: String },
    /// A core that the plan does not have.
    #[error("{name}: core {core}, but cores run from 0 to {last}")]
    Core { name: String, core: u32, last: u32 },
    /// More calls than are counted before an object gets its core.
    #[error("{name}: after = {after}, but at most {MOST_AFTER} calls can come before")]
    After { name: String, after: u32 },
    /// A call that no request has, or that is beyond what is counted.
    #[error("{name}: call = {call}, but calls of a request are numbered from 1 to {LAST_CALL}")]
    Call { name: String, call: u32 },
    /// Calls of requests that nobody sees begin.
    #[error(
        "{name}: `call` counts from where a request begins: name the function that each request \
         enters in [request]"
    )]
    NoRequest { name: String },
    /// Two entries of one function.
    #[error("{name}: listed twice: keep one of the entries")]
    Twice { name: String },
    /// Two entries of one call of a function.
    #[error("{name}: call = {call} is listed twice: keep one of the entries")]
    CallTwice { name: String, call: u32 },
    /// A function of which single calls are listed, and all of them.
    #[error(
        "{name}: listed with `call` and without: keep the entries with `call`, or the one without"
    )]
    CallsAndAll { name: String },
    /// A function that goes back when some of the calls listed end, and not when others do.
    #[error("{name}: its calls have mode \"enter\" and \"call\": give all of them one mode")]
    Modes { name: String },
    /// A build id that none can be.
    #[error("{name}: build_id '{build_id}' is not hexadecimal: copy it from `file {module}`")]
    BuildId {
        name: String,
        build_id: String,
        module: String,
    },
    /// An offset beyond all files.
    #[error("{name}: offset {offset:#x} is not a valid file offset")]
    Offset { name: String, offset: u64 },
}
