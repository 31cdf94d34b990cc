//! The speed that plans are expected to have on a machine: timed replays with the best model of it.
//!
//! The search orders splits by misses, or by the latencies of all accesses, one after the other. A
//! real core overlaps accesses and waits for translations of addresses. Its L2 holds fewer lines of
//! a program than its size, because physical memory places pages at random, and because it
//! prefetches. So the few plans that remain get timed replays with the window model, TLBs if the
//! machine has them, a prefetcher, branch predictors, and several random placements of pages.
//! Placements differ as starts of a server do, so their spread is part of the answer.
//!
//! Each connection of the trace always has a request. Without a split, an idle core takes any
//! waiting thread. With one, a thread hops; on several connections, only to a core whose queue is
//! not longer than its own, as the runtime's carriers do.

use crate::Error;
use crate::requests::complete;
use corehop_simulator::branches::BranchPredictorName;
use corehop_simulator::core_model::{AddressSources, Window};
use corehop_simulator::timing::{
    MOST_CONNECTIONS, Needs, Outcome, PrefetcherName, Setting, Streams, simulate_all,
};
use corehop_simulator::{Machine, PageSizes, Split};
use corehop_traces::{Index, RequestId, Tell, Trace};
use std::fmt;

/// Number of placements of pages.
pub const PLACEMENTS: u64 = 5;

/// About as many accesses warm up, and are counted, in each replay.
const ACCESSES: u64 = 4_000_000;

/// Fewest requests to replay, unless they take more than [`MOST_ACCESSES`].
const FEWEST_REQUESTS: usize = 8;

/// Most accesses to warm up with.
const MOST_ACCESSES: u64 = 40_000_000;

/// The prefetcher nearest to those of real L2s. Intel's spatial prefetcher completes each line
/// brought to the L2 to an aligned pair (64 and IA-32 Architectures Optimization Reference Manual,
/// *Data prefetching*). AMD's up/down prefetcher brings the next or the previous line (Software
/// Optimization Guide for family 19h, 56665). Prefetched lines are not the last to be replaced, as
/// measured servers show (research/notes/pages.md).
pub const OF_HOSTS: PrefetcherName = PrefetcherName::NextLineMid;

/// Throughput as a multiple of that without a split. The trace has no time of clients and, unless
/// it was recorded with it, of the kernel, which no split makes faster.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Speedup {
    /// The lowest of the placements.
    pub low: f64,
    /// The middle one.
    pub median: f64,
    /// The highest one.
    pub high: f64,
}

/// Returns the speedup of each split on `machine` with this prefetcher, by the machine's cost of
/// hops; `None` if there are no requests that are short enough.
///
/// # Errors
/// If the trace cannot be read, or a split needs more cores than the machine has.
pub fn speedups(
    trace: &Trace,
    (machine, prefetcher): (&Machine, PrefetcherName),
    splits: &[&Split],
    tell: Tell<'_>,
) -> Result<Option<Vec<Speedup>>, Error> {
    let requests = counted(trace);
    if requests.is_empty() || splits.is_empty() {
        return Ok(None);
    }
    let executions = trace.executions_of(&requests);
    let sources = &mut AddressSources::new(trace);
    let needs = Needs {
        prefetcher,
        branch_predictor: BranchPredictorName::Tage,
    };
    let streams = Streams::annotated((trace, executions), splits, sources, needs)?;
    let page_sizes = PageSizes::default();
    let connections = streams.connections().min(MOST_CONNECTIONS);
    let common = Setting {
        cores: splits.iter().map(|split| split.cores()).max().unwrap_or(1),
        prefetcher,
        branch_predictor: BranchPredictorName::Tage,
        page_sizes: translating(trace, machine, &page_sizes),
        ..Setting::closed_loop(machine, connections, streams.requests(connections))
    };
    let hops = match common.connections {
        1 => "split",
        _ => "split-if-idle=0",
    };
    let mut settings = Vec::new();
    for seed in 1..=PLACEMENTS {
        let of = |split, name: &str| Setting {
            split,
            scheduler: name.parse().expect("the name of a scheduler"),
            random_pages: Some(seed),
            ..common
        };
        settings.push(of(None, "free"));
        settings.extend(splits.iter().map(|&split| of(Some(split), hops)));
    }
    let outcomes = simulate_all(&streams, &settings, Window::new, tell)?;
    let of_placement = outcomes.chunks(1 + splits.len());
    let ratios = |split: usize| {
        let throughput = Outcome::requests_per_million_cycles;
        of_placement
            .clone()
            .map(move |of| throughput(&of[1 + split]) / throughput(&of[0]))
    };
    let speedups = (0..splits.len()).map(|split| Speedup::of(ratios(split).collect()));
    Ok(Some(speedups.collect()))
}

/// Number of timed replays for this many splits.
pub fn replays(splits: usize) -> u64 {
    PLACEMENTS * (1 + splits as u64)
}

/// Returns the trace's last requests, as many as have enough accesses; none if they have too many.
fn counted(trace: &Trace) -> Vec<RequestId> {
    let requests = complete(trace.requests());
    let accesses = trace.execution_count() + trace.data_access_count();
    let of_one = (accesses / requests.len().max(1) as u64).max(1);
    let count = (ACCESSES / of_one).max(FEWEST_REQUESTS as u64);
    match count * of_one > MOST_ACCESSES {
        true => Vec::new(),
        false => {
            let first = requests.len().saturating_sub(count as usize);
            requests[first..].to_vec()
        }
    }
}

/// Returns the sizes of pages if addresses can be translated: if the machine has TLBs, and the
/// trace is read by virtual addresses.
pub(crate) fn translating<'a>(
    trace: &Trace,
    machine: &Machine,
    page_sizes: &'a PageSizes,
) -> Option<&'a PageSizes> {
    let can = machine.translation.is_some() && trace.index() == Index::Virtual;
    can.then_some(page_sizes)
}

/// Such as `its own code 1.50 (1.42 to 1.61) times as fast`.
impl fmt::Display for Speedup {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Speedup { low, median, high } = self;
        write!(
            to,
            "its own code {median:.2} ({low:.2} to {high:.2}) times as fast"
        )
    }
}

impl Speedup {
    /// Returns the speedup of a server that runs its own code for this share of its time, from 0 to
    /// 1 (Amdahl, "Validity of the single processor approach to achieving large scale computing
    /// capabilities", AFIPS 1967).
    #[must_use]
    pub fn of_share(self, share: f64) -> Speedup {
        let of = |speedup: f64| 1.0 / (1.0 - share + share / speedup);
        Speedup {
            low: of(self.low),
            median: of(self.median),
            high: of(self.high),
        }
    }

    /// Summarizes ratios, of each placement one.
    ///
    /// # Panics
    /// Without any ratio.
    pub fn of(mut ratios: Vec<f64>) -> Speedup {
        ratios.sort_by(f64::total_cmp);
        Speedup {
            low: ratios[0],
            median: ratios[ratios.len() / 2],
            high: ratios[ratios.len() - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_servers_own_code_gets_no_faster() {
        let speedup = Speedup::of(vec![2.0, 4.0, 1.0]);
        let half = speedup.of_share(0.5);
        assert_eq!((half.low, half.median, half.high), (1.0, 4.0 / 3.0, 1.6));
        assert_eq!(speedup.of_share(1.0), speedup);
        assert_eq!(speedup.of_share(0.0).high, 1.0);
    }
}
