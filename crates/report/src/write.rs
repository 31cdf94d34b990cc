//! Creates the files of a report from a trace and a plan.

use crate::contents::{FUNCTIONS, Report};
use crate::error::Error;
use crate::files::Outputs;
use crate::page::json;
use crate::pass::call_tree::CallTree;
use crate::pass::perfetto::Timeline;
use crate::pass::pictured::{self, PicturedRequests};
use crate::pass::replay_pass::{self, StepListener};
use crate::search_space::space::SearchSpace;
use crate::search_space::sweep::Sweep;
use crate::sources::Sources;
use corehop_partitioner::attribution::{Explanation, Question};
use corehop_partitioner::progress::Progress;
use corehop_partitioner::requests::complete;
use corehop_plan::Plan;
use corehop_simulator::Machine;
use corehop_traces::{RequestId, Trace};
use serde_json::Value;
use std::path::Path;

/// Maximum number of requests whose accesses are shown: more would leave too few cells for each.
const MOST_SHOWN: usize = 64;

/// Total cells of all shown requests: 2 to 4 MB of a page.
const MOST_CELLS: usize = 600_000;

/// Maximum cells of one request.
const MOST_CELLS_OF_ONE: usize = 100_000;

/// Input of a report, and what to show of it.
pub struct Options<'a> {
    /// The trace to replay.
    pub trace: &'a Trace,
    /// Display name of the trace.
    pub trace_name: &'a str,
    /// Whether commands find the trace without its name.
    pub is_default_trace: bool,
    /// The machine to simulate.
    pub machine: &'a Machine,
    /// The plan to report on.
    pub plan: &'a Plan,
    /// Measurement of the plan in a sentence, if there was one.
    pub measured: Option<String>,
    /// The plan's file.
    pub plan_path: &'a Path,
    /// Number of requests that warm the caches; half of them if `None`.
    pub warm_up: Option<usize>,
    /// The requests whose accesses are shown; twelve, evenly spread, if `None`.
    pub requests: Option<Vec<RequestId>>,
    /// Whether to show the search space, which takes longer than everything else.
    pub full: bool,
    /// The best splits for other machines and numbers of cores, to show together with the plan.
    pub sweep: Option<Sweep>,
    /// The files to write.
    pub outputs: &'a Outputs,
}

/// Replays the trace and writes the files. Returns the numbers as one JSON object, if requested.
///
/// # Errors
/// [`Error`] if a request to show does not exist, the plan does not fit, the trace cannot be
/// replayed, or a file cannot be written.
pub fn write(options: Options<'_>, progress: &dyn Progress) -> Result<Option<Value>, Error> {
    let outputs = options.outputs;
    let trace = options.trace;
    let question = Question {
        trace,
        trace_name: options.trace_name,
        machine: options.machine,
        plan: options.plan,
        plan_path: options.plan_path,
        warm_up: options.warm_up,
        neighbours: options.full && outputs.needs_pictures(),
        think_time_cycles: 0,
    };
    let explained = question.answer(progress)?;
    let shown = shown(options.requests, &explained)?;
    let mut pictures = PicturedRequests::new(&explained, &shown);
    let calls = replay_pass::calls(trace, &explained.split, outputs.needs_calls())?;
    let known = calls.as_ref();
    let tree = known.filter(|_| outputs.needs_call_tree());
    let mut tree = tree.map(|calls| CallTree::new(trace, calls));
    let timeline = outputs.perfetto.as_ref().and(known);
    let mut timeline = timeline.map(|calls| Timeline::new(trace, &explained.split, calls, &shown));
    let mut listeners: Vec<&mut dyn StepListener> = vec![&mut pictures];
    listeners.extend(tree.iter_mut().map(|tree| tree as &mut dyn StepListener));
    let timelines = timeline.iter_mut();
    listeners.extend(timelines.map(|timeline| timeline as &mut dyn StepListener));
    replay_pass::run(&explained, known, &mut listeners, progress)?;
    outputs.write_calls(tree.as_ref(), timeline.map(Timeline::text))?;
    if !outputs.needs_pictures() {
        return Ok(None);
    }
    let most = (MOST_CELLS / shown.len().max(1)).min(MOST_CELLS_OF_ONE);
    let (pictured, attribution) = pictures.finish(trace, most);
    let space = match options.full {
        true => Some(SearchSpace::of(&explained, progress)?),
        false => None,
    };
    let report = Report {
        explained: &explained,
        measured: options.measured,
        plan_path: options.plan_path,
        is_default_trace: options.is_default_trace,
        pictured: &pictured,
        attribution: &attribution,
        sources: Sources::of(&explained, FUNCTIONS),
        space,
        sweep: options.sweep,
    };
    outputs.write(&report, &report.sections())?;
    Ok(outputs.json.then(|| json::render(&report)))
}

/// Returns the replayed requests to show.
fn shown(
    asked: Option<Vec<RequestId>>,
    explained: &Explanation<'_>,
) -> Result<Vec<RequestId>, Error> {
    let Some(mut asked) = asked else {
        return Ok(pictured::spread(explained));
    };
    asked.sort_unstable();
    asked.dedup();
    let unknown = asked.iter().find(|of| !explained.requests.contains(of));
    if let Some(&request) = unknown {
        if complete(explained.trace.requests()).contains(&request) {
            return Err(Error::SearchedRequest { request });
        }
        return Err(Error::NoSuchRequest {
            request,
            complete: explained.requests.len() + explained.left_out(),
        });
    }
    match asked.len() > MOST_SHOWN {
        false => Ok(asked),
        true => Err(Error::TooManyRequests {
            requests: asked.len(),
            most: MOST_SHOWN,
        }),
    }
}
