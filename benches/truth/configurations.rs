//! The configurations of the staged benchmark: every axis crossed with the most important one.
//!
//! The gain of a split depends on a phase's working set relative to an L2, so each other axis is
//! varied at working sets below, near and above it.

use crate::point::Point;

/// Working set of a phase, in L2s.
const WORKING_SETS: [f64; 10] = [0.01, 0.06, 0.12, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0];
/// Working sets at which the other axes are varied.
const CROSSED: [f64; 3] = [0.12, 0.7, 1.4];
const UPDATES_PERCENT: [f64; 3] = [0.0, 1.0, 100.0];
const TOUCHES: [u32; 3] = [300, 1000, 20_000];
const SESSIONS: [u32; 3] = [2, 4, 32];

/// Returns all 37 of them for an L2 of this many KiB: enough that no three decide the overall
/// result.
pub fn all(l2_kib: u64) -> Vec<Point> {
    let mut points: Vec<Point> = WORKING_SETS.map(|share| at(share, l2_kib)).into();
    for share in CROSSED {
        let middle = at(share, l2_kib);
        points.extend(UPDATES_PERCENT.map(|updates_percent| Point {
            updates_percent,
            ..middle
        }));
        points.extend(TOUCHES.map(|touches| Point { touches, ..middle }));
        points.extend(SESSIONS.map(|sessions| Point { sessions, ..middle }));
    }
    points
}

/// Returns two, to show that it works.
pub fn few() -> Vec<Point> {
    [0.12, 0.7].map(|share| at(share, 1024)).into()
}

/// Returns the point around which the others with this working set vary.
fn at(share_of_l2: f64, l2_kib: u64) -> Point {
    Point {
        working_set_kib: (share_of_l2 * l2_kib as f64) as u32,
        updates_percent: 10.0,
        touches: 5000,
        sessions: 8,
    }
}

/// Returns a name that identifies a configuration.
pub fn name(point: &Point, backend: &str) -> String {
    let Point {
        working_set_kib,
        updates_percent,
        touches,
        sessions,
    } = point;
    format!("{working_set_kib} KiB, {updates_percent} % updates, {touches} x {sessions}, {backend}")
}
