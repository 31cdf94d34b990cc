//! Compares formulas with simulations of the same networks.
//!
//! A simulation gives throughput with a standard error. An exact formula must be within four of
//! them. By chance one comparison in a thousand would not be (Student's distribution with 19
//! degrees of freedom), and the seed is fixed.

use super::events::{BATCHES, Times, equal};
use super::simulation::rounds;
use corehop_simulator::queueing::{Network, Station, asymptotic, throughput};

/// Stations with their servers, and think time.
const NETWORKS: [(&[(f64, u32)], f64); 5] = [
    (&[(1.0, 1), (2.0, 1)], 0.0),
    (&[(3.0, 1), (1.0, 1), (2.0, 1)], 5.0),
    (&[(4.0, 3)], 2.0),
    (&[(4.0, 3), (1.0, 1)], 1.0),
    (&[(5.0, 2), (1.0, 1), (7.0, 4)], 0.0),
];

fn network(stations: &[(f64, u32)], think_time: f64) -> Network {
    let station = |&(demand, servers): &(f64, u32)| Station::new(demand, servers);
    Network {
        stations: stations.iter().map(station).collect(),
        think_time,
    }
}

#[test]
fn mean_value_analysis_is_what_exponential_times_come_to() {
    for (stations, think_time) in NETWORKS {
        for customers in [1, 2, 5, 12] {
            let simulated = rounds(
                stations,
                think_time,
                (customers, Times::Exponential),
                8000.0,
            );
            let found = throughput(&network(stations, think_time), customers);
            equal(found, simulated, &format!("{stations:?}, {customers}"));
        }
    }
}

#[test]
fn the_upper_asymptotic_bound_is_what_constant_times_come_to() {
    for (stations, think_time) in NETWORKS {
        for customers in [1, 2, 5, 12] {
            let batch = 4000.0;
            let simulated = rounds(stations, think_time, (customers, Times::Constant), batch);
            let bound = asymptotic(&network(stations, think_time), customers).most;
            // Each customer may be in a round at either end of the counted period.
            let counted = batch * BATCHES as f64;
            let apart = (bound - simulated.mean).abs() * counted;
            let most = f64::from(customers) + 1.0;
            assert!(apart <= most, "{stations:?}, {customers}: {apart} rounds");
        }
    }
}
