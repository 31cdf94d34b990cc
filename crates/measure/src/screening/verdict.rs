//! Decides whether a recording is worth its time, and by which figure.
//!
//! Two bounds can rule out a gain. If all memory accessed even in the longest window fits one L2,
//! no access has to miss twice. If all L2 misses together take less than a hundredth of the user
//! time, avoiding them gains less than that; each miss counts with its serving level's latency.
//! Both are bounds, not predictions: pages overstate the lines, and latencies overlap.

use super::Found;
use crate::machine::counters::Count;

/// Below this share of the time, a recording is not worthwhile.
const WORTH_A_RECORDING: f64 = 0.01;

/// The machine's figures that a verdict uses.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Size of one core's L2.
    pub l2_bytes: u64,
    /// Latencies of an access served by the L3 and by memory, in nanoseconds; `None` if the
    /// machine's clock is unknown.
    pub latencies_ns: Option<[f64; 2]>,
}

/// Whether recording the server is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A gain is possible.
    Worth,
    /// All accessed memory fits one L2.
    Fits,
    /// It waits for too few L2 misses.
    FewMisses,
    /// The load left the server idle: the memory accessed under a real load is unknown.
    Idle,
}

/// A verdict and its figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Screened {
    /// The verdict.
    pub verdict: Verdict,
    /// The most that avoiding all L2 misses could save, as a share of the time; `None` if nothing
    /// was counted.
    pub at_most: Option<f64>,
}

/// A server with a lower share of CPU time than this was not under load.
const UNDER_LOAD: f64 = 0.02;

impl Screened {
    /// Judges the result of a screening.
    pub fn of(found: &Found, machine: Bounds) -> Screened {
        let at_most = machine.latencies_ns.and_then(|[l3, memory]| {
            let count = |name: &str| of_name(&found.counts, name);
            let misses = count("L2 misses")?;
            let beyond = count("last-level misses").unwrap_or(0.0).min(misses);
            let waited_ns = (misses - beyond) * l3 + beyond * memory;
            (found.busy.user > 0.0).then(|| waited_ns / (found.busy.user * 1e9))
        });
        let fits = |bytes: u64| bytes <= machine.l2_bytes;
        let longest = found.windows.last();
        let busy = found.busy.user + found.busy.system;
        let verdict = if busy < UNDER_LOAD * found.seconds {
            Verdict::Idle
        } else if longest.is_some_and(|window| fits(window.touched.bytes())) {
            Verdict::Fits
        } else if at_most.is_some_and(|share| share < WORTH_A_RECORDING) {
            Verdict::FewMisses
        } else {
            Verdict::Worth
        };
        Screened { verdict, at_most }
    }
}

fn of_name(counts: &[Count], name: &str) -> Option<f64> {
    let count = counts.iter().find(|count| count.name == name)?;
    Some(count.count)
}

#[cfg(test)]
mod tests {
    use super::super::{Busy, Touched, Window};
    use super::*;

    const MACHINE: Bounds = Bounds {
        l2_bytes: 1 << 20,
        latencies_ns: Some([20.0, 100.0]),
    };

    fn found(touched: [u64; 2], counts: &[(&'static str, f64)]) -> Found {
        let window = |milliseconds, bytes| Window {
            milliseconds,
            samples: 3,
            touched: Touched {
                code_bytes: bytes / 2,
                data_bytes: bytes / 2,
            },
        };
        Found {
            windows: vec![window(10, touched[0]), window(100, touched[1])],
            counts: counts
                .iter()
                .map(|&(name, count)| Count { name, count })
                .collect(),
            busy: Busy {
                user: 1.0,
                system: 0.0,
            },
            seconds: 2.0,
            throughput: None,
            has_huge_pages: false,
        }
    }

    #[test]
    fn what_fits_an_l2_even_in_the_longest_window_is_not_worth_it() {
        let of = |touched| Screened::of(&found(touched, &[]), MACHINE).verdict;
        assert_eq!(of([1 << 18, 1 << 20]), Verdict::Fits);
        assert_eq!(of([1 << 18, (1 << 20) + 2]), Verdict::Worth);
    }

    #[test]
    fn misses_by_their_latencies_bound_the_gain() {
        let of = |counts: &[_]| Screened::of(&found([1 << 22; 2], counts), MACHINE);
        let many = of(&[("L2 misses", 3e6), ("last-level misses", 1e6)]);
        assert_eq!((many.verdict, many.at_most), (Verdict::Worth, Some(0.14)));
        let few = of(&[("L2 misses", 4e5)]);
        assert_eq!(
            (few.verdict, few.at_most),
            (Verdict::FewMisses, Some(0.008))
        );
        assert_eq!(of(&[]).at_most, None);
        // The processor's two counters may cover different times.
        let odd = of(&[("L2 misses", 1e6), ("last-level misses", 2e6)]);
        assert_eq!(odd.at_most, Some(0.1));
    }

    #[test]
    fn an_idle_server_says_nothing() {
        let mut idle = found([1 << 22; 2], &[]);
        idle.busy.user = 0.01;
        assert_eq!(Screened::of(&idle, MACHINE).verdict, Verdict::Idle);
    }
}
