//! Known properties of networks: closed forms, a second algorithm, and bounds.

use corehop_simulator::queueing::{Bounds, Network, Station, asymptotic, solve, throughput};
use proptest::prelude::*;

fn close(found: f64, expected: f64, of: &str) {
    let apart = (found / expected - 1.0).abs();
    assert!(apart < 1e-9, "{of}: {found} is not {expected}");
}

#[test]
fn balanced_cores_serve_as_the_closed_formula_says() {
    // With k equal queues, n customers: n / (demand (n + k - 1)).
    let cores = Network::of_stages(&[10.0; 4], 0.0);
    for customers in 1..=8 {
        let expected = f64::from(customers) / (10.0 * (f64::from(customers) + 3.0));
        close(throughput(&cores, customers), expected, "balanced");
    }
}

#[test]
fn two_unequal_cores_serve_as_worked_out_by_hand() {
    // One customer: 1/3, queues 1/3 and 2/3. Two: times 4/3 and 10/3, so 2 / (14/3).
    let solved = solve(&Network::of_stages(&[1.0, 2.0], 0.0), 2);
    close(solved[0].throughput, 1.0 / 3.0, "one customer");
    close(solved[1].throughput, 3.0 / 7.0, "two customers");
    close(
        solved[1].stations[1].customers,
        10.0 / 7.0,
        "the longer queue",
    );
}

#[test]
fn equal_cores_serve_one_connection_each_until_all_are_busy() {
    let cores = Network::of_equal_cores(7.0, 4, 0.0);
    for customers in 1..=200 {
        let expected = f64::from(customers.min(4)) / 7.0;
        close(throughput(&cores, customers), expected, "equal cores");
    }
}

#[test]
fn machines_and_their_repairmen_are_as_erlang_has_them() {
    // Probabilities of n of N customers at the station: N! / (N - n)! r^n / (n! or c! c^(n - c)).
    for (customers, servers, ratio) in [(6, 1, 0.7), (9, 3, 1.3), (40, 8, 0.4)] {
        let mut weights = vec![1.0];
        for there in 1..=customers {
            let comes = f64::from(customers - there + 1) * ratio;
            let last = weights[weights.len() - 1];
            weights.push(last * comes / f64::from(there.min(servers)));
        }
        let solved = solve(&Network::of_equal_cores(ratio, servers, 1.0), customers).pop();
        let solved = solved.unwrap();
        let all: f64 = weights.iter().sum();
        let mean = |of: &dyn Fn(u32) -> u32| {
            let places = (0..).zip(&weights);
            places
                .map(|(there, weight)| f64::from(of(there)) * weight)
                .sum::<f64>()
                / all
        };
        let busy = mean(&|there| there.min(servers));
        close(solved.throughput, busy / ratio, "throughput");
        close(solved.stations[0].busy, busy, "busy servers");
        close(
            solved.stations[0].customers,
            mean(&|there| there),
            "customers there",
        );
    }
}

#[test]
fn the_busiest_core_is_never_outrun() {
    let cores = Network::of_stages(&[3.0, 0.0, 7.0, 5.0], 0.0);
    let solved = solve(&cores, 64);
    assert!(solved.iter().all(|of| of.throughput < 1.0 / 7.0));
    assert!(solved[63].throughput > 0.99 / 7.0);
}

#[test]
fn without_demand_there_is_no_throughput_to_speak_of() {
    assert_eq!(throughput(&Network::of_stages(&[0.0], 0.0), 2), 0.0);
    assert_eq!(throughput(&Network::default(), 1), 0.0);
    assert_eq!(throughput(&Network::of_stages(&[3.0], 0.0), 0), 0.0);
    // A customer that only thinks does not wait for others.
    assert_eq!(throughput(&Network::of_stages(&[0.0], 4.0), 2), 0.5);
}

#[test]
fn a_full_station_of_many_servers_keeps_its_digits() {
    // With 4000 customers, the probability that none of 64 servers is busy is below 1e-300.
    let network = Network {
        stations: vec![Station::new(64.0, 64), Station::new(0.5, 1)],
        think_time: 3.0,
    };
    let solved = solve(&network, 4000);
    assert!(solved.is_sorted_by(|a, b| a.throughput <= b.throughput * (1.0 + 1e-12)));
    close(solved[3999].throughput, 1.0, "the capacity");
}

/// A network of a few stations, and a number of customers.
fn networks(most_servers: u32) -> impl Strategy<Value = (Network, u32)> {
    let station = (0.01..10.0_f64, 1..=most_servers);
    let stations = prop::collection::vec(station, 1..5);
    (stations, prop_oneof![Just(0.0), 0.1..50.0_f64], 1..40_u32).prop_map(
        |(stations, think_time, customers)| {
            let stations = stations.into_iter();
            let stations = stations.map(|(demand, servers)| Station::new(demand, servers));
            let network = Network {
                stations: stations.collect(),
                think_time,
            };
            (network, customers)
        },
    )
}

/// Computes throughput by the convolution algorithm: J. P. Buzen, "Computational algorithms for
/// closed queueing networks with exponential servers", Communications of the ACM 16, 1973. The sums
/// over all ways to place n customers on the stations, G(n), give G(n - 1) / G(n).
fn by_convolution(network: &Network, customers: u32) -> f64 {
    let factors = |demand: f64, servers: u32| -> Vec<f64> {
        let mut factors = vec![1.0];
        for there in 1..=customers {
            let last = factors[factors.len() - 1];
            factors.push(last * demand / f64::from(there.min(servers)));
        }
        factors
    };
    let think = factors(network.think_time, customers);
    let stations = network.stations.iter();
    let ways = stations.map(|station| factors(station.demand, station.servers));
    let all = ways.fold(think, |before, own| {
        let (own, before) = (&own, &before);
        let of = |number: usize| -> f64 {
            (0..=number)
                .map(|there| own[there] * before[number - there])
                .sum()
        };
        (0..=customers as usize).map(of).collect()
    });
    all[customers as usize - 1] / all[customers as usize]
}

/// Computes tighter bounds for networks of stations with one server and positive demands. Consider
/// all networks with the same total demand and the same largest one. Those with equal demands are
/// fastest, and those with as many largest ones as fit are slowest (Zahorjan, Sevcik, Eager and
/// Galler, "Balanced job bound analysis of queueing networks", Communications of the ACM 25, 1982;
/// with think time as in Lazowska, Zahorjan, Graham and Sevcik, "Quantitative System Performance",
/// 1984, chapter 5).
fn balanced_jobs(network: &Network, customers: u32) -> Bounds {
    let number = f64::from(customers);
    let others = number - 1.0;
    let (demand, think_time) = (network.demand(), network.think_time);
    let demands = network.stations.iter().map(|station| station.demand);
    let largest = demands.fold(0.0, f64::max);
    let mean = demand / network.stations.len() as f64;
    let at_stations = demand + think_time;
    let slowest = others * largest / (1.0 + think_time / (number * demand));
    let fastest = others * mean / (1.0 + think_time / demand);
    Bounds {
        least: number / (at_stations + slowest),
        most: (number / (at_stations + fastest)).min(1.0 / largest),
    }
}

proptest! {
    #[test]
    fn mean_values_equal_the_convolution((network, customers) in networks(4)) {
        let found = throughput(&network, customers);
        let expected = by_convolution(&network, customers);
        prop_assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn more_customers_are_served_faster_and_within_the_bounds((network, most) in networks(4)) {
        let mut before = 0.0;
        for of in solve(&network, most) {
            prop_assert!(of.throughput >= before * (1.0 - 1e-12));
            before = of.throughput;
            let bounds = asymptotic(&network, of.customers);
            prop_assert!(bounds.least <= before * (1.0 + 1e-12));
            prop_assert!(before <= bounds.most * (1.0 + 1e-12));
        }
    }

    #[test]
    fn balanced_jobs_bound_it_more_tightly((network, customers) in networks(1)) {
        let found = throughput(&network, customers);
        let wide = asymptotic(&network, customers);
        let bounds = balanced_jobs(&network, customers);
        prop_assert!(bounds.least <= found * (1.0 + 1e-12) && found <= bounds.most * (1.0 + 1e-12));
        prop_assert!(wide.least <= bounds.least * (1.0 + 1e-12));
        prop_assert!(bounds.most <= wide.most * (1.0 + 1e-12));
    }

    #[test]
    fn everybody_is_somewhere((network, customers) in networks(3)) {
        let solved = solve(&network, customers).pop().unwrap();
        let there: f64 = solved.stations.iter().map(|of| of.customers).sum();
        let thinking = solved.throughput * network.think_time;
        prop_assert!((there + thinking - f64::from(customers)).abs() < 1e-9);
        for (of, station) in solved.stations.iter().zip(&network.stations) {
            prop_assert!(of.busy <= f64::from(station.servers) * (1.0 + 1e-9));
        }
    }
}
