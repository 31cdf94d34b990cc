//! The three experiments of the thesis: their variables and constants.
//!
//! Srinivasan, "Improving Data Locality in Applications using Message Passing", chapter 3: figures
//! 3.5 (data displacement), 3.6 (data invalidation) and 3.7 (message size).

use crate::simulated::{Point, Way};

/// Points to measure and simulate in some ways.
pub struct Experiment {
    pub name: &'static str,
    pub ways: &'static [Way],
    pub points: Vec<Point>,
}

/// Bytes of a message that only contains the request.
const SHORT: u64 = 64;
const SERVED: [Way; 3] = [Way::Copying, Way::ZeroCopy, Way::Batched];

/// Returns the experiments of the thesis, for an L1D of 1024 lines.
pub fn of_text() -> Vec<Experiment> {
    let sections = [16, 32, 64, 128, 256, 512, 768, 960, 1024, 1536, 2048];
    all((10, 1024), &sections, (&[2, 4, 8, 12], 128), &[5, 9, 16])
}

/// Returns the experiments for two cores with an L1D of this many lines, and one thread each.
pub fn of_two_cores(l1d_lines: u64) -> Vec<Experiment> {
    let sections = [16, 64, 128, 256, 512, 768, 960, 1024, 1536].map(|of| of * l1d_lines / 1024);
    all((2, l1d_lines), &sections, (&[2], l1d_lines / 8), &[2])
}

/// Returns one small point of each experiment.
pub fn brief() -> Vec<Experiment> {
    let mut experiments = all((2, 64), &[8], (&[2], 8), &[2]);
    for experiment in &mut experiments {
        experiment.points.truncate(1);
    }
    experiments
}

fn all(
    (threads, l1d_lines): (u32, u64),
    sections: &[u64],
    (invalidating, section_lines): (&[u32], u64),
    sending: &[u32],
) -> Vec<Experiment> {
    let point = Point {
        threads,
        local_lines: 2 * l1d_lines,
        section_lines,
        modified_lines: 0,
        message_bytes: SHORT,
    };
    let displaced = sections.iter().map(|&section_lines| Point {
        section_lines,
        ..point
    });
    let eighths = [0, 1, 2, 4, 6, 8];
    let invalidated = invalidating.iter().flat_map(|&threads| {
        eighths.map(|eighths| Point {
            threads,
            modified_lines: section_lines * eighths / 8,
            ..point
        })
    });
    // With the thesis's local component, its server is busy; with a quarter of it, ours is.
    let sent = [point.local_lines, point.local_lines / 4].map(|local_lines| {
        let of = sending.iter().flat_map(move |&threads| {
            [64, 256, 1024, 4096].map(|message_bytes| Point {
                threads,
                local_lines,
                section_lines: 1,
                message_bytes,
                ..point
            })
        });
        of.collect::<Vec<_>>()
    });
    let experiment = |name, ways, points| Experiment { name, ways, points };
    vec![
        experiment("displacement", &Way::ALL[..], displaced.collect()),
        experiment("invalidation", &Way::ALL[..], invalidated.collect()),
        experiment("message size", &SERVED[..], sent.concat()),
    ]
}
