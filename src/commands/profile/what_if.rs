//! `corehop profile --what-if` and `--suggest`: counts with and without a change.
//!
//! `corehop_profile::what_if` replays. This file has the options and prints the tables.

use crate::commands::replay::counted_requests;
use crate::failure::{Exit, Failure};
use crate::options::requests::CountedRequests;
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_partitioner::attribution::{mark, remarks};
use corehop_partitioner::progress::Progress;
use corehop_profile::what_if::{
    Change, ChangedObject, Error, Outcome, Side, Suggestions, WhatIf, outcome_shown, suggest,
    suggestions_shown, what_if,
};
use corehop_profile::{Cost, Level};
use corehop_simulator::timing::PrefetcherName;
use corehop_simulator::{Machine, Split, TlbCounters};
use corehop_support::format::number::{change_between, counted, grouped};
use corehop_traces::Trace;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The options of what-ifs.
#[derive(Args)]
#[command(next_help_heading = "What-ifs")]
pub struct WhatIfArguments {
    /// Count misses and cycles with and without the changes of a TOML file, instead of tables
    ///
    /// The changes pad, align, color, split, or move objects, put regions on huge pages, or change
    /// the machine (docs/guide/profile.md). Implies --threads spread.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["by", "sort", "level", "limit", "format", "suggest", "tlb"]
    )]
    what_if: Option<PathBuf>,
    /// Try the obvious changes, and list those that save cycles, instead of tables
    ///
    /// Each is replayed like a --what-if; --limit lists fewer. Implies --threads spread.
    #[arg(long, conflicts_with_all = ["by", "sort", "level", "format", "tlb"])]
    suggest: bool,
}

/// What is replayed, and what its output needs.
pub struct Subject<'a> {
    pub trace: &'a Trace,
    /// The trace's name, and the number of requests to warm up.
    pub named: (&'a str, usize),
    pub on: (&'a Machine, &'a Split),
    pub limit: usize,
    pub is_per_request: bool,
    pub is_json: bool,
}

impl WhatIfArguments {
    /// Returns the option that was given.
    pub fn option(&self) -> Option<&'static str> {
        match (&self.what_if, self.suggest) {
            (Some(_), _) => Some("--what-if"),
            (None, true) => Some("--suggest"),
            (None, false) => None,
        }
    }

    /// Reads the file before any work; `None` without `--what-if`.
    pub fn file(&self) -> Result<Option<WhatIf>, Failure> {
        let file = self.what_if.as_deref();
        Ok(file.map(WhatIf::read).transpose()?)
    }

    /// Replays and prints.
    pub fn run(
        &self,
        subject: &Subject<'_>,
        file: Option<&WhatIf>,
        requests: &CountedRequests,
        failure: &dyn Fn(corehop_simulator::Error) -> Failure,
    ) -> Result<(), Failure> {
        let bar = Bar::new();
        let progress = |executions| bar.advance(executions);
        let options = requests.options(subject.trace, &progress);
        let executions = options.executions(subject.trace);
        match (file, &self.what_if) {
            (Some(file), Some(path)) => {
                bar.begin("code blocks replayed", Some(file.passes() * executions));
                let on = subject.on;
                let outcome = what_if(subject.trace, on, &options, (file, path));
                bar.end();
                let outcome = outcome.map_err(|error| match error {
                    Error::Replay(error) => failure(error),
                    error => error.into(),
                })?;
                subject.print_outcome(&outcome, path)
            }
            _ => {
                bar.begin("code blocks replayed", None);
                let suggestions = suggest(subject.trace, subject.on, &options);
                bar.end();
                subject.print_suggestions(&suggestions.map_err(failure)?)
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Read { .. } => Failure::new(Exit::Input, error)
                .remedy("name a TOML file with changes (docs/guide/profile.md)"),
            Error::Syntax { .. } => Failure::in_lines(Exit::Input, error)
                .remedy("correct the file; docs/guide/profile.md describes its keys"),
            Error::Invalid { .. } => Failure::new(Exit::Input, error).explained(),
            Error::Replay(error) => error.into(),
        }
    }
}

const LEVELS: [(&str, Level); 3] = [
    ("L1 misses", Level::L1),
    ("L2 misses", Level::L2),
    ("L3 misses", Level::L3),
];

/// Figures of TLBs.
type Translation = (&'static str, fn(&TlbCounters) -> u64);

const TRANSLATIONS: [Translation; 5] = [
    ("L1 TLB misses", TlbCounters::l1_misses),
    ("page walks", TlbCounters::walks),
    ("entries that walks read", |of| of.walk_loads),
    ("  L2 misses", |of| of.walk_l2_misses),
    ("  L3 misses", |of| of.walk_l3_misses),
];

impl Subject<'_> {
    fn print_json(&self, value: impl serde::Serialize) -> Result<(), Failure> {
        // The keys are strings, and nothing else can fail.
        let mut value = serde_json::to_value(value).unwrap_or(Value::Null);
        mark(&mut value, self.trace);
        console::print(&Lines::of_json(&value))
    }

    /// Returns a sum, or its mean per request.
    fn figure(&self, requests: u64, figure: u64) -> String {
        match self.is_per_request {
            true => format!("{:.1}", figure as f64 / requests.max(1) as f64),
            false => grouped(figure),
        }
    }

    fn print_outcome(&self, outcome: &Outcome, path: &Path) -> Result<(), Failure> {
        if self.is_json {
            return self.print_json(outcome_shown(outcome, self.named));
        }
        let Outcome {
            objects,
            before,
            after,
        } = outcome;
        let mut text = Lines::new();
        let (name, warm_up) = self.named;
        line!(text, "{name}, {}", setting(before));
        let changed = setting(after);
        let changed = match changed == setting(before) {
            true => String::new(),
            false => format!(": {changed}"),
        };
        line!(text, "what if {}{changed}", path.display());
        counted_requests(&mut text, &before.replay, warm_up, &remarks(self.trace));
        let table = Comparison {
            subject: self,
            requests: before.replay.requests,
            machines: [&before.machine, &after.machine],
        };
        table.head(&mut text, &format!("in all, {}", self.scale()));
        table.costs(&mut text, [&before.total, &after.total]);
        table.translations(&mut text, [before, after]);
        table.row(
            &mut text,
            "cycles",
            [before, after].map(|of| of.replay.counters.cycles),
        );
        let costs = before.objects.iter().zip(&after.objects);
        for (object, (old, new)) in objects.iter().zip(costs) {
            line!(text);
            table.head(&mut text, &title(object));
            table.costs(&mut text, [old, new]);
            let cycles = [old.cycles(&before.machine), new.cycles(&after.machine)];
            table.row(&mut text, "cycles", cycles);
        }
        console::print(&text)
    }

    fn print_suggestions(&self, of: &Suggestions) -> Result<(), Failure> {
        let machine = self.on.0;
        if self.is_json {
            return self.print_json(suggestions_shown(of, self.named, machine, self.limit));
        }
        let mut text = Lines::new();
        let (name, warm_up) = self.named;
        let cores = counted(of.replay.per_core.len() as u64, "core", "cores");
        line!(text, "{name}, machine {}, {cores}", machine.name);
        counted_requests(&mut text, &of.replay, warm_up, &remarks(self.trace));
        let tried = counted(of.tried as u64, "change", "changes");
        let helpful = counted(of.helpful.len() as u64, "saves cycles", "save cycles");
        if of.helpful.is_empty() {
            line!(text, "{tried} tried; none saves cycles");
            return console::print(&text);
        }
        line!(
            text,
            "{:>14}{:>10}{:>12}{:>12}{:>12}  object: reason",
            "saved cycles",
            "of all",
            "L1 misses",
            "L2 misses",
            "L3 misses"
        );
        let requests = of.replay.requests;
        for one in of.helpful.iter().take(self.limit) {
            let saved = of.saved_cycles(one).unsigned_abs();
            let share = 100.0 * saved as f64 / of.replay.counters.cycles.max(1) as f64;
            let misses = LEVELS.map(|(_, level)| {
                let [old, new] = [&of.total, &one.after.total].map(|of| of.misses(level));
                change_between(old, new)
            });
            let misses = misses.map(|change| format!("{change:>12}")).concat();
            let saved = self.figure(requests, saved);
            let Change { object, .. } = &one.change;
            line!(
                text,
                "{saved:>14}{share:>8.1} %{misses}  {object}: {}",
                one.reason
            );
        }
        line!(text, "{tried} tried alone; {helpful}");
        for one in of.helpful.iter().take(self.limit) {
            line!(text);
            line!(text, "[[change]]");
            let keys = toml::to_string(&one.change).unwrap_or_default();
            keys.lines().for_each(|key| line!(text, "{key}"));
        }
        console::print(&text)
    }

    fn scale(&self) -> &'static str {
        match self.is_per_request {
            true => "a request",
            false => "sums",
        }
    }
}

/// Returns what a replay simulates.
fn setting(side: &Side) -> String {
    let cores = counted(side.replay.per_core.len() as u64, "core", "cores");
    let machine = format!("machine {}, {cores}", side.machine.name);
    match side.prefetcher {
        PrefetcherName::None => machine,
        name => format!("{machine}, prefetcher {name}"),
    }
}

fn title(object: &ChangedObject) -> String {
    let file = object
        .module
        .as_ref()
        .and_then(|path| path.rsplit('/').next());
    match file {
        Some(file) => format!("{} of {file}", object.name),
        None => object.name.clone(),
    }
}

/// A table of figures before and after.
struct Comparison<'a> {
    subject: &'a Subject<'a>,
    requests: u64,
    machines: [&'a Machine; 2],
}

impl Comparison<'_> {
    fn head(&self, text: &mut Lines, title: &str) {
        let columns = ["before", "after"].map(|name| format!("{name:>17}"));
        line!(text, "{title:<26}{}{:>11}", columns.concat(), "change");
    }

    fn row(&self, text: &mut Lines, name: &str, [before, after]: [u64; 2]) {
        let change = change_between(before, after);
        let figures = [before, after].map(|figure| self.subject.figure(self.requests, figure));
        let figures = figures.map(|figure| format!("{figure:>17}"));
        let row = format!("{name:<26}{}{change:>11}", figures.concat());
        line!(text, "{}", row.trim_end());
    }

    /// Prints a row unless both figures are 0.
    fn row_if_any(&self, text: &mut Lines, name: &str, figures: [u64; 2]) {
        if figures != [0; 2] {
            self.row(text, name, figures);
        }
    }

    fn costs(&self, text: &mut Lines, costs: [&Cost; 2]) {
        self.row(text, "accesses", costs.map(Cost::accesses));
        for (name, level) in LEVELS {
            self.row(text, name, costs.map(|cost| cost.misses(level)));
            let [before, after] = costs.map(|cost| cost.causes(level).named());
            for ((name, before), (_, after)) in before.into_iter().zip(after) {
                self.row_if_any(text, &format!("  {name}"), [before, after]);
            }
        }
        let [old, new] = costs;
        let counters = [
            old.counters(self.machines[0]),
            new.counters(self.machines[1]),
        ];
        self.row_if_any(text, "transfers", counters.map(|of| of.transfers));
        self.row_if_any(text, "modified", counters.map(|of| of.hit_modified));
        self.row_if_any(text, "invalidated", counters.map(|of| of.invalidated_lines));
    }

    fn translations(&self, text: &mut Lines, sides: [&Side; 2]) {
        let tlbs = sides.map(|side| side.replay.tlbs.iter().copied().sum::<TlbCounters>());
        for (name, of) in TRANSLATIONS {
            self.row_if_any(text, name, [of(&tlbs[0]), of(&tlbs[1])]);
        }
    }
}
