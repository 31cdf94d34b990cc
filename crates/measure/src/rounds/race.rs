//! Selects one of several contestants: a race over paired rounds.
//!
//! In each round, the original and every contestant still in the race are measured once. From the
//! third round on, a contestant leaves if the leader is faster beyond doubt. That is, the interval
//! of its ratio to the leader, paired by rounds, is below 1 (Maron and Moore, "Hoeffding Races",
//! NIPS 1993; with paired t intervals as in Birattari and others, "A Racing Algorithm for
//! Configuring Metaheuristics", GECCO 2002). All comparisons that a race can make share the
//! intervals' error of 5 % (Bonferroni). The race ends when one contestant is left, or after its
//! last round.
//!
//! The lower ends of the intervals against the original then decide between contestants that are
//! not separated. A contestant that is fast only in some starts thus loses to a steady one. If
//! lower ends differ by less than a user would notice, the contestant that assumes less wins.
//! Rejected: the best mean of two rounds, which prefers the contestant that varies most; and
//! successive halving, which drops half of the contestants after few rounds even if they do not
//! differ.

use super::interval::{Comparison, TELLING_PERCENT};
use super::settled::level_of_each;
use corehop_plan::{Destination, Plan};
use serde::Serialize;

/// Minimum rounds before a contestant may leave.
const FEWEST_ROUNDS: usize = 3;

/// Maximum rounds of a race.
pub(super) const MOST_ROUNDS: usize = 6;

/// What a contestant assumes about later runs; less comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assumption {
    /// Only which system calls the server makes.
    SystemCalls,
    /// That requests enter the same functions.
    Functions,
    /// That the objects which arguments point to outlive requests, at any address.
    Arguments,
}

impl Assumption {
    /// Returns the strongest assumption of a plan.
    pub fn of(plan: &Plan) -> Assumption {
        let functions = plan.functions.iter().map(|function| match function.to {
            Destination::Core(_) | Destination::At(_) => Assumption::Functions,
            Destination::By(_) => Assumption::Arguments,
        });
        functions.max().unwrap_or(Assumption::Functions)
    }
}

/// Criterion by which the winner was selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It was the only contestant.
    Only,
    /// Every other contestant left the race.
    Separated,
    /// The lower end of its interval is higher than those of the others by [`TELLING_PERCENT`].
    LowerEnd,
    /// Lower ends differ by less, and no other contestant assumes less.
    FewerAssumptions,
}

/// One contestant's results in the race.
#[derive(Clone, Copy, Debug)]
pub struct Raced {
    /// Number of its rounds; a contestant that was slower beyond doubt left early.
    pub rounds: usize,
    /// Comparison of those rounds.
    pub comparison: Comparison,
}

/// One contestant's rounds.
struct Racer {
    assumption: Assumption,
    /// Throughput of original and contestant.
    rounds: Vec<(f64, f64)>,
    has_left: bool,
}

/// The state of a race; its owner makes the measurements.
pub(super) struct Race {
    racers: Vec<Racer>,
    most_rounds: usize,
}

impl Race {
    /// Creates a race of contestants with these assumptions, in at most this many rounds.
    pub(super) fn new(assumptions: impl Iterator<Item = Assumption>, most_rounds: usize) -> Race {
        let racers = assumptions.map(|assumption| Racer {
            assumption,
            rounds: Vec::new(),
            has_left: false,
        });
        Race {
            racers: racers.collect(),
            most_rounds,
        }
    }

    /// Returns the contestants to measure in the next round, in order.
    pub(super) fn running(&self) -> Vec<usize> {
        let all = self.racers.iter().enumerate();
        let running = all.filter(|(_, racer)| !racer.has_left);
        running.map(|(at, _)| at).collect()
    }

    /// Adds a round: the original's throughput, and that of each running contestant.
    pub(super) fn add(&mut self, original: f64, patched: &[f64]) {
        let running = self.running();
        assert_eq!(
            running.len(),
            patched.len(),
            "a round measures who is running"
        );
        for (at, &patched) in running.iter().zip(patched) {
            self.racers[*at].rounds.push((original, patched));
        }
        if self.rounds() >= FEWEST_ROUNDS {
            self.drop_separated();
        }
    }

    /// Returns the number of rounds so far.
    pub(super) fn rounds(&self) -> usize {
        let rounds = self.racers.iter().map(|racer| racer.rounds.len());
        rounds.max().unwrap_or(0)
    }

    /// Returns the throughputs of the original and this contestant, round by round.
    pub(super) fn of(&self, contestant: usize) -> &[(f64, f64)] {
        &self.racers[contestant].rounds
    }

    /// Whether the race is decided or has used all its rounds.
    pub(super) fn is_over(&self) -> bool {
        self.running().len() < 2 || self.rounds() >= self.most_rounds
    }

    /// Returns each contestant's comparison with the original; empty if there was no race.
    pub(super) fn results(&self) -> Vec<Raced> {
        let raced = self.racers.iter().filter(|racer| !racer.rounds.is_empty());
        let raced = raced.map(|racer| Raced {
            rounds: racer.rounds.len(),
            comparison: Comparison::of(&racer.rounds),
        });
        raced.collect()
    }

    /// Returns the winner and the criterion.
    pub(super) fn winner(&self) -> (usize, Decision) {
        let running = self.running();
        match running[..] {
            [only] if self.racers.len() == 1 => return (only, Decision::Only),
            [left] => return (left, Decision::Separated),
            _ => {}
        }
        let low = |at: usize| Comparison::of(&self.racers[at].rounds).low;
        let highest = running.iter().copied().map(low).fold(0.0, f64::max);
        let is_near = |&at: &usize| low(at) * (1.0 + TELLING_PERCENT / 100.0) >= highest;
        let near: Vec<usize> = running.into_iter().filter(is_near).collect();
        let least = near.iter().map(|&at| self.racers[at].assumption).min();
        let assumes_least = |&at: &usize| Some(self.racers[at].assumption) == least;
        let best = near.iter().copied().filter(assumes_least);
        let best = best.reduce(|one, other| if low(other) > low(one) { other } else { one });
        let decision = match low(best.expect("someone runs")) < highest {
            true => Decision::FewerAssumptions,
            false => Decision::LowerEnd,
        };
        (best.expect("someone runs"), decision)
    }

    /// Removes contestants that are slower than the leader beyond doubt.
    fn drop_separated(&mut self) {
        let running = self.running();
        let ratio = |at: usize| Comparison::of(&self.racers[at].rounds).ratio;
        let leader = running.iter().copied().reduce(|one, other| {
            if ratio(other) > ratio(one) {
                other
            } else {
                one
            }
        });
        let Some(leader) = leader else { return };
        let confidence = self.confidence();
        let is_slower =
            |&at: &usize| at != leader && self.against(at, leader, confidence).high < 1.0;
        let slower: Vec<usize> = running.into_iter().filter(is_slower).collect();
        for at in slower {
            self.racers[at].has_left = true;
        }
    }

    /// Compares one contestant's throughput with another's in the same rounds.
    fn against(&self, one: usize, other: usize, confidence: f64) -> Comparison {
        let rounds = self.racers[other]
            .rounds
            .iter()
            .zip(&self.racers[one].rounds);
        let pairs: Vec<_> = rounds.map(|(other, one)| (other.1, one.1)).collect();
        Comparison::with_confidence(&pairs, confidence)
    }

    /// Returns the confidence level of one comparison, so that all of a race together have
    /// [`CONFIDENCE`].
    fn confidence(&self) -> f64 {
        let rivals = self.racers.len().saturating_sub(1).max(1);
        let looks = (self.most_rounds + 1).saturating_sub(FEWEST_ROUNDS).max(1);
        level_of_each(rivals * looks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::noise::Noise;
    use Assumption::{Arguments, Functions, SystemCalls};

    /// Runs a race to its end; `throughput` simulates each contestant's throughput by the round's
    /// number.
    fn hold(assumptions: &[Assumption], mut throughput: impl FnMut(usize, usize) -> f64) -> Race {
        let mut race = Race::new(assumptions.iter().copied(), MOST_ROUNDS);
        while !race.is_over() {
            let round = race.rounds();
            let running = race.running();
            let patched: Vec<f64> = running.iter().map(|&at| throughput(at, round)).collect();
            race.add(100.0, &patched);
        }
        race
    }

    /// Returns a throughput by round; the last one repeats.
    fn at(rounds: &[f64], round: usize) -> f64 {
        rounds[round.min(rounds.len() - 1)]
    }

    /// Adds a little noise, the same in each test, so that each interval has a width.
    fn jitter(round: usize) -> f64 {
        1.0 + 0.002 * (round % 3) as f64
    }

    #[test]
    fn the_only_contestant_wins_without_a_round() {
        let race = Race::new([Arguments].into_iter(), MOST_ROUNDS);
        assert!(race.is_over());
        assert_eq!(race.winner(), (0, Decision::Only));
    }

    #[test]
    fn a_contestant_that_is_far_slower_leaves_after_three_rounds() {
        let race = hold(&[Functions, Arguments], |at, round| {
            [100.0, 200.0][at] * jitter(round + at)
        });
        assert_eq!(race.rounds(), FEWEST_ROUNDS);
        assert_eq!(race.winner(), (1, Decision::Separated));
    }

    #[test]
    fn the_others_go_on_without_the_one_that_left() {
        let race = hold(&[Functions, Functions, Functions], |at, round| {
            [150.0, 50.0, 150.0][at] * jitter(round + at)
        });
        let rounds: Vec<usize> = race.racers.iter().map(|racer| racer.rounds.len()).collect();
        assert_eq!(rounds, [6, 3, 6]);
    }

    /// Each kind of contestant starts with two lucky rounds and is as slow as the original in most
    /// later ones. A steady one of each other kind wins.
    #[test]
    fn two_lucky_rounds_of_any_kind_do_not_win_against_a_steady_contestant() {
        let kinds = [SystemCalls, Functions, Arguments];
        let lucky = [170.0, 165.0, 101.0, 100.0, 168.0, 99.0];
        for misleading in kinds {
            for steady in kinds {
                let race = hold(
                    &[misleading, steady],
                    |contestant, round| match contestant {
                        0 => at(&lucky, round),
                        _ => 140.0 * jitter(round),
                    },
                );
                assert_eq!(race.winner().0, 1, "{misleading:?} and {steady:?}");
            }
        }
    }

    /// A good contestant of each kind has two unlucky rounds, as from other load on the machine. A
    /// steady one without a gain does not win.
    #[test]
    fn two_unlucky_rounds_of_any_kind_do_not_lose_against_one_that_gains_nothing() {
        let kinds = [SystemCalls, Functions, Arguments];
        for good in kinds {
            for idle in kinds {
                let race = hold(&[good, idle], |contestant, round| match contestant {
                    0 => at(&[100.0, 103.0, 150.0], round) * jitter(round),
                    _ => 100.0 * jitter(round + 1),
                });
                assert_eq!(race.winner().0, 0, "{good:?} and {idle:?}");
            }
        }
    }

    #[test]
    fn of_those_that_nothing_separates_the_one_that_assumes_least_is_kept() {
        let kinds = [Arguments, Functions, SystemCalls];
        let race = hold(&kinds, |at, round| {
            [152.0, 151.0, 150.0][at] * [0.99, 1.0, 1.01][(round + at) % 3]
        });
        assert_eq!(race.running(), [0, 1, 2]);
        assert_eq!(race.winner(), (2, Decision::FewerAssumptions));
        let without = hold(&kinds[..2], |at, round| {
            [152.0, 151.0][at] * [0.99, 1.0, 1.01][(round + at) % 3]
        });
        assert_eq!(without.winner(), (1, Decision::FewerAssumptions));
    }

    #[test]
    fn a_higher_lower_end_counts_more_than_fewer_assumptions() {
        let race = hold(&[Functions, Arguments], |at, round| {
            [150.0, 158.0][at] * [0.9, 1.0, 1.1][(round * 2 + at) % 3] / [1.0, 0.97][at]
        });
        assert_eq!(race.running(), [0, 1]);
        assert_eq!(race.winner(), (1, Decision::LowerEnd));
    }

    /// Makes 1000 races between two plans. One is 1.53 times as fast in each start. The other is
    /// 1.6 times as fast in 45 of 100 starts and no faster in the others. The mean of two rounds
    /// prefers the second one if both its starts are lucky, which is one time in five.
    #[test]
    fn a_plan_that_is_fast_in_half_of_its_starts_seldom_wins() {
        let mut noise = Noise::new(1);
        let mut wrong = 0;
        for _ in 0..1000 {
            let race = hold(&[Arguments, Functions], |contestant, _| match contestant {
                0 if noise.chance(0.45) => noise.around(160.0),
                0 => noise.around(100.0),
                _ => noise.around(153.0),
            });
            wrong += usize::from(race.winner().0 == 0);
        }
        assert!(wrong <= 20, "{wrong} of 1000");
    }

    /// Contestants that do not differ are separated in at most one race of twenty.
    #[test]
    fn equal_contestants_are_seldom_separated() {
        let mut noise = Noise::new(2);
        let separated = (0..1000).filter(|_| {
            let race = hold(&[Functions; 4], |_, _| noise.around(120.0));
            race.running().len() < 4
        });
        let separated = separated.count();
        assert!(separated <= 50, "{separated} of 1000");
    }

    #[test]
    fn a_race_of_two_rounds_is_decided_by_them() {
        let mut race = Race::new([Functions, Arguments].into_iter(), 2);
        race.add(100.0, &[110.0, 120.0]);
        assert!(!race.is_over());
        race.add(100.0, &[110.0, 120.0]);
        assert!(race.is_over());
        assert_eq!(race.winner(), (1, Decision::LowerEnd));
    }
}
