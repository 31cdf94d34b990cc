//! The break-even hop cost: the cycles that a split saves in the caches, divided by its hops.
//!
//! The cost of a hop depends on the runtime, by three orders of magnitude; the misses that a split
//! saves do not. So reports contain the cycles at the machine's hop cost and the hop cost at which
//! a split breaks even. The latter shows for which runtimes the split gains.

use corehop_simulator::{Counters, Machine};

/// Returns the cycles saved per hop, before the cost of hops. The result is negative if the
/// accesses of the split take longer than on one core, and `None` if it never hops. `split` counts
/// `hops` hops at the cost of `machine`.
pub fn break_even_cycles(
    machine: &Machine,
    baseline: &Counters,
    split: &Counters,
    hops: u64,
) -> Option<f64> {
    let paid = hops as f64 * f64::from(machine.hop_cost_cycles);
    let saved = baseline.cycles as f64 - (split.cycles as f64 - paid);
    (hops > 0).then(|| saved / hops as f64)
}

/// Returns the cycles with the split as a share of those on one core, at `hop_cycles` per hop;
/// `None` if one core needs no cycles. Other parameters are as for [`break_even_cycles`].
pub fn cycles_ratio(
    machine: &Machine,
    baseline: &Counters,
    split: &Counters,
    hops: u64,
    hop_cycles: u32,
) -> Option<f64> {
    let accesses = split.cycles - hops * u64::from(machine.hop_cost_cycles);
    let cycles = accesses + hops * u64::from(hop_cycles);
    (baseline.cycles > 0).then(|| cycles as f64 / baseline.cycles as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_may_cost_what_it_saves() {
        let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
        let of = |cycles| Counters {
            cycles,
            ..Counters::default()
        };
        let paid = 10 * u64::from(machine.hop_cost_cycles);
        let cost = |split, hops| break_even_cycles(&machine, &of(5000), &of(split), hops);
        assert_eq!(cost(4000 + paid, 10), Some(100.0));
        assert_eq!(cost(6000 + paid, 10), Some(-100.0));
        assert_eq!(cost(5000, 0), None);
    }
}
