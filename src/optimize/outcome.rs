//! What came of it, for people and for programs: a plan and the one command that uses it, or that
//! nothing pays and by which figure.
//!
//! A gain is one when the whole interval lies above 1 and the server did hop: what is faster
//! without a hop is so by chance. The command for a gain leaves to the runtime whether to hop
//! (`auto`), because a load other than the measured one may not pay; where only the kernel moves
//! threads, it says so instead.

use super::arguments::Arguments;
use super::folder::Folder;
use super::search::{Found, Here, Predicted};
use crate::console;
use crate::failure::{Exit, Failure};
use crate::line::{Lines, line};
use corehop_measurer::rounds::{CONFIDENCE, Comparison, Measured, Verdict};
use corehop_measurer::server::tunables_here;
use corehop_wording::number::{change, counted};
use serde_json::{Value, json};
use std::path::Path;

/// The result.
pub struct Outcome<'a> {
    pub arguments: &'a Arguments,
    pub folder: &'a Folder,
    pub trace: &'a Path,
    pub here: &'a Here,
    pub found: &'a Found,
    /// Nothing where no plan was worth it.
    pub measured: Option<Measured>,
}

impl Outcome<'_> {
    /// What was measured, if that is a gain.
    pub fn gain(&self) -> Option<&Measured> {
        let faster = |of: &&Measured| of.comparison.verdict() == Verdict::Faster && !of.is_still();
        self.measured.as_ref().filter(faster)
    }

    /// The plan that the page shows, if there is any.
    pub fn shown(&self) -> Option<usize> {
        let best = self.measured.as_ref().map(|measured| measured.best);
        best.or((!self.found.plans.is_empty()).then_some(0))
    }

    /// Keeps the result, and a plan that pays where one is looked for. The page comes after it: of
    /// a large trace it takes longer than all else, and is not to hold up what was found.
    pub fn keep(&self) -> Result<(), Failure> {
        if let Some(measured) = &self.measured {
            let speed = shown(&measured.comparison);
            console::say(&format!("{speed} times as fast; writing the report"));
        }
        if let Some(measured) = self.gain() {
            self.folder
                .keep_plan(&self.found.plans[measured.best].plan)?;
        }
        self.folder
            .keep_result(Lines::of_json(&self.json()).as_str())
    }

    /// What there is before the page is written.
    pub fn left(&self) -> String {
        let result = self.folder.result();
        format!("all but the report is done: {}", result.display())
    }

    /// Prints it, and fails where nothing pays.
    pub fn tell(&self) -> Result<(), Failure> {
        let object = Lines::of_json(&self.json());
        if self.arguments.json {
            console::print(&object)?;
        } else if let Some(measured) = self.gain() {
            console::print(&self.text(measured))?;
        }
        let Some(why) = self.why_not() else {
            return Ok(());
        };
        let kept = match self.shown() {
            Some(_) => format!(", the report {}", self.folder.report().display()),
            None => String::new(),
        };
        let trace = self.trace.display();
        let failure = Failure::new(Exit::Findings, format!("nothing pays here: {why}"));
        let advice = match self.is_open() {
            true => {
                "the rounds differ too much to tell: measure again with --trace on a machine that \
                 does nothing else, in more --max-rounds"
            }
            false => "leave the server as it is",
        };
        Err(failure.remedy(format!("{advice}; the trace is {trace}{kept}")))
    }

    /// Whether there may be a gain larger than what was to be told, all the same.
    fn is_open(&self) -> bool {
        let within = 1.0 + self.arguments.within / 100.0;
        let open = |of: &Measured| of.comparison.low <= 1.0 && of.comparison.high > within;
        self.measured.as_ref().is_some_and(open)
    }

    /// The figure by which nothing pays; nothing where something does.
    fn why_not(&self) -> Option<String> {
        if self.gain().is_some() {
            return None;
        }
        let Some(best) = self.found.plans.first() else {
            let none = self.found.none.clone();
            return Some(none.unwrap_or_else(|| "no plan was found".into()));
        };
        let Some(measured) = &self.measured else {
            let predicted = format!(
                "{} L2 misses and {} cycles",
                change(best.l2_misses_ratio),
                change(best.cycles_ratio)
            );
            let (plans, machine) = (self.plans(), &self.here.machine.name);
            return Some(format!(
                "the best of {plans} is predicted to change {predicted} on {machine}"
            ));
        };
        let comparison = &measured.comparison;
        if measured.is_still() {
            return Some(
                "the patched server never hopped: the load that was measured does not reach the \
                 functions of the one recorded"
                    .into(),
            );
        }
        Some(format!(
            "the best of {} measured {} of the original's speed",
            self.plans(),
            shown(comparison)
        ))
    }

    fn plans(&self) -> String {
        counted(self.found.plans.len() as u64, "plan", "plans")
    }

    fn text(&self, measured: &Measured) -> Lines {
        let mut text = Lines::new();
        let best = &self.found.plans[measured.best];
        let rounds = counted(measured.rounds.all().len() as u64, "round", "rounds");
        let program = &self.arguments.command[0];
        line!(
            text,
            "{program}: {} times as fast on {} cores",
            shown(&measured.comparison),
            best.plan.cores
        );
        line!(text);
        line!(
            text,
            "{:<12}{rounds} in turn, hops by {}",
            "measured",
            measured.backend()
        );
        line!(
            text,
            "{:<12}{} L2 misses, {:.1} hops a request ({})",
            "predicted",
            change(best.l2_misses_ratio),
            best.hops_per_request,
            self.here.machine.name
        );
        for function in &best.plan.functions {
            let to = function.to.to_string();
            line!(text, "{to:<12}from {}", function.symbol);
        }
        line!(text, "{:<12}{}", "plan", self.folder.plan().display());
        line!(text, "{:<12}{}", "report", self.folder.report().display());
        line!(text);
        line!(text, "Start the server with:");
        line!(text);
        line!(text, "    {}", self.command(measured));
        text
    }

    /// What starts the server with the plan, for a shell.
    fn command(&self, measured: &Measured) -> String {
        let plan = self.folder.plan().display().to_string();
        let words = ["corehop", "run", "--plan", &plan, "--"];
        let own = self.arguments.command.iter().map(String::as_str);
        let words: Vec<_> = words.into_iter().chain(own).map(quoted).collect();
        let environment = match measured.backend() {
            "affinity" => "COREHOP_BACKEND=affinity".into(),
            _ => format!(
                "GLIBC_TUNABLES={} COREHOP_BACKEND=auto",
                quoted(&tunables_here())
            ),
        };
        format!("{environment} {}", words.join(" "))
    }

    fn json(&self) -> Value {
        let gain = self.gain();
        let comparison = self.measured.as_ref().map(|measured| measured.comparison);
        let tried = self.found.plans.iter().enumerate();
        let rounds = |side: usize| -> Option<Vec<f64>> {
            let rounds = self.measured.as_ref()?.rounds.all().iter();
            Some(rounds.map(|round| round.throughput()[side]).collect())
        };
        json!({
            "gain": gain.is_some(),
            "ratio": comparison.map(|of| of.ratio),
            "interval": comparison.map(|of| [of.low, of.high]),
            "confidence": CONFIDENCE,
            "why_not": self.why_not(),
            "plan": gain.map(|_| self.folder.plan()),
            "report": gain.map(|_| self.folder.report()),
            "command": gain.map(|measured| self.command(measured)),
            "trace": self.trace,
            "machine": self.here.machine.name,
            "hop_cost_cycles": self.here.machine.hop_cost_cycles,
            "original": rounds(0),
            "patched": rounds(1),
            "best": self.shown(),
            "hops": self.measured.as_ref().and_then(|measured| measured.hops.as_ref()),
            "tried": tried.map(|(index, of)| self.tried(index, of)).collect::<Vec<_>>(),
        })
    }

    fn tried(&self, index: usize, of: &Predicted) -> Value {
        let measured = self.measured.as_ref();
        let screened = measured.and_then(|measured| measured.screened.get(index));
        json!({
            "plan": self.folder.tried(index),
            "cores": of.plan.cores,
            "functions": of.plan.functions,
            "predicted": {
                "l2_misses_ratio": of.l2_misses_ratio,
                "cycles_ratio": of.cycles_ratio,
                "hops_per_request": of.hops_per_request,
            },
            "screened": screened.map(|of| json!({
                "ratio": of.ratio,
                "interval": [of.low, of.high],
            })),
        })
    }
}

/// `2.58 (2.51 to 2.66, 95 % confidence)`.
fn shown(of: &Comparison) -> String {
    let percent = CONFIDENCE * 100.0;
    format!(
        "{:.3} ({:.3} to {:.3}, {percent} % confidence)",
        of.ratio, of.low, of.high
    )
}

/// A word as a shell takes it, quoted only where it must be; none that was given on a command line
/// holds a NUL, which no shell takes.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+=:,/@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    shlex::try_quote(word).map_or_else(|_| word.into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_intervals_are_shown_as_shells_and_people_read_them() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("--save=~"), "'--save=~'");
        assert_eq!(quoted("glibc.pthread.rseq=0"), "glibc.pthread.rseq=0");
        let comparison = Comparison {
            ratio: 0.93,
            low: 0.9,
            high: 0.97,
        };
        let expected = "0.930 (0.900 to 0.970, 95 % confidence)";
        assert_eq!(shown(&comparison), expected);
    }
}
