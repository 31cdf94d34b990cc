//! `corehop profile`: which functions, source lines, and data cost how many misses, and why.
//!
//! The figures come from the crate `corehop-profile`. This file is its command line, and `text`
//! prints them as tables.

mod text;

use crate::addressing::AddressingOptions;
use crate::console;
use crate::failure::{Exit, Failure};
use crate::line::Lines;
use crate::machines;
use crate::progress::Bar;
use crate::replay::about;
use crate::requests::CountedRequests;
use clap::{Args, ValueEnum};
use corehop_partitioner::attribution::mark;
use corehop_partitioner::progress::Progress;
use corehop_profile::{By, Level, Order, profile, shown};
use corehop_simulator::{Error, Machine, Split};
use corehop_traces::{Index, Trace};
use serde_json::Value;
use std::path::{Path, PathBuf};
use text::Table;

/// Show which functions, source lines, and data cause the cache misses of a recorded server
///
/// It replays the trace and lists the places that miss most, with the cause of each miss and
/// estimated cycles. It needs no plan. docs/guide/profile.md describes the columns.
#[derive(Args)]
#[command(after_help = "\
Example: corehop profile bank.trace
         corehop profile bank.trace --by line,object --request-scaled --warm-up 30
         corehop profile bank.trace --by object --cores 4 --level l3")]
pub struct Arguments {
    /// Trace of the server; default: the bundled sample (MariaDB under TPC-C)
    trace: Option<PathBuf>,
    /// What to list, in one table for each value
    #[arg(long, value_enum, value_delimiter = ',', default_value = "function")]
    by: Vec<ListedBy>,
    /// Figure to sort by, largest first
    #[arg(long, value_enum, default_value_t = Sorted::Misses)]
    sort: Sorted,
    /// Cache level whose misses determine the order, and whose causes are shown
    #[arg(long, value_enum, default_value_t = ListedLevel::L2)]
    level: ListedLevel,
    /// Maximum number of rows of each table
    #[arg(long, alias = "top", value_name = "ROWS", default_value_t = 20)]
    limit: usize,
    /// Print means per request instead of totals
    ///
    /// JSON always has totals, and the number of requests.
    #[arg(long)]
    request_scaled: bool,
    /// Machine to simulate: a bundled name, `host` for this machine, or a TOML file
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "xeon-e5-2620-v4",
        help_heading = "Simulation"
    )]
    machine: String,
    /// Number of cores that the threads are assigned to, in order
    #[arg(
        long,
        value_name = "CORES",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Simulation"
    )]
    cores: u32,
    #[command(flatten)]
    counted: CountedRequests,
    #[command(flatten)]
    addressing: AddressingOptions,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// What a table lists.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListedBy {
    /// Functions
    Function,
    /// Source lines with inlined functions, or instructions where DWARF is missing
    Line,
    /// Objects in memory: variables, stacks, heap, mappings, code
    Object,
}

/// What rows are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sorted {
    /// Misses of the level that --level names
    Misses,
    /// Estimated cycles
    Cycles,
}

/// A level of cache.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListedLevel {
    /// L1I and L1D together
    L1,
    /// L2
    L2,
    /// L3
    L3,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let level = match arguments.level {
        ListedLevel::L1 => Level::L1,
        ListedLevel::L2 => Level::L2,
        ListedLevel::L3 => Level::L3,
    };
    let order = match arguments.sort {
        Sorted::Misses => Order::Misses(level),
        Sorted::Cycles => Order::Cycles,
    };
    let views: Vec<By> = arguments.by.iter().map(|by| by.view()).collect();
    machines::tell_host([arguments.machine.as_str()]);
    let machine = Machine::named_or_path(&arguments.machine)?;
    if machine.l3.is_none() && level == Level::L3 {
        let message = format!("--level l3: machine {} has no L3", machine.name);
        return Err(Failure::new(Exit::Usage, message).remedy("name --level l2"));
    }
    let trace = arguments.trace.as_deref();
    let (trace, name) = arguments.addressing.open_or_bundled(trace)?;
    arguments.check(&trace, &name)?;
    let split = Split::thread_per_core(arguments.cores);
    let bar = Bar::new();
    let progress = |executions| bar.advance(executions);
    let options = arguments.counted.options(&trace, &progress);
    bar.begin("code blocks profiled", Some(options.executions(&trace)));
    let profile = profile(&trace, (&machine, &split), &options, &views);
    bar.end();
    let profile = profile.map_err(|error| match error {
        Error::TooManyCores { .. } => Failure::new(Exit::Usage, format!("--cores: {error}"))
            .remedy("name fewer --cores, or another --machine"),
        _ => about(Some(Path::new(&name)), error),
    })?;
    let named = (name.as_str(), arguments.counted.warm_up);
    if arguments.json {
        let shown = shown(&profile, named, &machine, (order, arguments.limit));
        // The keys are strings, and nothing else can fail.
        let mut value = serde_json::to_value(shown).unwrap_or(Value::Null);
        mark(&mut value, &trace);
        return console::print(&Lines::of_json(&value));
    }
    let table = Table {
        profile: &profile,
        trace: &trace,
        named,
        machine: &machine,
        level,
        order,
        limit: arguments.limit,
        is_per_request: arguments.request_scaled,
    };
    console::print(&table.render())
}

impl ListedBy {
    fn view(self) -> By {
        match self {
            ListedBy::Function => By::Function,
            ListedBy::Line => By::Line,
            ListedBy::Object => By::Object,
        }
    }
}

impl Arguments {
    /// Whether the trace has what was requested.
    fn check(&self, trace: &Trace, name: &str) -> Result<(), Failure> {
        if trace.execution_count() == 0 {
            let message = format!("{name}: the trace has no accesses to profile");
            return Err(Failure::new(Exit::Input, message)
                .remedy("record the server again, with requests under way"));
        }
        if self.request_scaled && trace.requests().is_empty() {
            let message = format!("{name}: the trace has no requests to scale to");
            return Err(Failure::new(Exit::Input, message)
                .remedy("leave --request-scaled out, or record with --request-at"));
        }
        if self.by.contains(&ListedBy::Object) && trace.index() == Index::Physical {
            let message = "--by object needs virtual addresses, which name objects";
            return Err(Failure::new(Exit::Usage, message)
                .remedy("leave --index out, or list by function or line"));
        }
        Ok(())
    }
}
