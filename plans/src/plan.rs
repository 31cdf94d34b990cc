//! What a plan says: the functions that move a thread, and what the search expected of that.

use serde::{Deserialize, Serialize};

/// Version of the plan format this library reads and writes.
pub const VERSION: u32 = 1;

/// A split of a server over cores, with what patching needs and what the search expected of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Format version, [`VERSION`].
    pub version: u32,
    /// Name of the simulated machine the plan was searched on.
    pub machine: String,
    /// The trace it was searched on, as the user named it.
    pub trace: String,
    /// Number of cores the plan uses; every function's core is below it.
    pub cores: u32,
    /// Seed that chose the searched requests.
    pub seed: u64,
    /// The function whose entries are counted as requests while the program runs, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// How the search judged its plan; absent in a plan written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// The functions that move a thread.
    #[serde(default, rename = "function")]
    pub functions: Vec<PlannedFunction>,
}

/// A function that is entered once a request. It moves nobody unless it is among the plan's
/// functions too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Path of the file that holds it.
    pub module: String,
    /// GNU build id of that file, lower-case hexadecimal.
    pub build_id: String,
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Linker symbol.
    pub symbol: String,
}

/// What the search found on the requests it used and on those it kept aside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Hops per request on the held-out requests.
    pub hops_per_request: f64,
    /// The requests the search used.
    pub searched: Comparison,
    /// Requests the search did not use.
    pub held_out: Comparison,
}

/// L2 misses with everything on one core, and with the split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Number of requests counted.
    pub requests: u64,
    /// L2 misses of fetches, everything on one core.
    pub baseline_fetch_misses: u64,
    /// L2 misses of loads and stores, everything on one core.
    pub baseline_data_misses: u64,
    /// L2 misses of fetches with the split.
    pub split_fetch_misses: u64,
    /// L2 misses of loads and stores with the split.
    pub split_data_misses: u64,
}

/// One function whose entry moves the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFunction {
    /// Path of the file that holds it.
    pub module: String,
    /// GNU build id of that file, lower-case hexadecimal.
    pub build_id: String,
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Linker symbol.
    pub symbol: String,
    /// Plan core the thread moves to, from 0.
    pub core: u32,
    /// When the thread moves.
    pub mode: Mode,
}

/// When a planned function moves the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// On entry; the thread stays there until another planned function moves it.
    Enter,
    /// For the call: on entry, and back to the core it came from when the call returns.
    Call,
    /// Never: the entry is only counted. It is what the patcher makes of a plan's [`Request`]; no
    /// function of a plan has it.
    Count,
}
