//! The native experiment: two threads that serve the sessions alternately, or a thread for each
//! session, whose phases migrate to two worker threads.

use crate::grid::Grid;
use crate::patched::{Outcome, Program, quartiles};
use crate::point::Point;
use crate::simulated;
use serde_json::{Value, json};

/// For this number of accesses, a phase walks once around its path.
const ONCE_AROUND: u32 = 0;
const WAYS: [(&str, Option<&str>); 2] = [("in-place", None), ("delegated", Some("carrier"))];

/// Measurements at a point.
pub struct Measured {
    /// Median accesses per second, in place and delegated.
    pub rates: [f64; 2],
    /// Lower quartile, median and upper quartile of the rounds' ratios.
    pub ratio: [f64; 3],
}

/// Measures all points, in rounds over all of them.
pub fn measure(
    program: &Program,
    grid: &Grid,
    rounds: usize,
    duration_ms: u32,
) -> Outcome<Vec<Measured>> {
    let points = grid.points();
    let mut rates = vec![Vec::new(); points.len()];
    for round in 0..rounds {
        for (point, rates) in points.iter().zip(&mut rates) {
            let mut of_round = [0.0; WAYS.len()];
            for turn in 0..WAYS.len() {
                let index = (round + turn) % WAYS.len();
                let (way, backend) = WAYS[index];
                let words = of(*point).words(way, lasting(*point, duration_ms), program);
                of_round[index] = program.run(backend, &words)?[0];
            }
            rates.push(of_round);
        }
    }
    let measured = rates.iter().map(|rounds| Measured {
        rates: [0, 1].map(|way| {
            let of_way: Vec<f64> = rounds.iter().map(|round| round[way]).collect();
            quartiles(&of_way)[1]
        }),
        ratio: {
            let ratios: Vec<f64> = rounds.iter().map(|round| round[1] / round[0]).collect();
            quartiles(&ratios)
        },
    });
    Ok(measured.collect())
}

/// Accesses count at the end of a turn, so a turn through much memory needs a longer run.
fn lasting(point: simulated::Point, duration_ms: u32) -> u32 {
    duration_ms + (point.working_set_kib / 32) as u32
}

fn of(point: simulated::Point) -> Point {
    Point {
        working_set_kib: (point.working_set_kib / 2) as u32,
        updates_percent: point.updates_percent,
        touches: ONCE_AROUND,
        sessions: simulated::SESSIONS as u32,
    }
}

/// Adds the measurements to the figures of the points.
pub fn add(figures: &mut Value, measured: &[Measured]) {
    let points = figures["points"].as_array_mut().into_iter().flatten();
    for (point, measured) in points.zip(measured) {
        point["measured"] = json!({
            "in_place_touches_per_s": measured.rates[0],
            "delegated_touches_per_s": measured.rates[1],
            "ratio": measured.ratio[1],
            "ratio_quarters": [measured.ratio[0], measured.ratio[2]],
        });
    }
}
