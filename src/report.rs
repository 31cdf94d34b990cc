//! `corehop report`: a plan as one page to look at, that opens from disk anywhere.
//!
//! The figures are those of `corehop explain`; one more pass tells when each line was touched. All
//! aggregation happens here, so that a page stays small however long the trace. The page holds its
//! style, script and data, and asks nothing of any network. Everything that is drawn is also a
//! table, and leaves as SVG, CSV or JSON too.

mod calls;
mod chart;
mod encode;
mod escape;
mod folded;
mod grid;
mod output;
mod page;
mod pass;
mod perfetto;
mod pictured;
mod pictures;
mod regions;
mod repeat;
mod space;
mod sweep;
mod table;

use crate::failure::{Exit, Failure};
use crate::jobs::Jobs;
use crate::progress::Bar;
use crate::requests::{RequestList, request_list};
use crate::sample;
use clap::Args;
use corehop_explanations::{Explanation, Question};
use corehop_partitioner::machine_list::for_plan;
use corehop_plans::Plan;
use corehop_simulator::detail::Attribution;
use corehop_traces::Trace;
use folded::Folded;
use output::OutputArguments;
use pass::Listener;
use perfetto::Timeline;
use pictured::{Pictured, Pictures};
use pictures::{Picture, accesses, elsewhere, misses, space as of_space, split, sweep as of_sweep};
use space::Space;
use std::path::{Path, PathBuf};
use sweep::Sweep;

/// Show a plan as a page to look at: accesses, misses, the split, the space searched
#[derive(Args)]
#[command(after_help = "\
Example: corehop report split.toml bank.trace -o report.html
         corehop report split.toml -o report.html --requests 130,140-143
         corehop report split.toml --perfetto calls.json --folded misses.folded --requests 130
         corehop report split.toml -o report.html --sweep sweep.json")]
pub struct Arguments {
    /// The plan to report on
    plan: PathBuf,
    /// A trace of the server. Default: the one that the plan was searched on
    trace: Option<PathBuf>,
    #[command(flatten)]
    outputs: OutputArguments,
    /// The machine to simulate: a bundled name, `host`, or a TOML file. Default: the plan's
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Let so many requests run before counting starts. Default: half of them
    #[arg(long, value_name = "REQUESTS")]
    warm_up: Option<usize>,
    /// Show the accesses of these requests, counted from 0, such as 3,5-9. Default: twelve, evenly
    /// spread
    #[arg(long, value_name = "LIST", value_parser = request_list)]
    requests: Option<RequestList>,
    /// Leave out the space searched, which takes longer than all else
    #[arg(long)]
    quick: bool,
    /// Show beside it the best splits for other machines and numbers of cores, which `corehop
    /// partition --sweep --json` printed into this file
    #[arg(long, value_name = "FILE")]
    sweep: Option<PathBuf>,
    #[command(flatten)]
    jobs: Jobs,
    /// What a hop costs, where it is known better than from the machine
    #[arg(skip)]
    hop_cost_cycles: Option<u32>,
}

impl Arguments {
    /// Of a command that ends with a page at `output`, in place of an earlier one, without the
    /// space searched.
    pub fn of_page(
        (plan, trace, output): (PathBuf, PathBuf, PathBuf),
        (machine, hop_cost_cycles): (String, u32),
    ) -> Arguments {
        Arguments {
            plan,
            trace: Some(trace),
            outputs: OutputArguments::of_page(output),
            machine: Some(machine),
            warm_up: None,
            requests: None,
            quick: true,
            sweep: None,
            jobs: Jobs::default(),
            hop_cost_cycles: Some(hop_cost_cycles),
        }
    }
}

/// All that the report shows.
struct Report<'a> {
    explained: &'a Explanation<'a>,
    plan_path: &'a Path,
    pictured: &'a [Pictured],
    attribution: &'a Attribution,
    /// Unless it was left out.
    space: Option<Space>,
    /// Where one was given.
    sweep: Option<Sweep>,
}

/// The pictures by section.
struct Sections {
    accesses: Vec<Picture>,
    misses: Vec<Picture>,
    split: Vec<Picture>,
    space: Vec<Picture>,
}

/// Functions in the table of functions.
const FUNCTIONS: usize = 60;

impl Report<'_> {
    fn sections(&self) -> Sections {
        let explained = self.explained;
        let accesses = self.pictured.iter();
        Sections {
            accesses: accesses
                .map(|of| accesses::request(explained, of))
                .collect(),
            misses: vec![
                misses::levels(explained),
                misses::cores(explained),
                misses::causes(explained),
                misses::functions(explained, FUNCTIONS),
            ],
            split: vec![
                split::phases(explained, self.pictured),
                split::working_sets(explained),
                split::shared(explained),
                split::lost(explained),
            ],
            space: self.space_pictures(),
        }
    }

    fn space_pictures(&self) -> Vec<Picture> {
        let explained = self.explained;
        let mut shown = vec![elsewhere::hop_cost(explained)];
        if let Some(space) = &self.space {
            shown.push(of_space::splits(space));
            if !space.cores.is_empty() {
                shown.push(elsewhere::cores(explained, &space.cores));
            }
            shown.push(of_space::neighbours(explained));
            shown.push(elsewhere::machines(explained, space));
        }
        shown.extend(self.sweep.as_ref().map(of_sweep::machines));
        shown
    }
}

/// Most requests whose accesses are shown: more would leave too few cells for each.
const MOST_SHOWN: usize = 64;

/// Cells of all requests shown together: 2 to 4 MB of a page.
const MOST_CELLS: usize = 600_000;

/// Most cells of one request.
const MOST_CELLS_OF_ONE: usize = 100_000;

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.jobs.keep_to()?;
    arguments.outputs.check()?;
    let sweep = arguments.sweep.as_deref().map(Sweep::read).transpose()?;
    let plan = corehop_plans::read(&arguments.plan)?;
    let mut machine = for_plan(&plan, arguments.machine.as_deref())?;
    if let Some(cycles) = arguments.hop_cost_cycles {
        machine.hop_cost_cycles = cycles;
    }
    let (trace, trace_name) = open(arguments, &plan)?;
    let bar = Bar::new();
    let question = Question {
        trace: &trace,
        trace_name: &trace_name,
        machine: &machine,
        plan: &plan,
        plan_path: &arguments.plan,
        warm_up: arguments.warm_up,
        neighbours: !arguments.quick && arguments.outputs.needs_pictures(),
    };
    let explained = question.answer(&bar)?;
    let shown = shown(arguments, &explained)?;
    let mut pictures = Pictures::new(&explained, &shown);
    let outputs = &arguments.outputs;
    let calls = pass::calls(&trace, &explained.split, outputs.needs_calls())?;
    let known = calls.as_ref();
    let mut folded = outputs
        .folded
        .as_ref()
        .and(known)
        .map(|calls| Folded::new(&trace, calls));
    let timeline = |calls| Timeline::new(&trace, calls, &shown);
    let mut timeline = outputs.perfetto.as_ref().and(known).map(timeline);
    let mut listeners: Vec<&mut dyn Listener> = vec![&mut pictures];
    listeners.extend(folded.iter_mut().map(|folded| folded as &mut dyn Listener));
    listeners.extend(
        timeline
            .iter_mut()
            .map(|timeline| timeline as &mut dyn Listener),
    );
    pass::run(&explained, known, &mut listeners, &bar)?;
    let folded = folded.map(|folded| folded.text());
    outputs.write_calls(folded, timeline.map(Timeline::text))?;
    if !outputs.needs_pictures() {
        return Ok(());
    }
    let most = (MOST_CELLS / shown.len().max(1)).min(MOST_CELLS_OF_ONE);
    let (pictured, attribution) = pictures.finish(&trace, most);
    let space = (!arguments.quick)
        .then(|| Space::of(&explained, &bar))
        .transpose()?;
    let report = Report {
        explained: &explained,
        plan_path: &arguments.plan,
        pictured: &pictured,
        attribution: &attribution,
        space,
        sweep,
    };
    arguments.outputs.write(&report, &report.sections())
}

/// The trace named, or else the one that the plan names.
fn open(arguments: &Arguments, plan: &Plan) -> Result<(Trace, String), Failure> {
    if arguments.trace.is_some() || sample::is_bundled(&plan.trace) {
        return sample::open_or_bundled(arguments.trace.as_deref());
    }
    let planned = Path::new(&plan.trace);
    match planned.exists() {
        true => sample::open_or_bundled(Some(planned)),
        false => {
            let plan = arguments.plan.display();
            let message = format!("{plan}: its trace, {}, is not there", planned.display());
            Err(Failure::new(Exit::Input, message).remedy("name the trace after the plan"))
        }
    }
}

/// The requests to show, of those that are replayed.
fn shown(arguments: &Arguments, explained: &Explanation<'_>) -> Result<Vec<u32>, Failure> {
    let Some(list) = &arguments.requests else {
        return Ok(pictured::spread(explained));
    };
    let mut named = list.of(explained.trace.requests().len());
    named.sort_unstable();
    named.dedup();
    if let Some(unknown) = named
        .iter()
        .find(|named| !explained.requests.contains(named))
    {
        let count = explained.requests.len();
        let message = format!("--requests: there is no complete request {unknown}");
        let remedy = format!("the trace has {count} complete requests, counted from 0");
        return Err(Failure::new(Exit::Usage, message).remedy(remedy));
    }
    if named.len() > MOST_SHOWN {
        let message = format!("--requests: {} are more than a page can show", named.len());
        return Err(Failure::new(Exit::Usage, message).remedy(format!("name at most {MOST_SHOWN}")));
    }
    Ok(named)
}
