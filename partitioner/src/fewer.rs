//! Evaluates whether a split over fewer cores is as good.
//!
//! More cores need not help. Each core has its own first accesses and costs hops, and a small gain
//! on the searched requests can be a loss on others. So the best splits over fewer cores are
//! evaluated on the same requests as the requested split. A local search finds them, because by
//! then most of its sets are known. To use fewer cores, the user runs a full search for them.

use crate::comparison::Comparison;
use crate::evaluate::{self, Evaluator, IndexedPlacement, Placement};
use crate::objective::Objective;
use crate::strategy::{Ranking, Search, Strategy, search};
use corehop_traces::FunctionId;

/// The best split found over fewer cores.
#[derive(Clone, Debug)]
pub struct Fewer {
    /// Number of cores.
    pub cores: u32,
    /// Its functions, each with its core.
    pub split: Placement,
    /// Comparison with one core, on the held-out requests.
    pub held_out: Comparison,
}

/// Maximum ratio of objectives at which fewer cores are as good.
const AS_GOOD: f64 = 1.01;

/// Returns the split over the fewest cores that is as good as `split`.
pub fn as_good<'f>(
    fewer: &'f [Fewer],
    split: &Comparison,
    objective: Objective,
) -> Option<&'f Fewer> {
    let most = split.ratio(objective)? * AS_GOOD;
    let is_as_good = |fewer: &&Fewer| {
        let ratio = fewer.held_out.ratio(objective);
        ratio.is_some_and(|ratio| ratio <= most)
    };
    fewer.iter().find(is_as_good)
}

/// Returns the number of functions for `cores` cores, if `functions` were for `of_cores`.
pub fn functions(cores: u32, (functions, of_cores): (u32, u32)) -> u32 {
    match functions == of_cores {
        true => cores,
        false => functions,
    }
}

/// Returns the best splits for each smaller number of cores from 2; stops when the search is over.
pub(crate) fn rankings(evaluator: &mut Evaluator<'_>, wanted: &Search<'_>) -> Vec<(u32, Ranking)> {
    let mut rankings = Vec::new();
    for cores in 2..wanted.cores {
        if wanted.is_over() {
            break;
        }
        let wanted = Search {
            cores,
            functions: functions(cores, (wanted.functions, wanted.cores)),
            strategy: Some(Strategy::Local),
            ..*wanted
        };
        rankings.push((cores, search(evaluator, &wanted)));
    }
    rankings
}

/// Converts splits of a ranking to the trace's function numbers.
pub(crate) fn named(
    best: &[(u64, IndexedPlacement)],
    functions: &[FunctionId],
) -> Vec<(u64, Placement)> {
    let named =
        |(misses, choice): &(u64, IndexedPlacement)| (*misses, evaluate::named(choice, functions));
    best.iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_simulator::Counters;

    fn comparison(cycles: u64) -> Comparison {
        let of = |cycles| Counters {
            cycles,
            ..Counters::default()
        };
        Comparison {
            requests: 1,
            baseline: of(2000),
            split: of(cycles),
            hops: 0,
            busy_cycles: Vec::new(),
            weight: 1.0,
            others: Vec::new(),
        }
    }

    #[test]
    fn the_fewest_cores_within_a_hundredth_do_as_well() {
        let fewer = |(cores, cycles)| Fewer {
            cores,
            split: Placement::new(),
            held_out: comparison(cycles),
        };
        let as_good = |values: [u64; 3], value: u64| {
            let fewer: Vec<Fewer> = (2..).zip(values).map(fewer).collect();
            let found = super::as_good(&fewer, &comparison(value), Objective::Cycles);
            found.map(|fewer| fewer.cores)
        };
        assert_eq!(as_good([1500, 1010, 900], 1000), Some(3));
        assert_eq!(as_good([1500, 1011, 1012], 1000), None);
        assert_eq!(as_good([900, 800, 700], 1000), Some(2));
    }

    #[test]
    fn functions_go_with_cores_unless_there_are_more_of_them() {
        assert_eq!(functions(2, (4, 4)), 2);
        assert_eq!(functions(2, (6, 4)), 6);
    }
}
