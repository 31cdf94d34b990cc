//! The cycles that a split takes or saves with each backend that can make its hops.
//!
//! The misses that a split saves do not depend on the backend. The cost of a hop does, by a factor
//! of twenty, so a split may pay with one backend only. A verdict therefore has cycles beside
//! misses, at the hop cost of the backend that will be used, or of each backend where none is
//! named.

use crate::hop_cost::cycles_ratio;
use corehop_simulator::{Counters, Machine};
use corehop_support::format::number::grouped;

/// How threads hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Threads are carried by others that wait on their cores.
    Carrier,
    /// The kernel moves them, asked by `sched_setaffinity`.
    Affinity,
}

impl Backend {
    /// Both.
    pub const ALL: [Backend; 2] = [Backend::Carrier, Backend::Affinity];

    /// As the runtime has it in `COREHOP_BACKEND`.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Carrier => "carrier",
            Backend::Affinity => "affinity",
        }
    }

    /// Cycles of one hop.
    pub fn hop_cycles(self, machine: &Machine) -> u32 {
        match self {
            Backend::Carrier => machine.carried_hop_cycles(),
            Backend::Affinity => machine.hop_cost_cycles,
        }
    }

    /// The cycles of a split with this backend as a share of those on one core; `None` when one
    /// core takes none. `split` counts `hops` hops at the cost of `machine`'s.
    pub fn cycles_ratio(
        self,
        machine: &Machine,
        baseline: &Counters,
        split: &Counters,
        hops: u64,
    ) -> Option<f64> {
        cycles_ratio(machine, baseline, split, hops, self.hop_cycles(machine))
    }
}

/// `1 200 with carrier and 24 150 with affinity`: what a hop takes on this machine, in cycles.
pub fn hop_cycles_in_words(machine: &Machine) -> String {
    let costs = Backend::ALL.map(|backend| {
        let cycles = grouped(backend.hop_cycles(machine).into());
        format!("{cycles} with {}", backend.name())
    });
    costs.join(" and ")
}

/// Whether no backend that may be used saves time; false where there is none to judge.
pub fn all_cost_time(ratios: &[(Backend, f64)]) -> bool {
    !ratios.is_empty() && ratios.iter().all(|&(_, ratio)| ratio >= 1.0)
}

/// The only backend that saves time, where others that may be used do not.
pub fn only_one_saves(ratios: &[(Backend, f64)]) -> Option<Backend> {
    let saves = |&&(_, ratio): &&(Backend, f64)| ratio < 1.0;
    let mut saving = ratios.iter().filter(saves);
    let (backend, _) = saving.next()?;
    (saving.next().is_none() && ratios.len() > 1).then_some(*backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_may_pay_with_carriers_alone() {
        let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
        let of = |cycles| Counters {
            cycles,
            ..Counters::default()
        };
        let (hops, accesses) = (10, 900_000);
        let split = of(accesses + hops * u64::from(machine.hop_cost_cycles));
        let ratio = |backend: Backend| {
            let ratio = backend.cycles_ratio(&machine, &of(1_000_000), &split, hops);
            (backend, ratio.unwrap())
        };
        let ratios = Backend::ALL.map(ratio);
        assert_eq!(ratios[0].1, 0.912);
        assert_eq!(ratios[1].1, split.cycles as f64 / 1e6);
        assert!(ratios[1].1 > 1.0 && !all_cost_time(&ratios));
        assert_eq!(only_one_saves(&ratios), Some(Backend::Carrier));
        assert!(all_cost_time(&ratios[1..]));
        assert_eq!(only_one_saves(&ratios[..1]), None);
    }
}
