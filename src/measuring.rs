//! Shows the progress of a measurement: a bar, the intermediate result after each round, and with
//! --verbose its throughputs. Also reports starts that differ in speed, and rounds without reported
//! hops.

use crate::failure::Failure;
use crate::terminal::console;
use crate::terminal::heartbeat::rounded;
use crate::terminal::interrupt;
use crate::terminal::progress::Bar;
use corehop_measure::Observer;
use corehop_measure::rounds::{Answer, Comparison, Group, Outlook, Rounds, Stage, Standing};
use corehop_partitioner::progress::Progress;
use std::time::Duration;

/// An interval whose ends differ by this factor is not printed.
const TOO_WIDE: f64 = 10.0;

/// Shows the progress, and stops the measurement on Ctrl-C and SIGTERM. The caller must first call
/// [`interrupt::listen`].
pub struct Shown {
    bar: Bar,
    contestants: Vec<String>,
}

impl Shown {
    /// Starts before the measurement, with the names of the contestants.
    pub fn of(contestants: Vec<String>) -> Shown {
        Shown {
            bar: Bar::new(),
            contestants,
        }
    }
}

impl Observer for Shown {
    fn begin(&self, stage: &str, total: Option<u64>) {
        self.bar.begin(stage, total);
    }

    fn advance(&self, steps: u64) {
        self.bar.advance(steps);
    }

    fn end(&self) {
        self.bar.end();
    }

    fn round(&self, number: usize, throughputs: &[f64]) {
        let throughputs: Vec<String> = throughputs.iter().map(|of| format!("{of:.6}")).collect();
        console::detail(&format!("round {number}: {}", throughputs.join(", ")));
    }

    fn stands(&self, standing: &Standing) {
        console::say(&stands(standing, &self.contestants));
    }

    fn estimated(&self, outlook: &Outlook) {
        console::say(&estimated(outlook));
    }

    fn said(&self, line: &str) {
        console::detail(&format!("the patched server: {line}"));
    }

    fn is_interrupted(&self) -> bool {
        interrupt::is_asked()
    }
}

/// Formats `round 4 of at most 20: split of 3 functions 1.02 (0.95 to 1.10), not settled`.
fn stands(standing: &Standing, names: &[String]) -> String {
    let of = |(at, compared): &(usize, Comparison)| {
        let Comparison { ratio, low, high } = compared;
        // After two or three rounds, the interval may be extremely wide.
        match low * TOO_WIDE < *high {
            true => format!("{} {ratio:.2} (interval still wide)", names[*at]),
            false => format!("{} {ratio:.2} ({low:.2} to {high:.2})", names[*at]),
        }
    };
    let all: Vec<String> = standing.contestants.iter().map(of).collect();
    let state = match standing.stage {
        Stage::Choosing => "selecting the best",
        Stage::Answering(Answer::Open) => "not settled",
        Stage::Answering(Answer::Gain | Answer::NoGain) => "settled",
    };
    let (round, most, all) = (standing.round, standing.most, all.join(", "));
    format!("round {round} of at most {most}: {all}, {state}")
}

/// Formats `rounds differ by 2.1 %: to prove a gain of 1.05 takes about 8 rounds, 45 s more`.
fn estimated(outlook: &Outlook) -> String {
    let Outlook {
        noise_percent,
        rounds,
        most,
        ..
    } = outlook;
    let gain = format!("{:.3}", 1.0 + outlook.percent / 100.0);
    let gain = gain.strip_suffix('0').unwrap_or(&gain);
    let told =
        format!("rounds differ by {noise_percent:.1} %: to prove a gain of {gain} takes about");
    match rounds > most {
        true => format!("{told} {rounds} rounds, more than the {most} of --max-rounds"),
        false => {
            let left = rounded(Duration::from_secs_f64(outlook.seconds));
            format!("{told} {rounds} rounds, {left} more")
        }
    }
}

/// Describes a server that is fast only in some starts.
pub fn in_groups([slower, faster]: &[Group; 2]) -> String {
    let all = slower.runs + faster.runs;
    format!(
        "starts differ: {} of {all} ran at {:.2} times the original's speed, {} at {:.2}",
        slower.runs, slower.ratio, faster.runs, faster.ratio
    )
}

/// Returns the failure of a measurement that an error ended early: its rounds are `kept`.
pub fn cut_short(error: corehop_measure::Error, kept: &str) -> Failure {
    Failure::from(error).choices([format!("the rounds before it are kept: {kept}")])
}

/// Returns a doubt about rounds whose patched server reported no hops, if there are any.
pub fn untold(rounds: &Rounds) -> Option<String> {
    let all = rounds.all();
    let untold = all.iter().filter(|round| round.patched.hops.is_none());
    let when = match untold.count() {
        0 => return None,
        untold if untold == all.len() => String::new(),
        untold => format!("in {untold} of {} rounds ", all.len()),
    };
    Some(format!(
        "warning: {when}the patched server reported no statistics: it was killed, or runs \
         without hooks (--verbose shows its messages)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_told_with_what_is_decided_and_what_it_looks_like() {
        let names = ["split of 3 functions".to_owned(), "system calls".into()];
        let compared = |ratio: f64| Comparison {
            ratio,
            low: ratio - 0.07,
            high: ratio + 0.08,
        };
        let mut standing = Standing {
            round: 4,
            most: 20,
            stage: Stage::Answering(Answer::Open),
            contestants: vec![(0, compared(1.02))],
        };
        let expected =
            "round 4 of at most 20: split of 3 functions 1.02 (0.95 to 1.10), not settled";
        assert_eq!(stands(&standing, &names), expected);
        standing.contestants[0].1.low = 1e-9;
        let told = stands(&standing, &names);
        assert!(
            told.contains("functions 1.02 (interval still wide), "),
            "{told}"
        );
        standing.contestants[0].1.low = 0.95;
        standing.stage = Stage::Answering(Answer::NoGain);
        assert!(stands(&standing, &names).ends_with(", settled"));
        standing.stage = Stage::Choosing;
        standing.contestants.push((1, compared(0.9)));
        let expected = "round 4 of at most 20: split of 3 functions 1.02 (0.95 to 1.10), system \
                        calls 0.90 (0.83 to 0.98), selecting the best";
        assert_eq!(stands(&standing, &names), expected);
    }

    #[test]
    fn a_proof_is_estimated_in_rounds_and_time_or_as_more_than_there_are() {
        let mut outlook = Outlook {
            percent: 5.0,
            noise_percent: 2.14,
            rounds: 8,
            most: 20,
            seconds: 45.0,
        };
        let expected =
            "rounds differ by 2.1 %: to prove a gain of 1.05 takes about 8 rounds, 45 s more";
        assert_eq!(estimated(&outlook), expected);
        (outlook.percent, outlook.rounds) = (0.5, 900);
        let expected = "rounds differ by 2.1 %: to prove a gain of 1.005 takes about 900 rounds, \
                        more than the 20 of --max-rounds";
        assert_eq!(estimated(&outlook), expected);
    }
}
