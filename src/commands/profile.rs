//! `corehop profile`: which functions, source lines, and data cost how many misses, and why.
//!
//! The figures come from the crate `corehop-profile`. This file is its command line, `text` prints
//! them as tables, `sharing` those of lines that threads share, `annotate` those of lines next to
//! the source, and `format` writes files for other profilers. `interactive` is a table to walk
//! through. `what_if` compares with a change. `recording` records a server first.

mod annotate;
mod format;
mod interactive;
mod recording;
mod sharing;
mod text;
mod what_if;

use crate::commands::replay::about;
use crate::failure::{Exit, Failure};
use crate::options::addressing::AddressingOptions;
use crate::options::machines;
use crate::options::requests::CountedRequests;
use crate::options::streams;
use crate::options::translation::TranslationOptions;
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::line::Lines;
use crate::terminal::progress::Bar;
use annotate::AnnotateArguments;
use clap::{Args, ValueEnum};
use corehop_partitioner::attribution::mark;
use corehop_partitioner::progress::Progress;
use corehop_profile::what_if::WhatIf;
use corehop_profile::{
    By, Export, Level, Nested, Order, Profile, profile, profile_nested, profile_with_sharing,
    recorded_cores, shown, spread,
};
use corehop_simulator::{Error, Machine, ReplayOptions, Split};
use corehop_traces::{Index, Trace};
use format::{FormatArguments, FormattedOutput};
use recording::RecordingArguments;
use serde_json::Value;
use std::path::{Path, PathBuf};
use text::Table;
use what_if::{Subject, WhatIfArguments};

pub use text::title;

/// Show which functions, source lines, and data cause the cache misses of a recorded server
///
/// It replays the trace and lists the places that miss most, with the cause of each miss and
/// estimated cycles, or the lines of memory that threads share. It needs no plan. With a COMMAND,
/// it first records that server to TRACE. docs/guide/profile.md describes the columns.
#[derive(Args)]
#[command(after_help = "\
Example: corehop profile bank.trace
         corehop profile new.trace --request-at handle_request --record 200 -- ./server --port 7000
         corehop profile bank.trace --by line,object --request-scaled --warm-up 30
         corehop profile bank.trace --by object --cores 4 --level l3
         corehop profile bank.trace --by function,object --tlb --sort walks
         corehop profile bank.trace --by member --request-scaled
         corehop profile bank.trace --by sharing --warm-up 30
         corehop profile bank.trace --annotate=bank.c
         corehop profile bank.trace --interactive
         corehop profile bank.trace --suggest
         corehop profile bank.trace --what-if padded.toml
         corehop profile bank.trace --format callgrind -o callgrind.out.bank")]
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
    ///
    /// With --by sharing also of the table of each line.
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
    ///
    /// Default: 1, or with --by sharing and what-ifs as with --threads spread.
    #[arg(
        long,
        value_name = "CORES",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Simulation"
    )]
    cores: Option<u32>,
    /// How threads are assigned to cores, instead of --cores
    #[arg(
        long,
        value_enum,
        conflicts_with = "cores",
        help_heading = "Simulation"
    )]
    threads: Option<Threads>,
    #[command(flatten)]
    counted: CountedRequests,
    #[command(flatten)]
    addressing: AddressingOptions,
    #[command(flatten)]
    translation: TranslationOptions,
    /// Show the functions in the terminal, to walk to a function's lines and a line's objects
    ///
    /// Enter opens a row, and ? lists all keys.
    #[arg(
        long,
        conflicts_with_all = [
            "by", "limit", "json", "format", "annotate", "what_if", "suggest"
        ]
    )]
    interactive: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    formatted: FormatArguments,
    #[command(flatten)]
    annotate: AnnotateArguments,
    #[command(flatten)]
    what_if: WhatIfArguments,
    #[command(flatten)]
    recording: RecordingArguments,
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
    /// The same with the members of global structs, from DWARF
    Member,
    /// Lines of memory that several threads access and at least one stores to
    Sharing,
}

/// How threads get cores.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Threads {
    /// A core for each thread, in order; threads share cores if there are more of them
    Spread,
    /// The CPU that the thread was mostly on, where the trace says so
    Recorded,
}

/// What rows are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sorted {
    /// Misses of the level that --level names
    Misses,
    /// Estimated cycles
    Cycles,
    /// Page walks, which need --tlb
    Walks,
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
    let (level, order) = arguments.order();
    if order == Order::Walks && !arguments.translation.tlb {
        let message = "--sort walks needs --tlb, which simulates page walks";
        return Err(Failure::new(Exit::Usage, message).remedy("add --tlb"));
    }
    let inputs = [
        arguments.trace.as_deref(),
        Some(Path::new(&arguments.machine)),
    ];
    streams::keep(inputs.into_iter().flatten(), arguments.formatted.path())?;
    let formatted = arguments.formatted.output()?;
    let what_if = arguments.what_if.file()?;
    if arguments.interactive {
        interactive::check()?;
    }
    machines::tell_host([arguments.machine.as_str()]);
    let machine = Machine::named_or_path(&arguments.machine)?;
    if machine.l3.is_none() && level == Level::L3 {
        let message = format!("--level l3: machine {} has no L3", machine.name);
        return Err(Failure::new(Exit::Usage, message).remedy("name --level l2"));
    }
    arguments
        .translation
        .check(std::slice::from_ref(&machine))?;
    let trace = arguments.trace.as_deref();
    let show = || arguments.show(&machine, what_if.as_ref(), formatted);
    match arguments.recording.record(trace)? {
        None => show(),
        Some(left) => interrupt::at_once(&left, show)?,
    }
}

/// Warns of missing names if no symbolizer works.
fn warn_of_symbolizer(profile: &Profile) {
    if let Some(error) = &profile.symbolizer_failure {
        console::warn(&format!(
            "warning: {error}; lines and variables of files without their own DWARF have no \
             names; {}",
            error.remedy()
        ));
    }
}

impl ListedBy {
    fn view(self) -> Option<By> {
        match self {
            ListedBy::Function => Some(By::Function),
            ListedBy::Line => Some(By::Line),
            ListedBy::Object => Some(By::Object),
            ListedBy::Member => Some(By::Member),
            ListedBy::Sharing => None,
        }
    }
}

impl Arguments {
    /// Replays the trace, and prints or writes what is requested.
    fn show(
        &self,
        machine: &Machine,
        what_if: Option<&WhatIf>,
        formatted: Option<FormattedOutput>,
    ) -> Result<(), Failure> {
        let (_, order) = self.order();
        let trace = self.trace.as_deref();
        let (trace, name) = self.addressing.open_or_bundled(trace)?;
        self.check(&trace, &name)?;
        if self.what_if.option().is_some() {
            let split = self.split((&trace, &name), machine)?;
            let subject = Subject {
                trace: &trace,
                named: (&name, self.counted.warm_up),
                on: (machine, &split),
                limit: self.limit,
                is_per_request: self.request_scaled,
                is_json: self.json,
            };
            let failure = |error| self.failure(&name, error);
            return self.what_if.run(&subject, what_if, &self.counted, &failure);
        }
        if self.interactive {
            let (profile, functions) = self.nested((&trace, &name), machine)?;
            warn_of_symbolizer(&profile);
            let table = self.table(&profile, (&trace, &name), machine);
            return interactive::run(&functions, &table);
        }
        let profile = self.profile((&trace, &name), machine, formatted.is_some())?;
        warn_of_symbolizer(&profile);
        if let (Some(output), [view]) = (formatted, &profile.views[..]) {
            let cores = profile.replay.per_core.len();
            return output.write(&Export {
                view,
                trace: &trace,
                title: &format::title((&name, &trace), (machine, cores)),
                machine,
                order,
                has_tlbs: self.translation.tlb,
            });
        }
        if self.json {
            let named = (name.as_str(), self.counted.warm_up);
            let shown = shown(&profile, named, machine, (order, self.limit));
            // The keys are strings, and nothing else can fail.
            let mut value = serde_json::to_value(shown).unwrap_or(Value::Null);
            mark(&mut value, &trace);
            return console::print(&Lines::of_json(&value));
        }
        let table = self.table(&profile, (&trace, &name), machine);
        console::print(&match self.annotate.is_given() {
            true => self.annotate.render(&table)?,
            false => table.render(),
        })
    }

    /// Returns the level whose causes are shown, and the order of rows.
    fn order(&self) -> (Level, Order) {
        let level = match self.level {
            ListedLevel::L1 => Level::L1,
            ListedLevel::L2 => Level::L2,
            ListedLevel::L3 => Level::L3,
        };
        let order = match self.sort {
            Sorted::Misses => Order::Misses(level),
            Sorted::Cycles => Order::Cycles,
            Sorted::Walks => Order::Walks,
        };
        (level, order)
    }

    /// Returns the tables of a profile of the trace with this name.
    fn table<'a>(
        &self,
        profile: &'a Profile,
        (trace, name): (&'a Trace, &'a str),
        machine: &'a Machine,
    ) -> Table<'a> {
        let (level, order) = self.order();
        Table {
            profile,
            trace,
            named: (name, self.counted.warm_up),
            machine,
            level,
            order,
            limit: self.limit,
            is_per_request: self.request_scaled,
        }
    }

    /// Replays the trace with this name. Files for other profilers and source files need only
    /// lines.
    fn profile(
        &self,
        (trace, name): (&Trace, &str),
        machine: &Machine,
        is_for_a_file: bool,
    ) -> Result<Profile, Failure> {
        let views = match is_for_a_file || self.annotate.is_given() {
            true => vec![By::Line],
            false => self.by.iter().filter_map(|by| by.view()).collect(),
        };
        self.replayed((trace, name), machine, |on, options| {
            match self.by.contains(&ListedBy::Sharing) {
                true => profile_with_sharing(trace, on, options, &views),
                false => profile(trace, on, options, &views),
            }
        })
    }

    /// Replays the trace with this name, for functions with their lines and objects.
    fn nested(
        &self,
        (trace, name): (&Trace, &str),
        machine: &Machine,
    ) -> Result<(Profile, Vec<Nested>), Failure> {
        self.replayed((trace, name), machine, |on, options| {
            profile_nested(trace, on, options)
        })
    }

    /// Calls this replay of the trace with this name, with a bar.
    fn replayed<T>(
        &self,
        (trace, name): (&Trace, &str),
        machine: &Machine,
        replay: impl FnOnce((&Machine, &Split), &ReplayOptions<'_>) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let split = self.split((trace, name), machine)?;
        let bar = Bar::new();
        let progress = |executions| bar.advance(executions);
        let page_sizes = self.translation.page_sizes(trace)?;
        let options = ReplayOptions {
            page_sizes: page_sizes.as_ref(),
            ..self.counted.options(trace, &progress)
        };
        bar.begin("code blocks profiled", Some(options.executions(trace)));
        let replayed = replay((machine, &split), &options);
        bar.end();
        replayed.map_err(|error| self.failure(name, error))
    }

    /// Returns the failure of a replay of the trace with this name.
    fn failure(&self, name: &str, error: Error) -> Failure {
        match (&error, self.threads) {
            (Error::TooManyCores { .. }, Some(Threads::Recorded)) => {
                Failure::new(Exit::Usage, format!("--threads recorded: {error}"))
                    .remedy("name --threads spread, or another --machine")
            }
            (Error::TooManyCores { .. }, _) => {
                Failure::new(Exit::Usage, format!("--cores: {error}"))
                    .remedy("name fewer --cores, or another --machine")
            }
            _ => about(Some(Path::new(name)), error),
        }
    }

    /// The cores of the trace's threads.
    fn split(&self, (trace, name): (&Trace, &str), machine: &Machine) -> Result<Split, Failure> {
        let shares = self.by.contains(&ListedBy::Sharing) || self.what_if.option().is_some();
        let default = if shares { Some(Threads::Spread) } else { None };
        match (self.cores, self.threads.or(default)) {
            (Some(cores), _) => Ok(Split::thread_per_core(cores)),
            (None, None) => Ok(Split::thread_per_core(1)),
            (None, Some(Threads::Spread)) => Ok(spread(trace, machine)),
            (None, Some(Threads::Recorded)) => {
                let cores = recorded_cores(trace);
                let cores = cores.map_err(|error| about(Some(Path::new(name)), error))?;
                cores.map(Split::threads_on).ok_or_else(|| {
                    let message =
                        format!("{name}: the trace does not say on which CPUs threads ran");
                    Failure::new(Exit::Input, message)
                        .remedy("name --threads spread or --cores, or record a whole system")
                })
            }
        }
    }

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
        let needs_names =
            |by: &&ListedBy| matches!(by, ListedBy::Object | ListedBy::Member | ListedBy::Sharing);
        if let Some(by) = self.by.iter().find(needs_names)
            && trace.index() == Index::Physical
        {
            let by = by.to_possible_value();
            let by = by.as_ref().map_or("", |by| by.get_name());
            let message = format!("--by {by} needs virtual addresses, which name objects");
            return Err(Failure::new(Exit::Usage, message)
                .remedy("leave --index out, or list by function or line"));
        }
        if self.interactive && trace.index() == Index::Physical {
            let message = "--interactive needs virtual addresses, which name objects";
            return Err(Failure::new(Exit::Usage, message)
                .remedy("leave --index out, or list by function or line"));
        }
        if let Some(option) = self.what_if.option()
            && trace.index() == Index::Physical
        {
            let message = format!("{option} needs virtual addresses, which it changes");
            return Err(Failure::new(Exit::Usage, message).remedy("leave --index out"));
        }
        Ok(())
    }
}
