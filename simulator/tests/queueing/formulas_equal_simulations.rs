//! Formulas beside simulations of the same networks.
//!
//! A simulation says its throughput with a standard error. Where a formula is exact, it lies within
//! four of them: by chance one comparison in a thousand would not (Student's distribution with 19
//! degrees of freedom), and the seed is fixed. Where it is an approximation, the test says how far
//! off it is.

use super::simulation::{BATCHES, Locking, Measured, Times, rounds};
use corehop_simulator::queueing::{
    Analytic, LockedProgram, Network, Station, Waiting, asymptotic, throughput,
};

const STANDARD_ERRORS: f64 = 4.0;

fn equal(found: f64, simulated: Measured, of: &str) {
    let Measured {
        mean,
        standard_error,
    } = simulated;
    // Batches long enough that agreement means something.
    assert!(standard_error < 0.01 * mean, "{of}: {simulated:?}");
    let apart = (found - mean).abs() / standard_error;
    assert!(
        apart < STANDARD_ERRORS,
        "{of}: {found} beside {simulated:?}"
    );
}

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
            // Each customer may be between rounds at either end of what is counted.
            let counted = batch * BATCHES as f64;
            let apart = (bound - simulated.mean).abs() * counted;
            let most = f64::from(customers) + 1.0;
            assert!(apart <= most, "{stations:?}, {customers}: {apart} rounds");
        }
    }
}

/// Programs of few and many locks, as long under them as not or a quarter of that.
const PROGRAMS: [LockedProgram; 3] = [
    LockedProgram {
        locks: 1,
        t_cs: 1.0,
        t_ncs: 4.0,
    },
    LockedProgram {
        locks: 4,
        t_cs: 1.0,
        t_ncs: 1.0,
    },
    LockedProgram {
        locks: 16,
        t_cs: 1.0,
        t_ncs: 1.0,
    },
];

fn simulated(program: LockedProgram, cores: u32, threads: u32) -> Measured {
    let LockedProgram { locks, t_cs, t_ncs } = program;
    let of = Locking {
        locks,
        t_cs,
        t_ncs,
        cores,
        threads,
    };
    of.iterations(4000.0)
}

#[test]
fn with_a_core_for_each_thread_the_network_of_locks_is_exact() {
    for program in PROGRAMS {
        for threads in [1, 2, 6, 20] {
            let found = Analytic { program }.throughput(threads);
            let of = format!("{program:?}, {threads}");
            equal(found, simulated(program, threads, threads), &of);
        }
    }
}

#[test]
fn with_fewer_cores_surrogate_delays_are_a_tenth_off_at_most() {
    for program in PROGRAMS {
        for (cores, threads) in [(2, 3), (2, 12), (4, 6), (4, 24), (8, 12)] {
            let found = Analytic { program }.throughput_on(cores, threads, Waiting::Blocking);
            let mean = simulated(program, cores, threads).mean;
            let off = (found / mean - 1.0).abs();
            assert!(
                off < 0.1,
                "{program:?} on {cores}, {threads}: {found} for {mean}"
            );
        }
    }
}
