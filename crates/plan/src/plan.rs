//! The data of a plan: the functions that move a thread, and the results expected by the search.

use crate::destination::{Argument, Destination, Keys};
use serde::{Deserialize, Serialize};

/// Version of a plan in which all functions name a core.
pub const VERSION: u32 = 1;
/// Version of a plan that may contain functions by argument, or at one call of a request; an older
/// corehop rejects it.
pub const VERSION_BY_ARGUMENT: u32 = 2;

/// Maximum length of `carriers_refuse`, in bytes.
pub const MOST_REASON_BYTES: usize = 200;

/// A split of a server over cores, with the data for patching and the results expected by the
/// search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Format version, [`VERSION`] or [`VERSION_BY_ARGUMENT`].
    pub version: u32,
    /// Name of the simulated machine the plan was searched on.
    pub machine: String,
    /// Name of the trace it was searched on, as given by the user.
    pub trace: String,
    /// Number of cores of the plan; the cores of functions are below it, and objects may get any of
    /// them.
    pub cores: u32,
    /// Seed that chose the searched requests.
    pub seed: u64,
    /// Why the `carrier` backend refuses the program as a whole, if the recording shows it: `auto`
    /// then does not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carriers_refuse: Option<String>,
    /// The function whose entries are counted as requests at run time, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// The evaluation by the search; absent in a plan written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// The functions that move a thread; several entries of one function are for different calls.
    #[serde(default, rename = "function")]
    pub functions: Vec<PlannedFunction>,
}

/// A function that is entered once per request. It moves no thread unless it is also one of the
/// plan's functions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Path of the file that contains it.
    pub module: String,
    /// GNU build id of that file, lower-case hexadecimal.
    #[serde(deserialize_with = "lower_case")]
    pub build_id: String,
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Linker symbol.
    pub symbol: String,
}

/// Results of the search on the searched and on the held-out requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Hops per request on the held-out requests.
    pub hops_per_request: f64,
    /// On the searched requests.
    pub searched: Comparison,
    /// On the held-out requests.
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

/// A function whose entry moves the thread, or one of its calls; several calls may be listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct PlannedFunction {
    /// Path of the file that contains it.
    pub module: String,
    /// GNU build id of that file, lower-case hexadecimal.
    pub build_id: String,
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Linker symbol.
    pub symbol: String,
    /// The destination of the thread.
    pub to: Destination,
    /// When the thread moves.
    pub mode: Mode,
}

/// A planned function in file format: see [`Keys`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    module: String,
    #[serde(deserialize_with = "lower_case")]
    build_id: String,
    offset: u64,
    symbol: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    core: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Argument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    mode: Mode,
}

impl TryFrom<Written> for PlannedFunction {
    type Error = String;

    fn try_from(written: Written) -> Result<PlannedFunction, String> {
        let Written {
            core,
            by,
            after,
            call,
            ..
        } = written;
        let keys = Keys {
            core,
            by,
            after,
            call,
        };
        let to = Destination::try_from(keys)
            .map_err(|problem| format!("function {} {problem}", written.symbol))?;
        Ok(PlannedFunction {
            module: written.module,
            build_id: written.build_id,
            offset: written.offset,
            symbol: written.symbol,
            to,
            mode: written.mode,
        })
    }
}

/// Reads a build id. Its digits may be capitals, but are compared with those of files.
fn lower_case<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let mut text = <String as serde::Deserialize>::deserialize(from)?;
    text.make_ascii_lowercase();
    Ok(text)
}

impl From<PlannedFunction> for Written {
    fn from(function: PlannedFunction) -> Written {
        let Keys {
            core,
            by,
            after,
            call,
        } = function.to.into();
        Written {
            module: function.module,
            build_id: function.build_id,
            offset: function.offset,
            symbol: function.symbol,
            core,
            by,
            after,
            call,
            mode: function.mode,
        }
    }
}

/// When a planned function moves the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// On entry; the thread stays there until another planned function moves it.
    Enter,
    /// For the call: on entry, and back to the core it came from when the call returns.
    Call,
    /// Never: the entry is only counted. The patcher uses it for a plan's [`Request`]; no function
    /// of a plan has it.
    Count,
}
