//! The outcome: a plan or asynchronous system calls that make the server faster, or no speedup and
//! the figures that show it.
//!
//! A gain requires that the whole interval is above 1, and that the server did hop or make
//! asynchronous calls. A server that is faster without either is so by chance. Nor is there a gain
//! if an error, such as an interruption, ended the rounds before they were settled.

use super::arguments::Arguments;
use super::candidate::{Candidate, Candidates, Contested};
use super::causes::Causes;
use super::folder::Folder;
use super::search::Here;
use super::start;
use crate::measuring::in_groups;
use crate::options::carriers::Known;
use corehop_measure::machine::neighbors::Neighbors;
use corehop_measure::rounds::{Answer, CONFIDENCE, Comparison, Measured, Verdict};
use corehop_measure::server::tunables_here;
use corehop_partitioner::expected::Speedup;
use corehop_support::format::number::{change, counted};
use std::path::Path;

/// The result.
pub struct Outcome<'a> {
    pub arguments: &'a Arguments,
    pub folder: &'a Folder,
    pub trace: &'a Path,
    pub here: &'a Here,
    pub candidates: &'a Candidates,
    /// Known calls that the backend `carrier` does not support.
    pub carriers: Vec<Known>,
    /// `None` if no candidate was worth measuring.
    pub contested: Option<Contested>,
    /// What misses most; `None` with a gain.
    pub causes: Option<Causes>,
}

/// The most of the time that one thread seems to run, by coarse clocks.
const ONE_THREAD: f64 = 1.05;

impl Outcome<'_> {
    /// Returns the candidate and its measurement, if it is a gain.
    pub fn gain(&self) -> Option<(&Candidate, &Measured)> {
        let (best, measured) = self.best()?;
        let is_faster = measured.comparison.verdict() == Verdict::Faster;
        let counts = measured.why_cut_short().is_none() && !measured.is_still();
        (is_faster && counts).then_some((best, measured))
    }

    /// Whether an error ended the rounds before they were settled.
    pub fn is_cut_short(&self) -> bool {
        let mut measured = self.contested.iter().map(|contested| &contested.measured);
        measured.any(|measured| measured.why_cut_short().is_some())
    }

    /// Returns the best candidate and its measurement.
    fn best(&self) -> Option<(&Candidate, &Measured)> {
        let contested = self.contested.as_ref()?;
        let best = &self.candidates.all[contested.best()];
        Some((best, &contested.measured))
    }

    /// Returns the plan for the report, if there is one: the best measured plan, or else the best
    /// prediction. If asynchronous calls are the gain, a report would describe a plan that is not
    /// used.
    pub fn page(&self) -> Option<usize> {
        let is_plan = |&at: &usize| matches!(self.candidates.all[at], Candidate::Plan(_));
        if let Some((Candidate::SystemCalls(_), _)) = self.gain() {
            return None;
        }
        let best = self.contested.as_ref().map(Contested::best);
        let predicted = (!self.candidates.all.is_empty()).then_some(0);
        best.filter(is_plan).or(predicted.filter(is_plan))
    }

    /// Returns the expected speedup of the best candidate, if it is a plan, by the share of its
    /// time in which the original was measured to run its own code; with that share. `None` if
    /// several threads ran at a time, because no share of the time is then that of a request.
    pub fn expected(&self) -> Option<(f64, Speedup)> {
        let (best, measured) = self.best()?;
        let Candidate::Plan(predicted) = best else {
            return None;
        };
        let share = measured
            .rounds
            .own_share()
            .filter(|&share| share <= ONE_THREAD)?;
        Some((share, predicted.speedup?.of_share(share.min(1.0))))
    }

    /// Returns who else used the cores during the measurement.
    pub fn neighbors(&self) -> Option<Neighbors> {
        let (_, measured) = self.best()?;
        measured.rounds.neighbors()
    }

    /// Returns the shell command that starts the faster server; `None` without a gain.
    pub fn command(&self) -> Option<String> {
        let (best, measured) = self.gain()?;
        let moved = (measured.backend(), &*tunables_here());
        let server = &self.arguments.command;
        Some(start::command(best, &self.folder.plan(), moved, server))
    }

    /// Returns whether the server becomes faster. Without a measurement, or without hops and
    /// asynchronous calls in it, there is no gain.
    pub fn answer(&self) -> Answer {
        let of_rounds = self.best().map(|(_, measured)| measured);
        match (self.gain(), of_rounds.filter(|of| !of.is_still())) {
            (Some(_), _) => Answer::Gain,
            (None, Some(measured)) => measured.rounds.answer(),
            (None, None) => Answer::NoGain,
        }
    }

    /// Returns the figures that show no speedup; `None` if there is one.
    pub fn why_not(&self) -> Option<String> {
        if self.gain().is_some() {
            return None;
        }
        let are_measured = |contested: &&Contested| {
            let mut entrants = contested.entrants.iter();
            entrants.any(|&at| matches!(self.candidates.all[at], Candidate::Plan(_)))
        };
        let of_plans = match self.contested.as_ref().filter(are_measured) {
            Some(_) => None,
            None => Some(self.why_no_plan()),
        };
        let reasons: Vec<String> = of_plans.into_iter().chain(self.as_measured()).collect();
        Some(reasons.join("; "))
    }

    /// Returns why no plan was worth measuring.
    fn why_no_plan(&self) -> String {
        let Some(best) = self.candidates.plans().next() else {
            let none = self.candidates.no_plan.clone();
            return none.unwrap_or_else(|| "no plan was found".into());
        };
        let speed = best
            .speedup
            .map(|speedup| format!(", and to make {speedup},"));
        let predicted = format!(
            "{} L2 misses and {} cycles{}",
            change(best.l2_misses_ratio),
            change(best.cycles_ratio),
            speed.unwrap_or_default()
        );
        let plans = counted(self.candidates.plans().count() as u64, "plan", "plans");
        let machine = &self.here.machine.name;
        format!("the best of {plans} is predicted to change {predicted} on {machine}")
    }

    /// Returns the measurement of the best candidate, which is no gain.
    fn as_measured(&self) -> Option<String> {
        let (best, measured) = self.best()?;
        Some(match (best, measured.is_still()) {
            (Candidate::Plan(_), true) => {
                "the patched server never hopped: the measured load does not reach the functions \
                 of the recorded one"
                    .into()
            }
            (Candidate::SystemCalls(calls), true) => format!(
                "the server made no asynchronous call: it makes none of {calls} under the measured \
                 load, or prints the reason on standard error (--verbose shows it)"
            ),
            (_, false) => {
                let speed = shown(&measured.comparison);
                let groups = measured.rounds.groups();
                let caution = groups.map(|groups| format!("; {}", in_groups(&groups)));
                let beside = self.neighbors().map(|neighbors| format!("; {neighbors}"));
                let early = measured.why_cut_short();
                let early = early.map(|error| format!("; measuring ended early: {error}"));
                format!(
                    "{} measured {speed} of the original's speed{}{}{}",
                    self.entrants(),
                    caution.unwrap_or_default(),
                    beside.unwrap_or_default(),
                    early.unwrap_or_default()
                )
            }
        })
    }

    /// Returns the measurement of the plan in the report, for people.
    pub fn measured(&self) -> Option<String> {
        let (_, measured) = self.best()?;
        let speed = shown(&measured.comparison);
        let mut said = format!("Measured on this machine: {speed} times as fast.");
        if let Some(groups) = measured.rounds.groups() {
            said += &format!(" Note that {}.", in_groups(&groups));
        }
        Some(said).filter(|_| self.page() == self.contested.as_ref().map(Contested::best))
    }

    /// Returns the names of all contestants.
    fn entrants(&self) -> String {
        let entrants = self
            .contested
            .iter()
            .flat_map(|contested| &contested.entrants);
        let (mut plans, mut calls) = (0, None);
        for &at in entrants {
            match &self.candidates.all[at] {
                Candidate::Plan(_) => plans += 1,
                Candidate::SystemCalls(posted) => calls = Some(posted),
            }
        }
        let counted = counted(plans, "plan", "plans");
        match calls {
            None => format!("the best of {counted}"),
            Some(calls) if plans == 0 => format!("asynchronous system calls ({calls})"),
            Some(calls) => format!("the best of {counted} and asynchronous system calls ({calls})"),
        }
    }
}

/// Formats `2.58 (2.51 to 2.66, 95 % confidence)`.
pub fn shown(of: &Comparison) -> String {
    let percent = CONFIDENCE * 100.0;
    format!(
        "{:.3} ({:.3} to {:.3}, {percent} % confidence)",
        of.ratio, of.low, of.high
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_shown_as_people_read_them() {
        let comparison = Comparison {
            ratio: 0.93,
            low: 0.9,
            high: 0.97,
        };
        let expected = "0.930 (0.900 to 0.970, 95 % confidence)";
        assert_eq!(shown(&comparison), expected);
    }
}
