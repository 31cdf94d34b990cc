//! Errors of a machine or of the input of a replay.

use crate::machine::ImpossibleMachine;
use corehop_plan::Destination;
use corehop_traces::RequestId;
use std::path::PathBuf;

/// Why a simulation could not be set up or could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine file could not be opened or read.
    #[error("{path}: cannot read the machine: {source}")]
    MachineRead {
        /// The machine file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not a valid machine; `place` has line and column.
    #[error("{path}: not a valid machine: {place}")]
    MachineSyntax {
        /// The machine file.
        path: PathBuf,
        /// What is wrong and where.
        place: String,
    },
    /// The file describes a machine that cannot exist or that this model cannot simulate.
    #[error("{path}: {problem}")]
    MachineGeometry {
        /// The machine file.
        path: PathBuf,
        /// The broken rule, the level that breaks it, and the remedy.
        problem: ImpossibleMachine,
    },
    /// The name is not a bundled machine and not a file.
    #[error(
        "unknown machine '{name}', and no such file: use one of {known}, `host` for this machine, \
         or the path of a machine file"
    )]
    UnknownMachine {
        /// The requested name.
        name: String,
        /// The bundled machines, separated by commas.
        known: String,
    },
    /// The kernel does not describe this machine's caches.
    #[error("{path}: cannot detect this machine's caches: {problem}: name a machine file instead")]
    Host {
        /// The file or folder under `/sys` that was read.
        path: PathBuf,
        /// What is missing or odd about it.
        problem: String,
    },
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
    /// Requests were selected or used to warm up, but the trace has none.
    #[error(
        "the trace has no requests, so none can be chosen or used to warm up: replay all of it, \
         or record with --request-at"
    )]
    NoRequests,
    /// The selection includes a request that is not in the trace.
    #[error("request {request} does not exist: the trace has {requests} requests, numbered from 0")]
    UnknownRequest {
        /// The highest selected request.
        request: RequestId,
        /// Number of requests in the trace.
        requests: usize,
    },
    /// The warm-up uses all selected requests.
    #[error("--warm-up {warm_up} leaves no request to count (of {chosen}): use fewer")]
    NothingToCount {
        /// Number of requests for the warm-up.
        warm_up: usize,
        /// Number of requests replayed.
        chosen: usize,
    },
    /// The split uses more cores than the machine has.
    #[error(
        "the split uses {cores} cores, but machine {machine} has {machine_cores}: choose a larger \
         machine, or search for fewer cores"
    )]
    TooManyCores {
        /// Number of cores used.
        cores: u32,
        /// The machine's name.
        machine: String,
        /// Number of cores the machine has.
        machine_cores: u32,
    },
    /// Address translation was requested, but the machine file does not describe it.
    #[error(
        "machine {machine} does not say how it translates addresses: add [translation] to its file \
         (docs/reference/machines.md), choose a machine that has it, or replay without translation"
    )]
    NoTranslation {
        /// The machine's name.
        machine: String,
    },
    /// A function of the split selects its core by an argument, but the trace has no arguments.
    #[error(
        "the plan selects a core by an argument, but the trace has no arguments: it was imported, \
         or recorded by an older corehop; record it again"
    )]
    NoArguments,
    /// A planned function moves its thread to the core of an object, or only at one call of a
    /// request. This analysis needs one core for all calls of a function.
    #[error(
        "function {symbol} of {module} goes {to}, but this works only if all calls of a function \
         go to one core: see the plan's counts with `corehop replay --plan`"
    )]
    NotByFunction {
        /// The planned function.
        symbol: String,
        /// The file that contains it.
        module: String,
        /// Its planned destination.
        to: Destination,
    },
    /// A planned function belongs to a build that was not recorded.
    #[error(
        "function {symbol} is planned for build {planned} of {module}, but the trace {recorded}: \
         replay the trace of that build, or search this one"
    )]
    OtherBuild {
        /// The planned function.
        symbol: String,
        /// The file that contains it according to the plan.
        module: String,
        /// The build id in the plan.
        planned: String,
        /// The build recorded in the trace.
        recorded: String,
    },
    /// A planned function was never entered during recording.
    #[error(
        "function {symbol} at offset {offset:#x} of {module} was never entered in the trace: \
         remove it from the plan, or correct its offset"
    )]
    NotInTrace {
        /// The planned function.
        symbol: String,
        /// The file that contains it.
        module: String,
        /// Its offset in that file.
        offset: u64,
    },
}
