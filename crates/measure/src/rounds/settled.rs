//! Stopping rule of all measurements: when rounds have answered their question.
//!
//! Rounds are examined at a few looks, at round numbers that are fixed beforehand; each is a third
//! later than the previous one. The interval is always Student's t at one level. At this level, all
//! looks at all contestants together miss a true ratio in at most one measurement of twenty. They
//! share the error equally (Bonferroni), which is the simplest spending of an error on looks (Lan
//! and DeMets, "Discrete Sequential Boundaries for Clinical Trials", Biometrika 70, 1983). So the
//! first look with an answer may end the rounds, and the same rounds may select the best of several
//! contestants. Half of the error is on either side. At most one measurement of forty reports a
//! gain for a server that is no faster. At most one of forty reports no gain for a server that
//! gains at least the smallest gain. With a single look, the interval is the usual one.
//!
//! Rounds also end without an answer if the remaining ones are unlikely to bring one (stochastic
//! curtailment: Lan, Simon and Halperin, "Stochastically Curtailed Tests in Long-Term Clinical
//! Trials", Sequential Analysis 1, 1982). That does not increase the error rates.
//!
//! Starts may fall into two clusters, of which a few rounds may agree by chance and seem certain.
//! The first look therefore comes when rounds that are above or below the truth equally often are
//! seldom all on one side. With two equal clusters, either error stays below 3 %, as the tests
//! verify. No rule can see a cluster of one start in ten after six rounds.
//!
//! Rejected: confidence sequences from mixtures (Howard and others, "Time-uniform, Nonparametric,
//! Nonasymptotic Confidence Sequences", Annals of Statistics 49, 2021; for unknown variance Wang
//! and Ramdas, "Anytime-valid t-tests", 2023). They allow a look after each round but are a fifth
//! wider within twenty. Also rejected: to stop when the interval of a single look excludes 1, which
//! finds a difference between a server and itself.

use super::interval::{CONFIDENCE, Comparison, TELLING_PERCENT, Verdict, quantile};
use serde::Serialize;
use std::time::{Duration, Instant};

/// The question that rounds should answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// Whether the server is faster; "no gain" means not faster by this many percent or more.
    Gain {
        /// The smallest gain that must be found.
        smallest_percent: f64,
    },
    /// Whether it is faster, slower, or neither by a noticeable amount.
    Difference,
    /// Whether it is faster by at least this many percent.
    AtLeast {
        /// A negative value allows a loss.
        percent: f64,
    },
}

/// Answer to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The server is faster.
    Gain,
    /// The server is not faster, or not by enough.
    NoGain,
    /// Rounds vary too much, or are too few.
    Open,
}

/// Power of the proof whose rounds are estimated, as a quantile of the normal distribution.
const POWER_QUANTILE: f64 = 0.8416;

/// A mean moves further than this many standard deviations once in a hundred times.
const HARDLY_QUANTILE: f64 = 2.3263;

/// The widest interval of a reported gain to either side, in percent and as a part of the change.
/// The larger one applies. A ratio of 2.0 may have an interval from 1.6 to 2.5.
const GAIN_WITHIN: (f64, f64) = (10.0, 1.0 / 3.0);

/// Maximum number of rounds in an estimate.
const MOST_ESTIMATED: usize = 1_000_000;

/// Returns the level of each of this many intervals for a joint level of [`CONFIDENCE`].
pub(super) fn level_of_each(intervals: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / intervals.max(1) as f64
}

/// Limits of the number of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The question; its answer ends the rounds.
    pub question: Question,
    /// Minimum number of rounds; at least two are needed to compare.
    pub fewest: u32,
    /// Maximum number of rounds.
    pub most: u32,
    /// After the answer, continue until the interval is at most this wide to either side, in
    /// percent, or a tenth of the change. Without it, a gain needs 10 %, or a third of the change.
    pub within_percent: Option<f64>,
    /// No round but the first two begins after this time.
    pub time: Option<Duration>,
}

impl Limits {
    /// Exactly this many rounds.
    pub fn fixed(rounds: u32, question: Question) -> Limits {
        Limits {
            question,
            fewest: rounds,
            most: rounds,
            within_percent: None,
            time: None,
        }
    }

    /// Returns the end of the time limit that starts now.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.time.map(|limit| Instant::now() + limit)
    }
}

/// When to examine rounds, and how to interpret them.
#[derive(Clone, Debug)]
pub struct Rule {
    question: Question,
    looks: Vec<usize>,
    level: f64,
    within_percent: Option<f64>,
}

impl Rule {
    /// Creates the rule for a question about this many contestants, one of which is selected.
    pub fn new(limits: &Limits, contestants: usize) -> Rule {
        let first = first_look(contestants).max(limits.fewest as usize);
        let looks = looks(first, limits.most.max(limits.fewest) as usize);
        Rule {
            question: limits.question,
            level: level_of_each(looks.len() * contestants.max(1)),
            looks,
            within_percent: limits.within_percent,
        }
    }

    /// Returns the smallest gain to find, in percent; for other questions, a noticeable change.
    pub(super) fn smallest_percent(&self) -> f64 {
        match self.question {
            Question::Gain { smallest_percent } => smallest_percent,
            Question::Difference | Question::AtLeast { .. } => TELLING_PERCENT,
        }
    }

    /// Whether there is a look before the last one.
    pub(super) fn may_end_early(&self) -> bool {
        self.looks.len() > 1
    }

    /// Returns the number of rounds at the last look.
    pub fn most(&self) -> usize {
        self.looks[self.looks.len() - 1]
    }

    /// Compares at least two rounds of (original, patched).
    pub fn compare(&self, rounds: &[(f64, f64)]) -> Comparison {
        Comparison::with_confidence(rounds, self.level)
    }

    /// Returns the answer that an interval gives, whenever rounds end.
    pub fn answer(&self, of: &Comparison) -> Answer {
        let Some([gain, none]) = self.bounds() else {
            return match of.verdict() {
                Verdict::Faster => Answer::Gain,
                Verdict::Slower | Verdict::NoDifference => Answer::NoGain,
                Verdict::Inconclusive => Answer::Open,
            };
        };
        let is_required = matches!(self.question, Question::AtLeast { .. });
        match of.low > gain || is_required && of.low >= gain {
            true => Answer::Gain,
            false if of.high < none => Answer::NoGain,
            false => Answer::Open,
        }
    }

    /// Returns the ratio above which the interval means a gain, and the one below which it means
    /// none.
    fn bounds(&self) -> Option<[f64; 2]> {
        let part = |percent: f64| 1.0 + percent / 100.0;
        match self.question {
            Question::Gain { smallest_percent } => Some([1.0, part(smallest_percent)]),
            Question::AtLeast { percent } => Some([part(percent); 2]),
            Question::Difference => None,
        }
    }

    /// Whether the last look is unlikely to have an answer if rounds continue like these: either
    /// answer comes in at most one measurement of a hundred.
    fn is_hopeless(&self, rounds: &[(f64, f64)], comparison: &Comparison) -> bool {
        let Some([gain, none]) = self.bounds() else {
            return false;
        };
        let (count, most) = (rounds.len() as f64, self.most() as f64);
        let deviation = Comparison::deviation(rounds);
        let last_half = quantile(most - 1.0, self.level) * deviation / most.sqrt();
        let moves = HARDLY_QUANTILE * deviation * (1.0 / count - 1.0 / most).sqrt();
        let mean = comparison.ratio.ln();
        mean + moves - last_half < gain.ln() && mean - moves + last_half > none.ln()
    }

    /// Whether these rounds are enough.
    pub fn is_settled(&self, rounds: &[(f64, f64)]) -> bool {
        let count = rounds.len();
        if count >= self.most() {
            return true;
        }
        self.looks.contains(&count) && {
            let comparison = self.compare(rounds);
            match self.answer(&comparison) {
                Answer::Open => self.is_hopeless(rounds, &comparison),
                Answer::NoGain if self.within_percent.is_none() => true,
                Answer::Gain | Answer::NoGain => self.is_narrow(&comparison),
            }
        }
    }

    /// Whether the interval is as narrow as requested, or a tenth of the change. A server that is
    /// three times as fast needs no precision of two percent. Without a request, [`GAIN_WITHIN`]
    /// applies.
    fn is_narrow(&self, comparison: &Comparison) -> bool {
        const PART_OF_CHANGE: f64 = 0.1;
        let half = comparison.resolution_percent() / 100.0;
        let change = comparison.ratio.ln().abs();
        let (percent, part) = match self.within_percent {
            Some(percent) => (percent, PART_OF_CHANGE),
            None => GAIN_WITHIN,
        };
        half <= percent / 100.0 || half <= part * change
    }

    /// Returns the rounds after which a gain of this many percent is proven in four measurements of
    /// five, if rounds continue to vary like these. The result may exceed the maximum of rounds.
    pub fn rounds_to_prove(&self, percent: f64, rounds: &[(f64, f64)]) -> usize {
        let gain = (1.0 + percent / 100.0).ln();
        let deviation = Comparison::deviation(rounds);
        let is_proven = |count: &usize| {
            let half = quantile(*count as f64 - 1.0, self.level) + POWER_QUANTILE;
            half * deviation / (*count as f64).sqrt() <= gain
        };
        let later = std::iter::successors(Some(self.most()), |&count| Some(later(count)));
        let later = later.skip(1).take_while(|&count| count < MOST_ESTIMATED);
        let mut all = self.looks.iter().copied().chain(later);
        all.find(is_proven).unwrap_or(MOST_ESTIMATED)
    }
}

/// Returns the round of the first look. For a fair coin, the chance that any contestant's rounds
/// all fall on one side is then lower than an interval's error on that side. With several
/// contestants, the selection prefers such a one, so the look is one round later.
fn first_look(contestants: usize) -> usize {
    let seldom = (1.0 - CONFIDENCE) / 2.0 / contestants.max(1) as f64;
    (1.0 / seldom).log2().ceil() as usize + usize::from(contestants > 1)
}

/// Returns the look after this one.
fn later(look: usize) -> usize {
    (look * 4).div_ceil(3)
}

/// Returns all looks: from `first`, if there are that many rounds, to the last.
fn looks(first: usize, most: usize) -> Vec<usize> {
    let looks = std::iter::successors(Some(first), |&look| Some(later(look)));
    let mut looks: Vec<usize> = looks.take_while(|&look| look < most).collect();
    // A look right before the last one adds no information.
    if let Some(&last) = looks.last()
        && looks.len() > 1
        && most - last < (later(last) - last) / 2
    {
        looks.pop();
    }
    looks.push(most);
    looks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::noise::{Noise, Shape};
    use crate::rounds::race::{Assumption, MOST_ROUNDS, Race};

    const SMALLEST_PERCENT: f64 = 5.0;
    const MEASUREMENTS: usize = 4000;

    fn limits(question: Question) -> Limits {
        Limits {
            question,
            fewest: 2,
            most: 20,
            within_percent: None,
            time: None,
        }
    }

    fn of_gains() -> Limits {
        limits(Question::Gain {
            smallest_percent: SMALLEST_PERCENT,
        })
    }

    /// Returns answers and numbers of rounds for servers with this true ratio.
    fn measured(
        (limits, seed): (&Limits, u64),
        (ratio, shape): (f64, Shape),
    ) -> Vec<(Answer, usize)> {
        let rule = Rule::new(limits, 1);
        let mut noise = Noise::new(seed);
        let mut measurement = || {
            let mut rounds = Vec::new();
            while !rule.is_settled(&rounds) {
                rounds.push((100.0, noise.shaped(100.0 * ratio, shape)));
            }
            (rule.answer(&rule.compare(&rounds)), rounds.len())
        };
        (0..MEASUREMENTS).map(|_| measurement()).collect()
    }

    fn count(measured: &[(Answer, usize)], answer: Answer) -> usize {
        measured.iter().filter(|(said, _)| *said == answer).count()
    }

    /// Errors on either side are at most 2.5 %, or 3 % with two clusters.
    fn are_few(errors: usize, sides: usize, (shape, what): (Shape, &str)) {
        let per_mille = match shape {
            Shape::Normal | Shape::HeavyTailed => 25,
            Shape::TwoHeaps => 30,
        };
        println!("{what} {shape:?}: {errors} of {MEASUREMENTS}");
        let allowed = sides * per_mille * MEASUREMENTS / 1000;
        assert!(errors <= allowed, "{what} {shape:?}: {errors}");
    }

    #[test]
    fn servers_no_faster_seldom_gain_whatever_the_noise() {
        for shape in Shape::ALL {
            let measured = measured((&of_gains(), 1), (1.0, shape));
            are_few(count(&measured, Answer::Gain), 1, (shape, "no faster"));
        }
    }

    #[test]
    fn servers_that_gain_are_seldom_said_not_to_whatever_the_noise() {
        for shape in Shape::ALL {
            for ratio in [1.0 + SMALLEST_PERCENT / 100.0, 1.3] {
                let measured = measured((&of_gains(), 2), (ratio, shape));
                let told = format!("{ratio} times as fast");
                are_few(count(&measured, Answer::NoGain), 1, (shape, &told));
            }
        }
    }

    /// Of several contestants that are no faster, none is reported as a gain, although the same
    /// rounds select the best one and answer.
    #[test]
    fn the_best_of_several_that_are_no_faster_seldom_gains() {
        for (contestants, shape) in [2, 4]
            .into_iter()
            .flat_map(|k| Shape::ALL.map(|shape| (k, shape)))
        {
            let rule = Rule::new(&of_gains(), contestants);
            let mut noise = Noise::new(3);
            let mut answer = || {
                let assumptions = std::iter::repeat_n(Assumption::Functions, contestants);
                let mut race = Race::new(assumptions, MOST_ROUNDS);
                while !race.is_over() {
                    let running = race.running();
                    let patched = running.iter().map(|_| noise.shaped(100.0, shape));
                    race.add(100.0, &patched.collect::<Vec<f64>>());
                }
                let mut rounds = race.of(race.winner().0).to_vec();
                while !rule.is_settled(&rounds) {
                    rounds.push((100.0, noise.shaped(100.0, shape)));
                }
                rule.answer(&rule.compare(&rounds))
            };
            let gains = (0..MEASUREMENTS).filter(|_| answer() == Answer::Gain);
            let told = format!("{contestants} contestants");
            are_few(gains.count(), 1, (shape, &told));
        }
    }

    #[test]
    fn a_gain_of_a_third_and_none_at_all_are_seen_in_few_rounds() {
        for (ratio, answer) in [(1.3, Answer::Gain), (1.0, Answer::NoGain)] {
            let measured = measured((&of_gains(), 4), (ratio, Shape::Normal));
            let right = count(&measured, answer) as f64 / MEASUREMENTS as f64;
            let rounds = measured.iter().map(|(_, rounds)| *rounds).sum::<usize>();
            let mean = rounds as f64 / MEASUREMENTS as f64;
            println!("{ratio}: {right} right after {mean} rounds");
            assert!(right >= 0.95, "{ratio}: {right}");
            assert!(mean <= 10.0, "{ratio}: {mean}");
        }
    }

    /// A difference has two answers; both are wrong for equal servers.
    #[test]
    fn the_same_server_twice_is_seldom_a_difference() {
        for shape in Shape::ALL {
            let rule = Rule::new(&limits(Question::Difference), 1);
            let mut noise = Noise::new(5);
            let mut differs = || {
                let mut rounds = Vec::new();
                while !rule.is_settled(&rounds) {
                    rounds.push((100.0, noise.shaped(100.0, shape)));
                }
                let verdict = rule.compare(&rounds).verdict();
                matches!(verdict, Verdict::Faster | Verdict::Slower)
            };
            let wrong = (0..MEASUREMENTS).filter(|_| differs()).count();
            are_few(wrong, 2, (shape, "the same"));
        }
    }

    #[test]
    fn looks_come_a_third_later_each_and_end_with_the_last_round() {
        assert_eq!(looks(6, 20), [6, 8, 11, 15, 20]);
        assert_eq!(looks(7, 20), [7, 10, 14, 20], "19 is too near 20");
        assert_eq!(looks(6, 2), [2]);
        assert_eq!(looks(6, 6), [6]);
        assert_eq!(looks(6, 7), [6, 7]);
        assert_eq!([1, 2, 3, 4].map(first_look), [6, 8, 8, 9]);
        let rule = Rule::new(&Limits::fixed(10, Question::Difference), 1);
        let rounds = [(100.0, 110.0), (100.0, 112.0), (100.0, 111.0)];
        assert_eq!(rule.looks, [10]);
        assert_eq!(rule.compare(&rounds), Comparison::of(&rounds), "one look");
    }

    #[test]
    fn nothing_is_settled_before_a_look_however_clear_it_is() {
        let rule = Rule::new(&of_gains(), 1);
        let clear: Vec<(f64, f64)> = (0..6).map(|at| (100.0, 200.0 + f64::from(at))).collect();
        assert!(!rule.is_settled(&clear[..5]) && rule.is_settled(&clear));
        let seventh: Vec<_> = clear.iter().copied().chain([(100.0, 200.0)]).collect();
        assert!(!rule.is_settled(&seventh), "7 is no look");
    }

    #[test]
    fn an_answer_that_is_not_narrow_enough_goes_on_until_a_tenth_of_the_change() {
        let narrow = Limits {
            within_percent: Some(0.5),
            ..of_gains()
        };
        let wide: Vec<(f64, f64)> = (0..6)
            .map(|at| (100.0, 130.0 + 2.0 * f64::from(at)))
            .collect();
        assert!(Rule::new(&of_gains(), 1).is_settled(&wide));
        assert!(!Rule::new(&narrow, 1).is_settled(&wide));
        let doubled: Vec<(f64, f64)> = wide.iter().map(|(_, rate)| (50.0, rate * 1.5)).collect();
        assert!(Rule::new(&narrow, 1).is_settled(&doubled));
    }

    #[test]
    fn a_gain_is_told_to_a_third_of_itself_or_ten_percent_and_no_gain_at_once() {
        let rule = Rule::new(&of_gains(), 1);
        let spread = |ratio: f64, step: f64, count: usize| -> Vec<(f64, f64)> {
            let steps = [1.0, -1.0, 1.0, -1.0, 0.5, -0.5, 0.0, 0.0];
            let rates = steps.map(|part| 100.0 * ratio * (part * step).exp());
            rates[..count].iter().map(|&rate| (100.0, rate)).collect()
        };
        let (wide, narrower) = (spread(1.5, 0.1, 6), spread(1.5, 0.08, 6));
        for rounds in [&wide, &narrower] {
            assert_eq!(rule.answer(&rule.compare(rounds)), Answer::Gain);
        }
        assert!(!rule.is_settled(&wide) && rule.is_settled(&narrower));
        assert!(rule.is_settled(&spread(3.0, 0.18, 6)), "a third of more");
        let slower = spread(0.5, 0.2, 6);
        assert_eq!(rule.answer(&rule.compare(&slower)), Answer::NoGain);
        assert!(rule.is_settled(&slower));
    }

    /// With noise of a third, twenty rounds seldom prove anything about a gain of 5 %.
    #[test]
    fn rounds_without_hope_end_early_and_others_go_on() {
        let rule = Rule::new(&of_gains(), 1);
        let made_up = |step: f64| -> Vec<(f64, f64)> {
            let steps = [1.0, -1.0, 0.5, -0.5, 1.0, -1.0, 0.5, -0.5, 1.0, -1.0, 0.0];
            let rates = steps.map(|part| 100.0 * (part * step).exp());
            rates.into_iter().map(|rate| (100.0, rate)).collect()
        };
        let (wild, calm) = (made_up(0.5), made_up(0.08));
        for rounds in [&wild, &calm] {
            assert_eq!(rule.answer(&rule.compare(rounds)), Answer::Open);
        }
        assert!(rule.is_settled(&wild), "no answer is in reach");
        assert!(!rule.is_settled(&calm), "none as large may be in reach");
        let open = limits(Question::Difference);
        assert!(!Rule::new(&open, 1).is_settled(&wild));
    }

    #[test]
    fn each_question_has_its_answers() {
        let of = |question, low, high| {
            let rule = Rule::new(&limits(question), 1);
            let ratio = f64::sqrt(low * high);
            rule.answer(&Comparison { ratio, low, high })
        };
        let gain = |low, high| of(of_gains().question, low, high);
        assert_eq!(gain(1.001, 1.2), Answer::Gain);
        assert_eq!(gain(1.001, 1.02), Answer::Gain, "a small one that is sure");
        assert_eq!(gain(0.9, 1.049), Answer::NoGain);
        assert_eq!(gain(0.9, 1.051), Answer::Open);
        let two = |low, high| of(Question::AtLeast { percent: 2.0 }, low, high);
        assert_eq!(two(1.03, 1.05), Answer::Gain);
        assert_eq!(two(1.01, 1.05), Answer::Open);
        assert_eq!(two(1.01, 1.019), Answer::NoGain);
        let differs = |low, high| of(Question::Difference, low, high);
        assert_eq!(differs(1.01, 1.2), Answer::Gain);
        assert_eq!(differs(0.8, 0.9), Answer::NoGain);
        assert_eq!(differs(0.96, 1.04), Answer::NoGain);
        assert_eq!(differs(0.94, 1.04), Answer::Open);
    }

    /// With the estimated number of rounds, four measurements of five prove the gain.
    #[test]
    fn rounds_that_are_estimated_prove_the_gain_in_four_measurements_of_five() {
        let rule = Rule::new(&of_gains(), 1);
        let mut noise = Noise::new(6);
        let mut round = |ratio: f64| (100.0, noise.shaped(100.0 * ratio, Shape::Normal));
        let many: Vec<_> = (0..2000).map(|_| round(1.0)).collect();
        let rounds = rule.rounds_to_prove(SMALLEST_PERCENT, &many);
        assert_eq!(rounds, 8);
        let mut proven = || {
            let rounds: Vec<_> = (0..rounds).map(|_| round(1.05)).collect();
            rule.answer(&rule.compare(&rounds)) == Answer::Gain
        };
        let proven = (0..MEASUREMENTS).filter(|_| proven()).count() as f64;
        let share = proven / MEASUREMENTS as f64;
        assert!((0.7..0.9).contains(&share), "{share}");
    }

    #[test]
    fn noise_without_end_takes_more_rounds_than_there_are_and_none_takes_the_first_look() {
        let rule = Rule::new(&of_gains(), 1);
        let wild = [(100.0, 1.0), (100.0, 90.0), (100.0, 2000.0)];
        assert!(rule.rounds_to_prove(5.0, &wild) > 20);
        assert_eq!(rule.rounds_to_prove(5.0, &[(100.0, 100.0); 3]), 6);
    }
}
