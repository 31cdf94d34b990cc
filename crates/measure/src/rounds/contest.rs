//! Measures the original and several contestants alternately: which is the fastest, and by how
//! much.
//!
//! A contestant is the server with a plan's hops, or with asynchronous system calls. A round
//! measures the original once and every contestant once. After a few rounds, `race` selects the
//! contestant that continues, alone with the original. Its rounds of the race count. `settled`
//! makes the intervals of all contestants hold together, so the selection and the answer may use
//! the same rounds. Rejected: to answer by new rounds only. They need no correction for the
//! selection, but discard most of the measurements.

use super::interval::Comparison;
use super::race::{Assumption, Decision, MOST_ROUNDS, Race, Raced};
use super::settled::{Limits, Rule};
use super::standing::{Pace, Stage, Standing};
use super::turns::{Begun, FEWEST_ROUNDS, Round, Rounds, ends, warm_turns};
use crate::server::Hops;
use crate::{Error, Sample, Setup, Side, Trials};
use corehop_plan::Plan;
use std::time::Instant;

/// A change that may make the server faster.
#[derive(Clone, Copy)]
pub enum Contestant<'a> {
    /// The hops of a plan.
    Plan(&'a Plan),
    /// Calls of libc to make asynchronously, in the syntax of `COREHOP_SYSCALLS`.
    SystemCalls(&'a str),
}

impl<'a> Contestant<'a> {
    /// Returns what the contestant assumes.
    fn assumption(self) -> Assumption {
        match self {
            Contestant::Plan(plan) => Assumption::of(plan),
            Contestant::SystemCalls(_) => Assumption::SystemCalls,
        }
    }

    fn trials(self, setup: Setup<'a>) -> Result<Trials<'a>, Error> {
        match self {
            Contestant::Plan(plan) => Trials::new(setup, Some(plan)),
            Contestant::SystemCalls(calls) => {
                let system_calls = Some(calls);
                Trials::new(
                    Setup {
                        system_calls,
                        ..setup
                    },
                    None,
                )
            }
        }
    }
}

/// Result of a contest.
pub struct Measured {
    /// Index of the fastest contestant.
    pub best: usize,
    /// Criterion of the selection.
    pub decision: Decision,
    /// Each contestant's results in the race; empty for a single contestant.
    pub raced: Vec<Raced>,
    /// The selected contestant's rounds, including those of the race.
    pub rounds: Rounds,
    /// Duration of the whole contest, in seconds.
    pub seconds: f64,
    /// Comparison of those rounds.
    pub comparison: Comparison,
    /// Total hops that its servers reported in those rounds.
    pub hops: Option<Hops>,
}

impl Measured {
    /// Returns why the contest ended before it was settled, if an error ended it.
    pub fn why_cut_short(&self) -> Option<&Error> {
        self.rounds.why_cut_short()
    }

    /// Whether the server reported that it neither hopped nor made an asynchronous call.
    pub fn is_still(&self) -> bool {
        self.hops.as_ref().is_some_and(|told| !told.is_any())
    }

    /// Returns the backend that the server reported, or else "carrier".
    pub fn backend(&self) -> &str {
        self.hops.as_ref().map_or("carrier", |told| &told.backend)
    }
}

/// A race that has ended.
struct Run {
    race: Race,
    /// Each contestant's rounds.
    rounds: Vec<Vec<Round>>,
    /// Why it ended early, if an error ended it.
    cut_short: Option<Error>,
}

/// All contestants at the start.
pub struct Contest<'a> {
    setup: Setup<'a>,
    contestants: Vec<Trials<'a>>,
    assumptions: Vec<Assumption>,
}

impl<'a> Contest<'a> {
    /// Creates the hooks of all contestants, of which there must be at least one.
    ///
    /// # Errors
    /// Those of [`Trials::new`].
    pub fn new(
        setup: Setup<'a>,
        contestants: impl Iterator<Item = Contestant<'a>>,
    ) -> Result<Contest<'a>, Error> {
        let contestants: Vec<Contestant<'a>> = contestants.collect();
        let assumptions = contestants.iter().map(|contestant| contestant.assumption());
        let assumptions = assumptions.collect();
        let trials = contestants
            .iter()
            .map(|contestant| contestant.trials(setup));
        Ok(Contest {
            setup,
            contestants: trials.collect::<Result<_, _>>()?,
            assumptions,
        })
    }

    /// Runs the contest. The limits apply to the selected contestant's rounds; their time limit
    /// applies to the whole contest, of which the race takes at most half.
    ///
    /// # Errors
    /// Those of [`Trials::sample`], before there are enough rounds to compare. Later ones are
    /// returned with the rounds.
    pub fn hold(&self, limits: &Limits) -> Result<Measured, Error> {
        let (since, deadline) = (Instant::now(), limits.deadline());
        self.warm_up()?;
        let rule = Rule::new(limits, self.contestants.len());
        let Run {
            race,
            mut rounds,
            cut_short,
        } = self.race(&rule, limits)?;
        let (best, decision) = race.winner();
        let of_best = rounds.swap_remove(best);
        let rounds = match cut_short {
            Some(error) => Rounds::cut_short(of_best, rule, error),
            None => {
                let begun = Begun {
                    rule,
                    rounds: of_best,
                    contestant: best,
                };
                warm_turns(&self.contestants[best], begun, deadline)?
            }
        };
        Ok(Measured {
            best,
            decision,
            raced: race.results(),
            comparison: rounds.comparison(),
            hops: rounds.hops(),
            rounds,
            seconds: since.elapsed().as_secs_f64(),
        })
    }

    /// Without a load, makes runs that do not count; with one, each server is warmed up on its own.
    fn warm_up(&self) -> Result<(), Error> {
        if self.setup.under.load.is_some() {
            return Ok(());
        }
        for _ in 0..self.setup.under.warm_up {
            self.round(&self.all(), false)?;
        }
        Ok(())
    }

    fn all(&self) -> Vec<usize> {
        (0..self.contestants.len()).collect()
    }

    /// Runs rounds of the original and all contestants that are still in the race.
    fn race(&self, rule: &Rule, limits: &Limits) -> Result<Run, Error> {
        let most = MOST_ROUNDS.min(rule.most());
        let mut race = Race::new(self.assumptions.iter().copied(), most);
        let mut rounds = vec![Vec::new(); self.contestants.len()];
        let mut cut_short = None;
        if race.is_over() {
            return Ok(Run {
                race,
                rounds,
                cut_short,
            });
        }
        let deadline = limits.time.map(|limit| Instant::now() + limit / 2);
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let observer = self.setup.observer;
        observer.begin(
            "rounds of the original and all contestants made",
            Some(most as u64),
        );
        let mut pace = Pace::new();
        while !race.is_over() && (race.rounds() < FEWEST_ROUNDS || !is_late()) {
            let running = race.running();
            let samples = match self.round(&running, race.rounds() % 2 == 1) {
                Ok(samples) => samples,
                Err(error) => {
                    cut_short = Some(ends(error, race.rounds())?);
                    break;
                }
            };
            let throughputs: Vec<f64> = samples.iter().map(|sample| sample.throughput).collect();
            pace.add(samples.len());
            race.add(throughputs[0], &throughputs[1..]);
            for (&at, patched) in running.iter().zip(&samples[1..]) {
                rounds[at].push(Round {
                    original: samples[0].clone(),
                    patched: patched.clone(),
                });
            }
            observer.round(race.rounds(), &throughputs);
            observer.advance(1);
            if race.rounds() < FEWEST_ROUNDS {
                continue;
            }
            let compared = |&at: &usize| (at, rule.compare(race.of(at)));
            observer.stands(&Standing {
                round: race.rounds(),
                most: rule.most(),
                stage: Stage::Choosing,
                contestants: running.iter().map(compared).collect(),
            });
            let of_all = match race.is_over() {
                true => 0,
                false => most - race.rounds(),
            };
            let starts = race.running().len() + 1;
            let leader = race.of(race.winner().0);
            if let Some(outlook) = pace.outlook(rule, leader, (of_all, starts)) {
                observer.estimated(&outlook);
            }
        }
        observer.end();
        Ok(Run {
            race,
            rounds,
            cut_short,
        })
    }

    /// Measures the original and these contestants once each, possibly in reverse order. The
    /// original's sample is the first one returned.
    fn round(&self, running: &[usize], is_backwards: bool) -> Result<Vec<Sample>, Error> {
        let original = (&self.contestants[0], Side::Original);
        let patched = running
            .iter()
            .map(|&at| (&self.contestants[at], Side::Patched));
        let mut turns: Vec<_> = [original].into_iter().chain(patched).collect();
        if is_backwards {
            turns.reverse();
        }
        let samples = turns.into_iter().map(|(trials, side)| trials.sample(side));
        let mut samples: Vec<Sample> = samples.collect::<Result<_, _>>()?;
        if is_backwards {
            samples.reverse();
        }
        Ok(samples)
    }
}
