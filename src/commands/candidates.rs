//! `corehop candidates`: lists the functions that a search selects from, and why it excludes
//! others.
//!
//! With the same options, the table lists exactly the functions that `corehop partition` searches.
//! Calls are counted over all requests except the held-out ones. Unpatchable entries are listed
//! too, because a better patcher or another build could add them.

mod by_argument;

use crate::bundled;
use crate::failure::{Exit, Failure};
use crate::one_way;
use crate::options::scope::{MoreFunctions, Scope};
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_partitioner::candidates::{Called, CandidateRule, Candidates};
use corehop_partitioner::delegated;
use corehop_partitioner::requests::TrainTestSplit;
use corehop_support::format::name::shortened;
use corehop_support::format::number::grouped;
use corehop_traces::{FunctionId, RequestId, Trace};
use serde_json::{Value, json};
use std::path::PathBuf;

/// List the functions at whose entry threads could migrate to another core
///
/// `corehop partition` with the same options searches these functions. Calls are counted over all
/// complete requests except the held-out ones. Functions that cannot be patched are listed with the
/// reason.
#[derive(Args)]
#[command(after_help = "\
Example: corehop candidates bank.trace --max-calls 2
Then:    corehop partition bank.trace --max-calls 2 --cores 4
Example: corehop candidates bank.trace --by-argument")]
pub struct Arguments {
    /// Trace to read
    ///
    /// Default: the bundled sample, MariaDB under TPC-C.
    trace: Option<PathBuf>,
    #[command(flatten)]
    scope: Scope,
    /// Instead, list functions with an argument that points to one of several objects
    ///
    /// Each of these objects could have its own core. Calls are counted over all complete requests
    /// (docs/reference/objects.md).
    #[arg(
        long,
        help_heading = "Candidates",
        conflicts_with_all = ["requests", "all_requests", "seed", "max_calls", "group_within",
            "delegate"]
    )]
    by_argument: bool,
    /// Instead, list functions whose calls could be delegated to another core
    ///
    /// They are the candidates of `corehop partition --delegate`. Each is a separate group, and all
    /// of its returns must be patchable, because threads migrate back there.
    #[arg(long, help_heading = "Candidates")]
    delegate: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// The counted candidates and their context.
struct Listing<'a> {
    trace: &'a Trace,
    trace_name: &'a str,
    rule: CandidateRule,
    seed: u64,
    candidates: &'a Candidates,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    run_with(arguments, None)
}

/// Runs the subcommand with additional functions that are not in the trace.
pub fn run_with(arguments: &Arguments, more: Option<MoreFunctions<'_>>) -> Result<(), Failure> {
    let other = arguments.by_argument || arguments.delegate;
    if more.is_some() && other {
        let message = "--by-argument and --delegate list functions of the trace only";
        return Err(Failure::new(Exit::Usage, message).remedy("leave both out"));
    }
    let (trace, trace_name) = bundled::open_or_bundled(arguments.trace.as_deref())?;
    list(arguments, (trace, &trace_name), more).map_err(|failure| failure.of_trace(&trace_name))
}

fn list(
    arguments: &Arguments,
    (mut trace, trace_name): (Trace, &str),
    more: Option<MoreFunctions<'_>>,
) -> Result<(), Failure> {
    let scope = &arguments.scope;
    if arguments.by_argument {
        let min_share = scope.rule().min_share;
        let told = by_argument::told(&trace, trace_name, min_share, arguments.json)?;
        return console::print(&told);
    }
    corehop_partitioner::Error::needs_functions(&trace)?;
    let parts = TrainTestSplit::of(trace.requests(), scope.searched(), scope.seed)?;
    let learning: Vec<RequestId> = parts.training().collect();
    let bar = Bar::new();
    if let Some(more) = more {
        trace = more(trace, &learning, &scope.rule())?;
    }
    let (rule, candidates) = match arguments.delegate {
        false => (
            scope.rule(),
            Candidates::of(&trace, &learning, &scope.rule(), &bar),
        ),
        true => (
            scope.rule_of_calls(),
            that_go_back(&trace, &learning, &scope.rule_of_calls(), &bar),
        ),
    };
    let listing = Listing {
        trace: &trace,
        trace_name,
        rule,
        seed: scope.seed,
        candidates: &candidates?,
    };
    match arguments.json {
        true => console::print(&Lines::of_json(&listing.as_json())),
        false => console::print(&listing.as_text()),
    }
}

/// Returns the functions whose calls can be delegated. For functions from which no thread can
/// migrate back, it returns the reason.
fn that_go_back(
    trace: &Trace,
    learning: &[RequestId],
    rule: &CandidateRule,
    bar: &Bar,
) -> Result<Candidates, corehop_traces::Error> {
    let one_way = one_way::known(trace);
    let never: Vec<FunctionId> = one_way.iter().map(|(function, _)| *function).collect();
    let mut candidates = delegated::candidates(trace, learning, rule, &never, bar)?;
    for unpatchable in &mut candidates.unpatchable {
        let known = one_way.iter().find(|(of, _)| *of == unpatchable.function);
        let is_entry = trace.functions()[unpatchable.function.index()]
            .unpatchable
            .is_some();
        if let Some((_, reason)) = known.filter(|_| !is_entry) {
            unpatchable.reason.clone_from(reason);
        }
    }
    Ok(candidates)
}

impl Listing<'_> {
    fn as_text(&self) -> Lines {
        let mut text = Lines::new();
        let (candidates, rule) = (self.candidates, &self.rule);
        line!(
            text,
            "{}: calls counted over {} requests, of {} accesses on average",
            self.trace_name,
            grouped(candidates.requests as u64),
            grouped(candidates.accesses_per_request as u64)
        );
        line!(
            text,
            "left out: {} functions called more than {} in a request, {} in less than {} % of them",
            grouped(candidates.called_too_often as u64),
            match rule.max_calls {
                1 => "once".into(),
                most => format!("{most} times"),
            },
            grouped(candidates.called_too_rarely as u64),
            rule.min_share * 100.0
        );
        line!(
            text,
            "candidates: {} in {} groups; {} more cannot be patched",
            candidates.chosen.len(),
            candidates.groups,
            candidates.unpatchable.len()
        );
        line!(text);
        line!(
            text,
            "{:>5}{:>8}{:>7}{:>6}{:>9}{:>10}  entering",
            "group",
            "least",
            "median",
            "most",
            "share",
            "position"
        );
        for candidate in &candidates.chosen {
            let group = candidate.group.to_string();
            self.row(&mut text, &group, candidate.function, &candidate.called);
        }
        for unpatchable in &candidates.unpatchable {
            self.row(&mut text, "-", unpatchable.function, &unpatchable.called);
            line!(text, "{:47}cannot be patched: {}", "", unpatchable.reason);
        }
        text
    }

    fn row(&self, text: &mut Lines, group: &str, function: FunctionId, called: &Called) {
        let Called {
            least,
            median,
            most,
            ..
        } = called;
        let share = format!("{:.1} %", called.share * 100.0);
        let position = grouped(called.position as u64);
        let name = shortened(&self.trace.functions()[function.index()].name);
        line!(
            text,
            "{group:>5}{least:>8}{median:>7}{most:>6}{share:>9}{position:>10}  {name}"
        );
    }

    fn as_json(&self) -> Value {
        let candidates = self.candidates;
        let chosen = candidates.chosen.iter().map(|candidate| {
            let mut object = self.function(candidate.function, &candidate.called);
            object["group"] = candidate.group.into();
            object["unpatchable"] = Value::Null;
            object
        });
        let unpatchable = candidates.unpatchable.iter().map(|unpatchable| {
            let mut object = self.function(unpatchable.function, &unpatchable.called);
            object["group"] = Value::Null;
            object["unpatchable"] = unpatchable.reason.clone().into();
            object
        });
        json!({
            "trace": self.trace_name,
            "seed": self.seed,
            "requests": candidates.requests,
            "accesses_per_request": candidates.accesses_per_request,
            "max_calls": self.rule.max_calls,
            "min_share": self.rule.min_share,
            "group_within": self.rule.group_within,
            "called_too_often": candidates.called_too_often,
            "called_too_rarely": candidates.called_too_rarely,
            "groups": candidates.groups,
            "candidates": chosen.chain(unpatchable).collect::<Vec<_>>(),
        })
    }

    fn function(&self, function: FunctionId, called: &Called) -> Value {
        let function = &self.trace.functions()[function.index()];
        json!({
            "name": function.name,
            "symbol": function.symbol,
            "module": self.trace.modules()[function.module as usize].path,
            "offset": function.offset,
            "calls": { "least": called.least, "median": called.median, "most": called.most },
            "share": called.share,
            "position": called.position,
        })
    }
}
