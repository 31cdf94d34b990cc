//! Times sessions that run two phases in place, compared with phases delegated to one core each.
//!
//! `make bench-staged` runs it in full. It prints tables, draws a picture, and prints one JSON
//! object in the last line. The program is `benches/programs/staged.c`, after Curto's Accesstest.
//! The carrier and affinity backends are compared with two plain threads on the same two cores,
//! never with one core. Ratios are also given for equal CPU time, because other load on the machine
//! takes more from two threads than from many. The simulator's results for the same paths are next
//! to them. A second table has a single session, whose worker threads must wait. Without arguments,
//! as under `cargo test`, one small point is measured, to show that it works. Rejected: one point
//! after the other, each of which is then measured in different minutes.

mod chart;
#[allow(dead_code)] // Rounds are forgotten by benches/truth alone.
mod found;
#[path = "../patched/mod.rs"]
mod patched;
mod point;
mod simulated;
mod table;
mod verified;
mod waiting;

use clap::Parser;
use found::Found;
use patched::Outcome;
use point::Point;
use serde_json::json;
use std::path::PathBuf;

/// Times sessions that run two phases in place, against phases delegated to a core each
#[derive(Parser)]
struct Arguments {
    /// Measure a range of working sets, touches and update ratios around the point named
    #[arg(long)]
    whole: bool,
    /// Measure nothing but one session alone, in phases of a microsecond to ten milliseconds
    #[arg(long)]
    one_session: bool,
    /// Working set of one phase, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 700)]
    working_set: u32,
    /// Share of the touches that write, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0)]
    updates: f64,
    /// Touches of a session in one phase
    #[arg(long, value_name = "COUNT", default_value_t = 5000)]
    touches: u32,
    /// Sessions; delegated, each is a thread
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    sessions: u32,
    /// Where to draw throughput by working set
    #[arg(long, value_name = "FILE", default_value = "target/staged.svg")]
    picture: PathBuf,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

const WORKING_SETS_KIB: [u32; 9] = [16, 64, 128, 256, 350, 500, 700, 1000, 2000];

fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    let point = Point {
        working_set_kib: arguments.working_set,
        updates_percent: arguments.updates,
        touches: arguments.touches,
        sessions: arguments.sessions,
    };
    let program = patched::build("staged", ["first_phase", "second_phase"])?;
    let [first, second] = program.processors;
    if first == second {
        println!("this machine has one CPU, so no phase can have one of its own");
        println!("{}", json!({"carrier_ratio": null, "affinity_ratio": null}));
        return Ok(());
    }
    if arguments.one_session {
        let figures = waiting::tell(&program, 15, 300)?;
        println!("\n{}", json!({"one_session": figures}));
        return Ok(());
    }
    let (points, rounds, duration_ms) = match arguments.whole {
        true => (around(point), 31, 150),
        false => (vec![point], 1, 20),
    };
    let mut found = Vec::new();
    for point in points {
        found.push(Found::predicted(&program, point)?);
    }
    // A round covers all points, so that a slow minute of the host affects all of them.
    for round in 0..rounds {
        for point in &mut found {
            point.measure(&program, round, duration_ms)?;
        }
    }
    println!(
        "CPUs {first} and {second}, {} sessions; medians of {rounds} rounds through all points",
        point.sessions
    );
    table::print(&found);
    if arguments.whole {
        let line: Vec<&Found> = found
            .iter()
            .filter(|f| f.point.touches == point.touches)
            .filter(|f| f.point.updates_percent == point.updates_percent)
            .collect();
        std::fs::write(&arguments.picture, chart::draw(&line))?;
        println!(
            "\n{}: throughput by working set",
            arguments.picture.display()
        );
    }
    let mut figures = table::figures(&found);
    let turns = if arguments.whole { 20 } else { 2 };
    figures["one_session"] = waiting::tell(&program, rounds.min(15), 2 * duration_ms)?;
    figures["verified"] = verified::tell(&program, turns, duration_ms)?;
    println!("\n{figures}");
    Ok(())
}

/// Returns the point and those that differ from it in one parameter.
fn around(point: Point) -> Vec<Point> {
    let mut points = vec![point];
    points.extend([100, 300, 1000].map(|touches| Point { touches, ..point }));
    points.extend([0.0, 1.0, 100.0].map(|updates_percent| Point {
        updates_percent,
        ..point
    }));
    let sizes = WORKING_SETS_KIB
        .into_iter()
        .filter(|&kib| kib != point.working_set_kib);
    points.extend(sizes.map(|working_set_kib| Point {
        working_set_kib,
        ..point
    }));
    points
}
