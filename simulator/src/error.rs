//! What can be wrong with a machine, or with what is replayed on it.

use crate::machine::ImpossibleMachine;
use corehop_plan::Destination;
use corehop_traces::RequestId;
use std::path::PathBuf;

/// Why a simulation could not be set up or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine file could not be opened or read.
    #[error("{path}: cannot read the machine: {source}")]
    MachineRead {
        /// The machine file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a machine; `place` has line and column.
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
        /// Which rule is broken, by which level, and what to do.
        problem: ImpossibleMachine,
    },
    /// Neither a bundled machine nor a file.
    #[error(
        "unknown machine '{name}', and no such file: use one of {known}, `host` for this machine, \
         or the path of a machine file"
    )]
    UnknownMachine {
        /// What was asked for.
        name: String,
        /// The bundled machines, separated by commas.
        known: String,
    },
    /// The kernel does not say what this machine's caches are.
    #[error("{path}: cannot detect this machine's caches: {problem}: name a machine file instead")]
    Host {
        /// The file or folder under `/sys` that was looked at.
        path: PathBuf,
        /// What is missing or odd about it.
        problem: String,
    },
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] corehop_traces::Error),
    /// Requests were chosen or used to warm up, but the trace has none.
    #[error(
        "the trace has no requests, so none can be chosen or used to warm up: replay all of it, \
         or record with --request-at"
    )]
    NoRequests,
    /// A request was chosen that the trace does not have.
    #[error("request {request} does not exist: the trace has {requests} requests, numbered from 0")]
    UnknownRequest {
        /// The highest request chosen.
        request: RequestId,
        /// How many the trace has.
        requests: usize,
    },
    /// The warm-up takes all requests.
    #[error("--warm-up {warm_up} leaves no request to count (of {chosen}): use fewer")]
    NothingToCount {
        /// Requests to warm up.
        warm_up: usize,
        /// Requests replayed.
        chosen: usize,
    },
    /// The split uses more cores than the machine has.
    #[error(
        "the split uses {cores} cores, but machine {machine} has {machine_cores}: choose a larger \
         machine, or search for fewer cores"
    )]
    TooManyCores {
        /// Cores used.
        cores: u32,
        /// The machine's name.
        machine: String,
        /// Cores it has.
        machine_cores: u32,
    },
    /// Addresses are to be translated on a machine that does not say how.
    #[error(
        "machine {machine} does not say how it translates addresses: add [translation] to its file \
         (docs/reference/machines.md), choose a machine that has it, or replay without translation"
    )]
    NoTranslation {
        /// The machine's name.
        machine: String,
    },
    /// A function of the split goes by an argument, and the trace does not tell arguments.
    #[error(
        "the plan selects a core by an argument, but the trace has no arguments: it was imported, \
         or recorded by an older corehop; record it again"
    )]
    NoArguments,
    /// A planned function goes to the core of an object, or only at one call of a request, where
    /// each must have a core for all its calls.
    #[error(
        "function {symbol} of {module} goes {to}, but this works only if all calls of a function \
         go to one core: see the plan's counts with `corehop replay --plan`"
    )]
    NotByFunction {
        /// The planned function.
        symbol: String,
        /// The file it is in.
        module: String,
        /// Where it goes.
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
        /// The file the plan says it is in.
        module: String,
        /// The build id in the plan.
        planned: String,
        /// What the trace holds instead.
        recorded: String,
    },
    /// A planned function was never entered while recording.
    #[error(
        "function {symbol} at offset {offset:#x} of {module} was never entered in the trace: \
         remove it from the plan, or correct its offset"
    )]
    NotInTrace {
        /// The planned function.
        symbol: String,
        /// The file it is in.
        module: String,
        /// Its offset there.
        offset: u64,
    },
}
