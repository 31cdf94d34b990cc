//! The original and several contestants in turn: which does best, and by how much.
//!
//! A contestant is the server with a plan's hops, or with its system calls posted. A round measures
//! the original once and every contestant once. `race` decides after a few rounds which contestant
//! goes on, with the original alone. Its rounds of the race count: `settled` makes the intervals of
//! all contestants hold together, so that the best may be chosen by the rounds that answer.
//! Rejected: to answer by new rounds only. They need no correction for the choice, but throw away
//! the larger part of what was measured.

use super::interval::Comparison;
use super::race::{Assumption, Decision, MOST_ROUNDS, Race, Raced};
use super::settled::{Limits, Rule};
use super::standing::{Pace, Stage, Standing};
use super::turns::{Begun, FEWEST_ROUNDS, Round, Rounds, warm_turns};
use crate::server::Hops;
use crate::{Error, Sample, Setup, Side, Trials};
use corehop_plan::Plan;
use std::time::Instant;

/// What may make the server faster.
#[derive(Clone, Copy)]
pub enum Contestant<'a> {
    /// The hops of a plan.
    Plan(&'a Plan),
    /// Calls of libc that are posted, as `COREHOP_SYSCALLS` names them.
    SystemCalls(&'a str),
}

impl<'a> Contestant<'a> {
    /// What it takes for granted.
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

/// What was measured.
pub struct Measured {
    /// Of the contestants, the one that did best.
    pub best: usize,
    /// By what it was chosen.
    pub decision: Decision,
    /// Of each contestant in the race; empty where there was but one.
    pub raced: Vec<Raced>,
    /// The best one's rounds, with those of the race.
    pub rounds: Rounds,
    /// How long all of it took.
    pub seconds: f64,
    /// Of those rounds.
    pub comparison: Comparison,
    /// What its servers told of their hops in them, all together.
    pub hops: Option<Hops>,
}

impl Measured {
    /// Whether the server told that it neither hopped nor posted a call.
    pub fn is_still(&self) -> bool {
        self.hops.as_ref().is_some_and(|told| !told.is_any())
    }

    /// What moved threads, as far as the server told.
    pub fn backend(&self) -> &str {
        self.hops.as_ref().map_or("carrier", |told| &told.backend)
    }
}

/// All of them at the start.
pub struct Contest<'a> {
    setup: Setup<'a>,
    contestants: Vec<Trials<'a>>,
    assumptions: Vec<Assumption>,
}

impl<'a> Contest<'a> {
    /// Makes the hooks of all contestants; there must be one at least.
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

    /// Measures; the limits are those of the best one's rounds, and their time is that of all, of
    /// which the race takes half at most.
    ///
    /// # Errors
    /// Those of [`Trials::sample`].
    pub fn hold(&self, limits: &Limits) -> Result<Measured, Error> {
        let (since, deadline) = (Instant::now(), limits.deadline());
        self.warm_up()?;
        let rule = Rule::new(limits, self.contestants.len());
        let (race, mut rounds) = self.race(&rule, limits)?;
        let (best, decision) = race.winner();
        let begun = Begun {
            rule,
            rounds: rounds.swap_remove(best),
            contestant: best,
        };
        let rounds = warm_turns(&self.contestants[best], begun, deadline)?;
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

    /// Without a load, runs that do not count; with one every server is warmed up by itself.
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

    /// Rounds of the original and all contestants that none has beaten yet, and those of each.
    fn race(&self, rule: &Rule, limits: &Limits) -> Result<(Race, Vec<Vec<Round>>), Error> {
        let most = MOST_ROUNDS.min(rule.most());
        let mut race = Race::new(self.assumptions.iter().copied(), most);
        let mut rounds = vec![Vec::new(); self.contestants.len()];
        if race.is_over() {
            return Ok((race, rounds));
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
            let samples = self.round(&running, race.rounds() % 2 == 1)?;
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
        Ok((race, rounds))
    }

    /// The original and these contestants, each once, perhaps in the opposite order; the original's
    /// sample is the first of those given back.
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
