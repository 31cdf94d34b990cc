//! A single session, in phases of a microsecond to ten milliseconds: how worker threads should
//! wait.
//!
//! With many sessions, each core always has one to run. With a single one, each core waits during
//! the other's phase, and its way of waiting decides. A sleeping worker must be woken for every
//! hop, and on a virtual machine, its CPU may lose its caches. So the default worker is compared
//! with one that spins for at most 50 us. The baseline is a thread that runs both phases in place
//! on the first core, because one session cannot use two. A phase has seven tenths of an L2, so
//! both together do not fit.

use crate::patched::{Outcome, Program, quartiles};
use crate::point::Point;
use corehop_simulator::Machine;
use serde_json::{Value, json};

/// Accesses of the session in a phase; one takes some nanoseconds.
const TOUCHES: [u32; 7] = [100, 1000, 10_000, 35_000, 100_000, 500_000, 1_000_000];
const SHORT_US: &str = "50";
/// One way to run the session.
struct Way {
    way: &'static str,
    backend: Option<&'static str>,
    variables: &'static [(&'static str, &'static str)],
}

impl Way {
    const fn hopping(
        backend: &'static str,
        variables: &'static [(&'static str, &'static str)],
    ) -> Way {
        Way {
            way: "delegated",
            backend: Some(backend),
            variables,
        }
    }
}

/// In place, carrier, carrier that spins for [`SHORT_US`], affinity.
const WAYS: [Way; 4] = [
    Way {
        way: "in-place",
        backend: None,
        variables: &[],
    },
    Way::hopping("carrier", &[]),
    Way::hopping("carrier", &[("COREHOP_SPIN_US", SHORT_US)]),
    Way::hopping("affinity", &[]),
];
/// L2 size if the kernel does not report it.
const USUAL_L2_KIB: u32 = 1024;

/// Measures all points alternately, prints a table and returns its figures.
pub fn tell(program: &Program, rounds: usize, duration_ms: u32) -> Outcome<Value> {
    let host = Machine::named_or_path("host");
    let l2_kib = host.map_or(USUAL_L2_KIB, |host| (host.l2.size_bytes / 1024) as u32);
    let working_set_kib = l2_kib * 7 / 10;
    let touches = if rounds > 1 {
        &TOUCHES[..]
    } else {
        &TOUCHES[..1]
    };
    let points = touches.iter().map(|&touches| Point {
        working_set_kib,
        updates_percent: 0.0,
        touches,
        sessions: 1,
    });
    let points: Vec<Point> = points.collect();
    let mut rates = vec![Vec::new(); points.len()];
    for round in 0..rounds {
        for (point, rates) in points.iter().zip(&mut rates) {
            let mut of_round = [0.0; WAYS.len()];
            for turn in 0..WAYS.len() {
                let index = (round + turn) % WAYS.len();
                let of = &WAYS[index];
                let words = point.words(of.way, duration_ms, program);
                of_round[index] = program.run_in(of.variables, of.backend, &words)?[0];
            }
            rates.push(of_round);
        }
    }
    println!(
        "\none session, {working_set_kib} KiB a phase; ratios to one thread that runs both phases, \
         medians and quarters of {rounds} rounds\n"
    );
    println!(
        "{:>9}{:>10}{:>18}{:>18}{:>18}",
        "touches",
        "phase us",
        "carrier",
        format!("waits {SHORT_US} us"),
        "affinity"
    );
    let figures: Vec<Value> = points.iter().zip(&rates).map(|(p, r)| row(p, r)).collect();
    Ok(json!({"working_set_kib": working_set_kib, "points": figures}))
}

/// Prints a point, and returns its figures.
fn row(point: &Point, rates: &[[f64; WAYS.len()]]) -> Value {
    let in_place: Vec<f64> = rates.iter().map(|round| round[0]).collect();
    let phase_us = f64::from(point.touches) / quartiles(&in_place)[1] * 1e6;
    let ratios = [1, 2, 3].map(|way| {
        let ratios: Vec<f64> = rates.iter().map(|round| round[way] / round[0]).collect();
        quartiles(&ratios)
    });
    let shown = ratios.map(|[low, median, high]| {
        let ratio = format!("{median:.2} ({low:.2}-{high:.2})");
        format!("{ratio:>18}")
    });
    println!("{:>9}{phase_us:>10.1}{}", point.touches, shown.concat());
    json!({
        "touches": point.touches, "phase_us": phase_us,
        "carrier_ratio": ratios[0][1], "carrier_ratio_quarters": [ratios[0][0], ratios[0][2]],
        "spin_50_us_ratio": ratios[1][1], "spin_50_us_ratio_quarters": [ratios[1][0], ratios[1][2]],
        "affinity_ratio": ratios[2][1], "affinity_ratio_quarters": [ratios[2][0], ratios[2][2]],
    })
}
