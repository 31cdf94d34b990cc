//! Rules that a well-formed plan may still violate.

use crate::destination::{LAST_CALL, MOST_AFTER};
use crate::plan::{MOST_REASON_BYTES, VERSION, VERSION_BY_ARGUMENT};

/// The violated rule, the entry that violates it, and the remedy. `name` is the entry's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
    /// A function by argument, or at one call, in a version that older programs would read.
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
    /// A reason that does not fit on one line.
    #[error("carriers_refuse: a reason has 1 to {MOST_REASON_BYTES} bytes on one line")]
    Reason,
    /// A prediction that counts nothing.
    #[error(
        "[expected]: hops_per_request = {hops}, which is no count: search again, or leave out \
         [expected]"
    )]
    Hops { hops: f64 },
    /// A function that would only be counted.
    #[error("{name}: mode \"count\" migrates no thread: name the function in [request] instead")]
    OnlyCounted { name: String },
    /// A core that is not in the plan.
    #[error("{name}: core {core}, but cores run from 0 to {last}")]
    Core { name: String, core: u32, last: u32 },
    /// More calls before an object gets its core than the runtime can count.
    #[error("{name}: after = {after}, but at most {MOST_AFTER} calls can come before")]
    After { name: String, after: u32 },
    /// A call with number 0, or beyond the runtime's limit.
    #[error("{name}: call = {call}, but calls of a request are numbered from 1 to {LAST_CALL}")]
    Call { name: String, call: u32 },
    /// Numbered calls in a plan without a request function, which would mark the start of requests.
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
    /// A function listed both with single calls and as a whole.
    #[error(
        "{name}: listed with `call` and without: keep the entries with `call`, or the one without"
    )]
    CallsAndAll { name: String },
    /// A function whose listed calls have different modes.
    #[error("{name}: its calls have mode \"enter\" and \"call\": give all of them one mode")]
    Modes { name: String },
    /// An invalid build id.
    #[error("{name}: build_id '{build_id}' is not hexadecimal: copy it from `file {module}`")]
    BuildId {
        name: String,
        build_id: String,
        module: String,
    },
    /// An invalid file offset.
    #[error("{name}: offset {offset:#x} is not a valid file offset")]
    Offset { name: String, offset: u64 },
}
