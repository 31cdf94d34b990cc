//! The cycles that a split costs or saves, for each backend of hops.
//!
//! The misses that a split saves do not depend on the backend. The cost of a hop differs by a
//! factor of twenty, so a split may gain with one backend only. So a verdict has cycles in addition
//! to misses, at the hop cost of the selected backend, or of each backend if none is selected.

use crate::hop_cost::cycles_ratio;
use corehop_simulator::{Counters, Machine};
use corehop_support::format::number::grouped;

/// Mechanism that moves a thread to another core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// M:N: a worker thread that waits on the destination core continues the thread.
    Carrier,
    /// The kernel moves the thread, by `sched_setaffinity`.
    Affinity,
}

impl Backend {
    /// All backends.
    pub const ALL: [Backend; 2] = [Backend::Carrier, Backend::Affinity];

    /// Returns the backend's name in `COREHOP_BACKEND`.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Carrier => "carrier",
            Backend::Affinity => "affinity",
        }
    }

    /// Returns the cycles of one hop.
    pub fn hop_cycles(self, machine: &Machine) -> u32 {
        match self {
            Backend::Carrier => machine.carried_hop_cycles(),
            Backend::Affinity => machine.hop_cost_cycles,
        }
    }

    /// Returns the cycles of a split with this backend, as a share of those on one core; `None` if
    /// one core needs no cycles. `split` counts `hops` hops at the cost of `machine`.
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

/// Returns the cycles of a hop on this machine, e.g. `1 200 with carrier and 24 150 with affinity`.
pub fn hop_cycles_in_words(machine: &Machine) -> String {
    let costs = Backend::ALL.map(|backend| {
        let cycles = grouped(backend.hop_cycles(machine).into());
        format!("{cycles} with {}", backend.name())
    });
    costs.join(" and ")
}

/// Whether no backend saves time; false if `ratios` is empty.
pub fn all_cost_time(ratios: &[(Backend, f64)]) -> bool {
    !ratios.is_empty() && ratios.iter().all(|&(_, ratio)| ratio >= 1.0)
}

/// Returns the only backend that saves time, if others in `ratios` do not.
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
