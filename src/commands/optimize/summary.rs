//! Writes the result into the folder, and prints it.

use super::candidate::Candidate;
use super::json;
use super::outcome::{Outcome, shown};
use super::search::{Here, Predicted};
use super::start;
use crate::failure::{Exit, Failure};
use crate::measuring::{cut_short, in_groups};
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use corehop_measure::rounds::{Answer, Decision, Measured};
use corehop_partitioner::expected::Speedup;
use corehop_plan::{Mode, PlannedFunction};
use corehop_support::format::number::{change, counted, grouped};

/// Writes the result and the files of a gain. The page is written later: for a large trace it takes
/// longer than everything else, and must not delay the result.
pub fn keep(outcome: &Outcome<'_>) -> Result<(), Failure> {
    if let Some(contested) = &outcome.contested {
        let speed = shown(&contested.measured.comparison);
        let next = match (outcome.is_cut_short(), outcome.page()) {
            (true, _) => ", not settled",
            (false, Some(_)) => "; writing the report",
            (false, None) => "",
        };
        console::say(&format!("{speed} times as fast{next}"));
    }
    if let Some((Candidate::Plan(pays), _)) = outcome.gain() {
        outcome.folder.keep_plan(&pays.plan)?;
    }
    if let Some(command) = outcome.command() {
        outcome.folder.keep_start(&start::script(&command))?;
    }
    let object = Lines::of_json(&json::render(outcome));
    outcome.folder.keep_result(object.as_str())
}

/// Returns what is complete before the page is written.
pub fn left(outcome: &Outcome<'_>) -> String {
    let result = outcome.folder.result();
    format!("all but the report is done: {}", result.display())
}

/// Writes and prints what was measured before an error ended the rounds, and fails with the error.
/// No page is written: it would delay the end of an interrupted command.
pub fn tell_early(outcome: Outcome<'_>) -> Result<(), Failure> {
    keep(&outcome)?;
    if outcome.arguments.json {
        console::print(&Lines::of_json(&json::render(&outcome)))?;
    }
    let kept = format!(
        "{}, {}",
        outcome.folder.result().display(),
        outcome.trace.display()
    );
    let contested = outcome.contested;
    let error = contested.and_then(|contested| contested.measured.rounds.into_why_cut_short());
    error.map_or(Ok(()), |error| Err(cut_short(error, &kept)))
}

/// Prints the result, and fails if there is no speedup.
pub fn tell(outcome: &Outcome<'_>) -> Result<(), Failure> {
    if outcome.arguments.json {
        console::print(&Lines::of_json(&json::render(outcome)))?;
    } else if let (Some((pays, measured)), Some(command)) = (outcome.gain(), outcome.command()) {
        console::print(&text(outcome, (pays, measured), &command))?;
    }
    let Some(why) = outcome.why_not() else {
        return Ok(());
    };
    if let (Some(causes), false) = (&outcome.causes, outcome.arguments.json) {
        causes.tell(outcome.trace, &outcome.here.machine.name)?;
    }
    let untried = match &outcome.candidates.untried {
        Some(why) => format!("; asynchronous system calls were not tried: {why}"),
        None => String::new(),
    };
    let kept = match outcome.page() {
        Some(_) => format!(", the report {}", outcome.folder.report().display()),
        None => String::new(),
    };
    let trace = outcome.trace.display();
    let message = format!("no speedup found: {why}{untried}");
    let failure = Failure::new(Exit::Findings, message);
    let advice = advice(outcome);
    Err(failure.remedy(format!("{advice}; the trace is {trace}{kept}")))
}

/// Returns what to do without a gain.
fn advice(outcome: &Outcome<'_>) -> &'static str {
    let causes = outcome.causes.as_ref();
    match outcome.answer() {
        Answer::Open if outcome.neighbors().is_some() => {
            "results vary too much between rounds: rerun with --trace on a machine that has its \
             cores to itself, or raise --max-rounds"
        }
        Answer::Open => {
            "results vary too much between rounds: rerun with --trace on an idle machine, or raise \
             --max-rounds"
        }
        _ if causes.is_some_and(|causes| causes.are_negligible()) => {
            "keep the original server: it hardly waits for caches beyond its L2"
        }
        Answer::NoGain if outcome.neighbors().is_some() => {
            "keep the original server, and try what removes its misses; where the cores have no \
             neighbors, rerun with --trace"
        }
        Answer::Gain | Answer::NoGain => {
            "keep the original server, and try what removes its misses"
        }
    }
}

/// Prints a gain.
fn text(outcome: &Outcome<'_>, (pays, measured): (&Candidate, &Measured), command: &str) -> Lines {
    let mut text = Lines::new();
    let (program, folder) = (&outcome.arguments.command[0], outcome.folder);
    let speed = shown(&measured.comparison);
    let so = match pays {
        Candidate::Plan(pays) => format!("on {} cores", pays.plan.cores),
        Candidate::SystemCalls(_) => "with asynchronous system calls".into(),
    };
    line!(text, "{program}: {speed} times as fast {so}");
    line!(text);
    let rounds = counted(measured.rounds.all().len() as u64, "round", "rounds");
    line!(
        text,
        "{:<12}{rounds} in turn, {}",
        "measured",
        means(pays, measured)
    );
    if let Some(why) = chosen(outcome, measured) {
        line!(text, "{:<12}{why}", "chosen");
    }
    if let Some(groups) = measured.rounds.groups() {
        line!(text, "{:<12}{}", "caution", in_groups(&groups));
    }
    if let Some(neighbors) = outcome.neighbors() {
        line!(text, "{:<12}{neighbors}", "caution");
    }
    match pays {
        Candidate::Plan(pays) => {
            prediction(&mut text, pays, outcome.here);
            if let Some((share, Speedup { low, median, high })) = outcome.expected() {
                line!(
                    text,
                    "{:<12}{median:.2} ({low:.2} to {high:.2}) times as fast, because its own code \
                     takes {:.0} % of the time",
                    "expected",
                    share * 100.0
                );
            }
            for function in &pays.plan.functions {
                line!(text, "{}", planned(function));
            }
            line!(text, "{:<12}{}", "plan", folder.plan().display());
            line!(text, "{:<12}{}", "report", folder.report().display());
        }
        Candidate::SystemCalls(calls) => line!(text, "{:<12}{calls}", "calls"),
    }
    if let Some(why) = &outcome.candidates.untried {
        line!(text, "{:<12}asynchronous system calls: {why}", "not tried");
    }
    line!(text);
    line!(
        text,
        "Start the server with {}, or with:",
        folder.start().display()
    );
    line!(text);
    line!(text, "    {command}");
    text
}

/// Returns why this candidate won, if there were several.
fn chosen(outcome: &Outcome<'_>, measured: &Measured) -> Option<String> {
    let raced = measured.raced.iter().map(|raced| raced.rounds);
    let rounds = counted(raced.max()? as u64, "round", "rounds");
    let candidates = outcome.contested.as_ref()?.entrants.len();
    let why = match measured.decision {
        Decision::Only => return None,
        Decision::Separated => "the others were slower",
        Decision::LowerEnd => "the lower end of its interval was the highest",
        Decision::FewerAssumptions => "the others were no faster and assume more",
    };
    Some(format!("of {candidates} candidates after {rounds}: {why}"))
}

/// Returns the means of the gain.
fn means(pays: &Candidate, measured: &Measured) -> String {
    let told = measured.hops.as_ref();
    match (pays, told.and_then(|told| told.system_calls)) {
        (Candidate::Plan(_), _) => format!("hops by {}", measured.backend()),
        (Candidate::SystemCalls(_), None) => "asynchronous system calls".into(),
        (Candidate::SystemCalls(_), Some(calls)) => {
            let [posted, declined] = [calls.posted, calls.declined].map(grouped);
            format!("{posted} asynchronous calls, {declined} synchronous ones")
        }
    }
}

fn prediction(text: &mut Lines, pays: &Predicted, here: &Here) {
    let speed = pays.speedup.map(|speedup| format!("{speedup}, "));
    line!(
        text,
        "{:<12}{}{} L2 misses, {:.1} hops a request ({})",
        "predicted",
        speed.unwrap_or_default(),
        change(pays.l2_misses_ratio),
        pays.hops_per_request,
        here.machine.name
    );
}

/// Returns where a planned function migrates threads.
fn planned(function: &PlannedFunction) -> String {
    let to = function.to.to_string();
    let back = match function.mode {
        Mode::Call => ", and back when it returns",
        Mode::Enter | Mode::Count => "",
    };
    format!("{to:<11} from {}{back}", function.symbol)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_plan::{Argument, By, Destination};

    fn told(to: Destination, mode: Mode) -> String {
        planned(&PlannedFunction {
            module: "/server".into(),
            build_id: "0a".into(),
            offset: 8,
            symbol: "serve".into(),
            to,
            mode,
        })
    }

    #[test]
    fn every_kind_of_function_is_told_apart_from_its_destination() {
        let by = |after| {
            let argument = Argument::ALL[2];
            Destination::By(By { argument, after })
        };
        let core = Destination::Core(1);
        assert_eq!(told(core, Mode::Enter), "core 1      from serve");
        let delegated = "core 1      from serve, and back when it returns";
        assert_eq!(told(core, Mode::Call), delegated);
        assert_eq!(told(by(0), Mode::Enter), "by argument 3 from serve");
        let later = "by argument 3 after 4 calls from serve";
        assert_eq!(told(by(4), Mode::Enter), later);
    }
}
