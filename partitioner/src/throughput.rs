//! What a split does to throughput when several connections share its cores.
//!
//! A core that is the next stage of many requests makes them wait, so the cycles of one request say
//! nothing of a busy server. Each core is a queue, each connection a customer that always has a
//! request, and the cycles that a request spends on a core are its demand there. Exact mean value
//! analysis (Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing networks",
//! 1980) gives the throughput of such a network, connection by connection. It assumes times that
//! vary as exponential ones do; steadier requests wait less.

/// Requests per cycle with 1 to `connections` connections, where a request spends `demands_cycles`
/// on each core. A core without demand does not count; with none at all, throughput is 0.
pub fn requests_per_cycle(demands_cycles: &[f64], connections: u32) -> Vec<f64> {
    let mut queues = vec![0.0; demands_cycles.len()];
    let with_one_more = |number: u32| {
        // Who arrives finds the queues that there would be without it.
        let residences = demands_cycles.iter().zip(&queues);
        let residences: Vec<f64> = residences
            .map(|(demand, queue)| demand * (1.0 + queue))
            .collect();
        let residence: f64 = residences.iter().sum();
        let throughput = match residence > 0.0 {
            true => f64::from(number) / residence,
            false => 0.0,
        };
        for (queue, residence) in queues.iter_mut().zip(residences) {
            *queue = throughput * residence;
        }
        throughput
    };
    (1..=connections).map(with_one_more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-12
    }

    #[test]
    fn balanced_cores_serve_as_the_closed_formula_says() {
        // With k equal queues, n customers: n / (demand (n + k - 1)).
        let found = requests_per_cycle(&[10.0; 4], 8);
        for (number, found) in (1..).zip(found) {
            let number = f64::from(number);
            assert!(close(found, number / (10.0 * (number + 3.0))), "{number}");
        }
    }

    #[test]
    fn two_unequal_cores_serve_as_worked_out_by_hand() {
        // One customer: 1/3, queues 1/3 and 2/3. Two: times 4/3 and 10/3, so 2 / (14/3).
        let found = requests_per_cycle(&[1.0, 2.0], 2);
        assert!(
            close(found[0], 1.0 / 3.0) && close(found[1], 3.0 / 7.0),
            "{found:?}"
        );
    }

    #[test]
    fn the_busiest_core_is_never_outrun() {
        let found = requests_per_cycle(&[3.0, 0.0, 7.0, 5.0], 64);
        assert!(found.is_sorted());
        assert!(found.iter().all(|&throughput| throughput < 1.0 / 7.0));
        assert!(found[63] > 0.99 / 7.0);
    }

    #[test]
    fn without_demand_there_is_no_throughput_to_speak_of() {
        assert_eq!(requests_per_cycle(&[0.0], 2), [0.0, 0.0]);
        assert_eq!(requests_per_cycle(&[], 1), [0.0]);
    }
}
