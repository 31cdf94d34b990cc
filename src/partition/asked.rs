//! What is asked of searches for hops that not every call of a function makes, and how their result
//! is judged and delivered.

use crate::console;
use crate::failure::{Exit, Failure};
use crate::line::{Lines, line};
use crate::scope::Scope;
use corehop_explanations::remarks;
use corehop_outputs::{Output, PUBLIC};
use corehop_partitioner::Comparison;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::requests::TrainTestSplit;
use corehop_partitioner::weights::Weighted;
use corehop_plans::Plan;
use corehop_traces::Trace;
use corehop_wording::number::{change, counted};

/// What is searched, and how the result is told.
pub struct Asked<'a> {
    pub trace: &'a Trace,
    pub trace_name: &'a str,
    pub machines: &'a [Weighted],
    /// On so many cores at most.
    pub cores: u32,
    /// What is to be small.
    pub objective: Objective,
    pub scope: &'a Scope,
    pub output: Option<&'a Output>,
    /// The plan is written whatever it gains.
    pub is_forced: bool,
    pub json: bool,
}

/// The comparisons that a plan is judged by.
pub struct Judged<'a> {
    pub searched: &'a Comparison,
    /// `None` where all requests were searched.
    pub held_out: Option<&'a Comparison>,
    /// What the plan does, as the subject of a sentence.
    pub doing: &'a str,
}

impl Judged<'_> {
    fn comparison(&self) -> &Comparison {
        self.held_out.unwrap_or(self.searched)
    }

    pub fn verdict(&self, asked: &Asked<'_>, machine: &Weighted) -> String {
        let judged = self.comparison();
        let requests = counted(judged.requests, "request", "requests");
        let searched = match self.held_out {
            Some(_) => "not searched",
            None => "searched",
        };
        let name = asked.objective.name();
        let what = match judged.ratio(asked.objective) {
            None => return format!("nothing to gain: no {name} on one core"),
            Some(ratio) if ratio >= 1.0 => {
                let (doing, change) = (self.doing, change(ratio));
                return format!("{doing} does not pay here: {change} {name}");
            }
            Some(ratio) => format!("{} {name} on {requests} {searched}", change(ratio)),
        };
        match judged.break_even_cycles(&machine.machine) {
            None => what,
            Some(cycles) => format!("{what}; pays where a hop costs less than {cycles:.0} cycles"),
        }
    }

    /// Whether the plan is to be written.
    pub fn output<'o>(&self, asked: &Asked<'o>) -> Option<&'o Output> {
        let pays = self.comparison().ratio(asked.objective);
        let pays = pays.is_some_and(|ratio| ratio < 1.0);
        asked.output.filter(|_| pays || asked.is_forced)
    }
}

/// The first lines of what is told: what was searched.
pub fn heading(asked: &Asked<'_>, machine: &Weighted, parts: &TrainTestSplit) -> Lines {
    let mut lines = Lines::new();
    let mut say = |label: &str, what: &str| line!(lines, "{label:<11} {what}");
    say(
        "trace",
        &format!("{}, machine {}", asked.trace_name, machine.machine.name),
    );
    for remark in remarks(asked.trace) {
        say("", &remark);
    }
    let drawn = format!(
        "{} requests searched (seed {}), {} warm up, {} judge",
        parts.searched.len(),
        asked.scope.seed,
        parts.warm_up.len(),
        parts.held_out.len()
    );
    say("requests", &drawn);
    lines
}

/// Writes the plan to the output that it is to have, and prints what is told.
pub fn deliver(
    asked: &Asked<'_>,
    plan: &Plan,
    output: Option<&Output>,
    (said, verdict): (&Lines, &str),
) -> Result<(), Failure> {
    let is_stdout = |output: Option<&Output>| output.is_some_and(Output::is_standard_output);
    if let Some(output) = output.filter(|_| !is_stdout(asked.output)) {
        output.write(corehop_plans::render(plan).as_bytes(), PUBLIC)?;
    }
    match is_stdout(asked.output) {
        true => console::tell(said),
        false => console::print(said)?,
    }
    if is_stdout(output) {
        console::print(&Lines::of_text(&corehop_plans::render(plan)))?;
    }
    match asked.output.is_some() && output.is_none() {
        false => Ok(()),
        true => {
            let message = format!("no plan was written: {verdict}");
            Err(Failure::new(Exit::Refused, message)
                .remedy("--anyway writes it all the same; try other --cores or --machine"))
        }
    }
}
