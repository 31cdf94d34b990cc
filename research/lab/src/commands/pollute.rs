//! `corehop-lab pollute`: confines pages whose lines are not reused to a part of each L2.
//!
//! The model and the search are in this crate's library; this file has their options. If pages are
//! listed, both replays share one pass over the trace. A search replays the trace many times, and
//! keeps it in memory.

mod csv;
mod json;
mod pages;
mod summary;
mod text;

use clap::{Args, ValueEnum};
use corehop::commands::replay::{Opened, OtherOptions, Run, about};
use corehop::failure::{Exit, Failure};
use corehop::options::addressing::AddressingOptions;
use corehop::options::jobs::Jobs;
use corehop::options::machines;
use corehop::terminal::console;
use corehop::terminal::line::Lines;
use corehop::terminal::progress::Bar;
use corehop_lab::pollution::{
    self, Colours, Judge, PolluteBuffer, Search, executed_instructions, find_pollute_pages,
    pages_with_buffer, prepare, replay_with_buffers,
};
use corehop_partitioner::attribution::remarks;
use corehop_partitioner::progress::Progress;
use corehop_simulator::{Machine, PAGE_BYTES, ReplayOptions, Setting, Split};
use corehop_support::atomic_file::{Output, PRIVATE};
use corehop_traces::Trace;
use pages::{PageList, page_list};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use summary::{SearchTold, Side, Summary};

/// Default number of steps of a search.
const STEPS: usize = 64;

/// Confine pages to a sixteenth of each L2, and compare with a replay without that
///
/// A program that streams through memory evicts what it uses again. This command counts what
/// confining the streamed pages to a pollute buffer would change, and searches for these pages.
/// research/pollute.md describes each figure.
#[derive(Args)]
#[command(after_help = "\
Example: corehop-lab pollute bank.trace
         corehop-lab pollute bank.trace --output pages.csv
         corehop-lab pollute bank.trace --pages @pages.csv --machine epyc-9004 --json")]
pub struct Arguments {
    /// Trace to replay
    trace: PathBuf,
    /// Pages to confine: hexadecimal addresses separated by commas, @FILE, or `auto`
    ///
    /// The file has one address a line. `auto` searches for the pages.
    #[arg(
        long,
        value_name = "PAGES|auto",
        alias = "pollute",
        value_parser = page_list,
        default_value = "auto"
    )]
    pages: PageList,
    /// Number of further pages that the search confines in each step
    ///
    /// Default: a 64th of the pages whose accesses reach an L2.
    #[arg(long, value_name = "PAGES", alias = "pollute-step")]
    step: Option<NonZeroUsize>,
    /// What the search minimizes
    #[arg(long, value_enum, alias = "pollute-by")]
    by: Option<By>,
    /// File for the L2 accesses and misses of each page, as CSV
    ///
    /// `-` prints the CSV and nothing else.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace that file if it exists
    #[arg(long, requires = "output")]
    force: bool,
    /// Machine to simulate: a bundled name, `host`, or a TOML file
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "xeon-e5-2620-v4",
        help_heading = "Simulation"
    )]
    machine: String,
    #[command(flatten)]
    run: Run,
    /// Number of requests to replay before counting starts
    #[arg(
        long,
        value_name = "REQUESTS",
        default_value_t = 0,
        help_heading = "Simulation"
    )]
    warm_up: usize,
    #[command(flatten)]
    taken: AddressingOptions,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// The figure by which a search compares states.
#[derive(Clone, Copy, Default, ValueEnum)]
enum By {
    /// Misses of the L2s (default)
    #[default]
    L2Misses,
    /// Simulated cycles
    Cycles,
}

/// The input of the replays.
struct Subject<'a> {
    asked: &'a OtherOptions<'a>,
    trace: &'a Trace,
    machine: &'a Machine,
    split: &'a Split,
    options: &'a ReplayOptions<'a>,
    bar: &'a Bar,
}

/// Both replays, the confined pages of the second, and the search that found them.
type Replayed = (Side, Side, PolluteBuffer, Option<SearchTold>);

/// Replays without a buffer and with one, and prints both.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    check(arguments)?;
    arguments.jobs.keep_to()?;
    machines::tell_host([&*arguments.machine]);
    let asked = &arguments.replayed();
    let output = arguments.output.as_deref();
    let output = output.map(|path| Output::at(path, arguments.force));
    let output = output.transpose()?;
    let machine = Machine::named_or_path(asked.machine)?;
    Colours::of(&machine)?;
    let named = named(&arguments.pages)?;
    let Opened { plan, trace, split } = asked.open(&machine)?;
    let bar = Bar::new();
    let progress = |executions| bar.advance(executions);
    let options = asked.of_requests(&trace, &progress);
    let subject = Subject {
        asked,
        trace: &trace,
        machine: &machine,
        split: &split,
        options: &options,
        bar: &bar,
    };
    let (before, after, buffer, search) = match named {
        Some(pages) => subject.with(pages)?,
        None => subject.search(arguments)?,
    };
    let told = Summary {
        trace: asked.trace,
        remarks: remarks(&trace),
        machine: &machine,
        placement: match plan {
            Some(_) => "plan".into(),
            None => asked.run.baseline.name(),
        },
        warm_up: asked.warm_up,
        instructions: subject.instructions()?,
        before,
        after,
        buffer,
        search,
    };
    if let Some(output) = output {
        output.write(csv::render(&told).as_bytes(), PRIVATE)?;
    }
    let is_printed = arguments.output.as_deref() == Some(Path::new("-"));
    match (is_printed, asked.json) {
        (true, _) => Ok(()),
        (false, true) => console::print(&Lines::of_json(&json::render(&told, &trace))),
        (false, false) => console::print(&text::render(&told)),
    }
}

impl Arguments {
    fn replayed(&self) -> OtherOptions<'_> {
        OtherOptions {
            trace: &self.trace,
            taken: &self.taken,
            machine: &self.machine,
            run: &self.run,
            warm_up: self.warm_up,
            json: self.json,
        }
    }
}

/// Rejects options of a search if there is none.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    let of_search = [
        (arguments.step.is_some(), "--step"),
        (arguments.by.is_some(), "--by"),
    ];
    match of_search.into_iter().find(|(given, _)| *given) {
        Some((_, option)) if arguments.pages != PageList::Auto => {
            let message =
                format!("{option} configures the search, but --pages already names the pages");
            let remedy = format!("leave {option} out, or have pages searched with --pages auto");
            Err(Failure::new(Exit::Usage, message).remedy(remedy))
        }
        _ => Ok(()),
    }
}

/// Returns the numbers of the listed pages; `None` if they are to be searched.
fn named(list: &PageList) -> Result<Option<Vec<u64>>, Failure> {
    let pages = match list {
        PageList::Auto => return Ok(None),
        PageList::Listed(pages) => pages.clone(),
        PageList::File(path) => pages::read(path)?,
    };
    Ok(Some(pages.into_iter().collect()))
}

impl Subject<'_> {
    fn about(&self, error: corehop_simulator::Error) -> Failure {
        match error {
            corehop_simulator::Error::TooManyCores { .. } => {
                about(self.asked.run.plan.as_deref(), error)
            }
            _ => about(Some(self.asked.trace), error),
        }
    }

    fn of_search(&self, error: pollution::Error) -> Failure {
        match error {
            pollution::Error::TooFewColours(error) => error.into(),
            pollution::Error::Replay(error) => self.about(error),
        }
    }

    fn executions(&self) -> Option<u64> {
        Some(self.options.executions(self.trace))
    }

    fn buffer(&self, pages: Vec<u64>) -> Result<PolluteBuffer, Failure> {
        Ok(PolluteBuffer::new(self.machine, pages)?)
    }

    fn with(&self, pages: Vec<u64>) -> Result<Replayed, Failure> {
        let (none, buffer) = (self.buffer(Vec::new())?, self.buffer(pages)?);
        let (machine, split) = (self.machine, self.split);
        self.bar.begin("code blocks replayed", self.executions());
        let setting = Setting { machine, split };
        let sides = replay_with_buffers(self.trace, setting, &[&none, &buffer], self.options);
        self.bar.end();
        let sides = sides.map_err(|error| self.about(error))?;
        let mut sides = sides
            .into_iter()
            .map(|(replay, pages)| Side { replay, pages });
        let (Some(before), Some(after)) = (sides.next(), sides.next()) else {
            unreachable!("a replay for each buffer");
        };
        let is_there = |page: &u64| {
            before
                .pages
                .binary_search_by_key(page, |of| of.page)
                .is_ok()
        };
        if let Some(page) = buffer.pages().find(|page| !is_there(page)) {
            let message = format!(
                "{}: nothing that is replayed is on page {:#x}",
                self.asked.trace.display(),
                page * PAGE_BYTES
            );
            let remedy = "leave it out; `--pages auto -o FILE` lists the pages that are there";
            return Err(Failure::new(Exit::Input, message).remedy(remedy));
        }
        Ok((before, after, buffer, None))
    }

    fn search(&self, arguments: &Arguments) -> Result<Replayed, Failure> {
        let on = (self.machine, self.split);
        self.bar.begin("code blocks read", self.executions());
        let prepared = prepare(self.trace, self.machine, self.split, self.options);
        self.bar.end();
        let prepared = prepared.map_err(|error| self.of_search(error))?;
        let none = self.buffer(Vec::new())?;
        let (replay, pages) = pages_with_buffer(&prepared, on, &none)?;
        let before = Side { replay, pages };
        let referenced = before.referenced().count();
        let usual = NonZeroUsize::new(referenced.div_ceil(STEPS));
        let step = arguments.step.or(usual).unwrap_or(NonZeroUsize::MIN);
        let judge = match arguments.by.unwrap_or_default() {
            By::L2Misses => Judge::L2Misses,
            By::Cycles => Judge::Cycles,
        };
        self.bar
            .begin("sets of pages tried", Some((referenced / step) as u64));
        let search = Search {
            step,
            judge,
            progress: &|| self.bar.advance(1),
        };
        let found = find_pollute_pages(&prepared, on, (&before.replay, &before.pages), &search);
        self.bar.end();
        let found = found?;
        let buffer = self.buffer(found.confined)?;
        let (replay, pages) = pages_with_buffer(&prepared, on, &buffer)?;
        let searched = SearchTold {
            judge,
            step: step.get(),
            tried: found.tried,
        };
        Ok((before, Side { replay, pages }, buffer, Some(searched)))
    }

    fn instructions(&self) -> Result<u64, Failure> {
        self.bar.begin("code blocks counted", self.executions());
        let counted = executed_instructions(self.trace, self.options);
        self.bar.end();
        counted.map_err(|error| self.about(error.into()))
    }
}
