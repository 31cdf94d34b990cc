//! When the question that rounds are to answer is settled: one rule for all that measure.
//!
//! Rounds are looked at a few times, each a third later than the one before, at numbers that are
//! fixed beforehand. The interval is always Student's t at one level, such that all looks at all
//! contestants together miss a true ratio in one measurement of twenty at most: they share the
//! error equally (Bonferroni), the simplest spending of an error on looks (Lan and DeMets,
//! "Discrete Sequential Boundaries for Clinical Trials", Biometrika 70, 1983). So the answer may be
//! taken at the first look that has one, and of several contestants the best may be chosen by the
//! same rounds. Half of the error is on either side: a server that is no faster is said to gain in
//! one measurement of forty at most, and one that gains the smallest gain or more is said not to in
//! as many. With a single look the interval is the usual one.
//!
//! Rounds also end, without an answer, where those that are left will hardly bring one (stochastic
//! curtailment: Lan, Simon and Halperin, "Stochastically Curtailed Tests in Long-Term Clinical
//! Trials", Sequential Analysis 1, 1982). That makes no error more frequent.
//!
//! Starts may fall into two heaps, in which few rounds agree by chance and look certain. So the
//! first look comes when rounds above or below the truth equally often are seldom all on one side.
//! With two equal heaps either error stays below 3 %, as the tests count; a heap of one start in
//! ten is seen by no rule after six.
//!
//! Rejected: confidence sequences from mixtures (Howard and others, "Time-uniform, Nonparametric,
//! Nonasymptotic Confidence Sequences", Annals of Statistics 49, 2021; for unknown variance Wang
//! and Ramdas, "Anytime-valid t-tests", 2023), which may be looked at after each round but are a
//! fifth wider within twenty; and stopping when an interval of a single look leaves 1 out, which
//! finds a difference between a server and itself.

use super::interval::{CONFIDENCE, Comparison, TELLING_PERCENT, Verdict, quantile};
use serde::Serialize;
use std::time::{Duration, Instant};

/// What rounds are to answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// Whether it is faster; `no gain` is that it is not so by this many percent or more.
    Gain {
        /// Smaller gains need not be found.
        smallest_percent: f64,
    },
    /// Whether it is faster, slower, or neither by as much as a user would notice.
    Difference,
    /// Whether it is faster by so many percent.
    AtLeast {
        /// Below 0 a loss is allowed.
        percent: f64,
    },
}

/// What they say to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It is faster.
    Gain,
    /// It is not, or not by enough.
    NoGain,
    /// Rounds differ too much, or are too few.
    Open,
}

/// The power of a proof whose rounds are estimated, as a quantile of the normal distribution.
const POWER_QUANTILE: f64 = 0.8416;

/// A mean hardly moves further than by so many of its standard deviations: one in a hundred does.
const HARDLY_QUANTILE: f64 = 2.3263;

/// The largest number of rounds that an estimate gives.
const MOST_ESTIMATED: usize = 1_000_000;

/// The level of each of so many intervals that are wrong together as seldom as one may be.
pub(super) fn level_of_each(intervals: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / intervals.max(1) as f64
}

/// When enough was measured.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What is to be answered: with the answer the rounds end.
    pub question: Question,
    /// So many rounds in any case; two at least, or there is nothing to compare.
    pub fewest: u32,
    /// No more than this.
    pub most: u32,
    /// After the answer, until the interval is no wider than this to either side, in percent, or a
    /// tenth of the change.
    pub within_percent: Option<f64>,
    /// No round but two begins after this time.
    pub time: Option<Duration>,
}

impl Limits {
    /// Just so many rounds.
    pub fn fixed(rounds: u32, question: Question) -> Limits {
        Limits {
            question,
            fewest: rounds,
            most: rounds,
            within_percent: None,
            time: None,
        }
    }

    /// When the time is over that begins now.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.time.map(|limit| Instant::now() + limit)
    }
}

/// When rounds are looked at, and what they say then.
#[derive(Clone, Debug)]
pub struct Rule {
    question: Question,
    looks: Vec<usize>,
    level: f64,
    within_percent: Option<f64>,
}

impl Rule {
    /// For a question that is asked of so many contestants, of which one is answered for.
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

    /// The gain that is to be found, in percent; of other questions what a user would notice.
    pub(super) fn smallest_percent(&self) -> f64 {
        match self.question {
            Question::Gain { smallest_percent } => smallest_percent,
            Question::Difference | Question::AtLeast { .. } => TELLING_PERCENT,
        }
    }

    /// Whether there is a look before the last.
    pub(super) fn may_end_early(&self) -> bool {
        self.looks.len() > 1
    }

    /// The last look.
    pub fn most(&self) -> usize {
        self.looks[self.looks.len() - 1]
    }

    /// At least two rounds of (original, patched).
    pub fn compare(&self, rounds: &[(f64, f64)]) -> Comparison {
        Comparison::with_confidence(rounds, self.level)
    }

    /// What an interval says, whenever rounds end.
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

    /// Above which ratio the interval is to lie for a gain, and below which for none.
    fn bounds(&self) -> Option<[f64; 2]> {
        let part = |percent: f64| 1.0 + percent / 100.0;
        match self.question {
            Question::Gain { smallest_percent } => Some([1.0, part(smallest_percent)]),
            Question::AtLeast { percent } => Some([part(percent); 2]),
            Question::Difference => None,
        }
    }

    /// Whether the last look will hardly have an answer, if rounds go on as these: it comes, by
    /// either answer, in one measurement of a hundred at most.
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
                Answer::Gain | Answer::NoGain => self.is_narrow(&comparison),
            }
        }
    }

    /// Whether the interval is as narrow as was asked for, or a tenth of the change: of a server
    /// three times as fast nobody needs to know it to two percent.
    fn is_narrow(&self, comparison: &Comparison) -> bool {
        const PART_OF_CHANGE: f64 = 0.1;
        let half = comparison.resolution_percent() / 100.0;
        let change = comparison.ratio.ln().abs();
        self.within_percent
            .is_none_or(|percent| half <= percent / 100.0 || half <= PART_OF_CHANGE * change)
    }

    /// After how many rounds a gain of so many percent is proven in four measurements of five, if
    /// rounds go on to differ as these do. It may be more than there are to be.
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

/// As many rounds as it takes that a coin falls on one side in all of them for some contestant more
/// seldom than an interval may err on that side; of several the choice prefers such a one, so one
/// round more.
fn first_look(contestants: usize) -> usize {
    let seldom = (1.0 - CONFIDENCE) / 2.0 / contestants.max(1) as f64;
    (1.0 / seldom).log2().ceil() as usize + usize::from(contestants > 1)
}

/// The look after this one.
fn later(look: usize) -> usize {
    (look * 4).div_ceil(3)
}

/// From the first on, if there are so many, to the last.
fn looks(first: usize, most: usize) -> Vec<usize> {
    let looks = std::iter::successors(Some(first), |&look| Some(later(look)));
    let mut looks: Vec<usize> = looks.take_while(|&look| look < most).collect();
    // Two looks close together tell no more than one.
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

    /// Answers and numbers of rounds of servers that are so many times as fast.
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

    /// The bound of the errors on either side is 2.5 %, or 3 % with two heaps.
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

    /// Of several contestants that are no faster, none is said to gain, though the one that did
    /// best is chosen by the rounds that answer.
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

    /// Two answers of a difference, either of which is wrong where there is none.
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
