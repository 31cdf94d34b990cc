//! When enough was measured.
//!
//! Rounds go on until the interval is as narrow as was asked for, or a tenth of the change that it
//! shows, whichever is reached first: of a server three times as fast nobody needs to know it to
//! two percent. Both go by the interval's width and not by whether it holds 1. To stop as soon as
//! it does not is how a difference is found between a server and itself: looked at often enough,
//! every interval errs once. The width errs too with few rounds, which may agree by chance, so
//! there are at least five.

use super::interval::Comparison;

/// Rounds before which nothing is settled.
const FEWEST_ROUNDS: usize = 5;

/// How wide an interval may be to one side, as a part of the change.
const PART_OF_CHANGE: f64 = 0.1;

/// Whether the interval of so many rounds is narrow enough.
pub(crate) fn is_settled(comparison: &Comparison, rounds: usize, within_percent: f64) -> bool {
    let half = comparison.resolution_percent() / 100.0;
    let change = comparison.ratio.ln().abs();
    rounds >= FEWEST_ROUNDS && (half <= within_percent / 100.0 || half <= PART_OF_CHANGE * change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Verdict;
    use crate::rounds::noise::Noise;

    #[test]
    fn narrow_is_what_was_asked_for_or_a_tenth_of_the_change() {
        let of = |ratio: f64, half: f64| Comparison {
            ratio,
            low: ratio / half,
            high: ratio * half,
        };
        assert!(is_settled(&of(1.0, 1.019), 5, 2.0));
        assert!(!is_settled(&of(1.0, 1.021), 5, 2.0));
        assert!(!is_settled(&of(1.0, 1.019), 4, 2.0), "too few rounds");
        assert!(is_settled(&of(2.6, 1.09), 5, 2.0));
        assert!(!is_settled(&of(2.6, 1.1), 5, 2.0));
        assert!(is_settled(&of(0.5, 1.06), 5, 2.0), "slower");
    }

    /// How many of 2000 servers are said to be faster that are so many times as fast, with noise of
    /// 5 % a round.
    fn said_to_gain(true_ratio: f64) -> usize {
        let mut noise = Noise::new(1);
        let mut gains = || {
            let mut rounds = Vec::new();
            loop {
                rounds.push((100.0, noise.around(100.0 * true_ratio)));
                if rounds.len() < 2 {
                    continue;
                }
                let comparison = Comparison::of(&rounds);
                if rounds.len() == 20 || is_settled(&comparison, rounds.len(), 2.0) {
                    return comparison.verdict() == Verdict::Faster;
                }
            }
        };
        (0..2000).filter(|_| gains()).count()
    }

    #[test]
    fn of_servers_no_faster_one_in_forty_is_said_to_be_and_of_those_much_faster_all() {
        let said = said_to_gain(1.0);
        assert!((20..=80).contains(&said), "{said} of 2000");
        assert_eq!(said_to_gain(1.2), 2000);
    }
}
