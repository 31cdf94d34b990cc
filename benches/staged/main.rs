//! Times sessions that run two phases in place, against phases delegated to a core each.
//!
//! `make bench-staged` runs it whole: tables for people, a picture, and one JSON object in the last
//! line. The program is `benches/programs/staged.c`, after Curto's Accesstest; the carrier and
//! affinity backends are held against two plain threads on the same two cores, never against one
//! core. Ratios are also given for equal processor time, since what else the machine does takes
//! more from two threads than from many. Beside them stands what the simulator says of the same
//! paths. Without arguments, as under `cargo test`, one small point is measured, to show that it
//! works.

mod chart;
#[path = "../patched/mod.rs"]
mod patched;
mod simulated;
mod verified;

use clap::Parser;
use corehop_plans::Mode;
use patched::{Outcome, Program, quartiles};
use serde_json::json;
use std::path::PathBuf;

/// Times sessions that run two phases in place, against phases delegated to a core each
#[derive(Parser)]
struct Arguments {
    /// Measure a range of working sets, touches and update ratios around the point named
    #[arg(long)]
    whole: bool,
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

/// Where the experiment is made: what the program and the simulator are told.
#[derive(Clone, Copy, PartialEq)]
pub struct Point {
    working_set_kib: u32,
    updates_percent: f64,
    touches: u32,
    sessions: u32,
}

/// Touches a second: in place, carrier, affinity.
type Rates = [f64; 3];

/// What was found at a point.
struct Found {
    point: Point,
    measured: Rates,
    /// Which share of the two CPUs each got, as other work left it.
    shares: Rates,
    /// `None` on a machine whose caches the kernel does not describe.
    predicted: Option<Rates>,
}

const WAYS: [(&str, Option<&str>); 3] = [
    ("in-place", None),
    ("delegated", Some("carrier")),
    ("delegated", Some("affinity")),
];

const WORKING_SETS_KIB: [u32; 9] = [16, 64, 128, 256, 350, 500, 700, 1000, 2000];

impl Point {
    /// The program's arguments.
    fn words(&self, way: &str, last: u32, program: &Program) -> Vec<String> {
        let [a, b] = program.processors;
        let updates = self.updates_percent / 100.0;
        let numbers = [self.touches, self.sessions, last, 1, a as u32, b as u32];
        let head = [
            way.into(),
            self.working_set_kib.to_string(),
            updates.to_string(),
        ];
        head.into_iter()
            .chain(numbers.map(|n| n.to_string()))
            .collect()
    }
}

fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    let point = Point {
        working_set_kib: arguments.working_set,
        updates_percent: arguments.updates,
        touches: arguments.touches,
        sessions: arguments.sessions,
    };
    let program = Program::build("staged", ["first_phase", "second_phase"], Mode::Enter)?;
    let [first, second] = program.processors;
    if first == second {
        println!("this machine has one CPU, so no phase can have one of its own");
        println!("{}", json!({"carrier_ratio": null, "affinity_ratio": null}));
        return Ok(());
    }
    let rounds = if arguments.whole { 5 } else { 1 };
    let duration_ms = if arguments.whole { 150 } else { 20 };
    let points = match arguments.whole {
        true => around(point),
        false => vec![point],
    };
    println!(
        "CPUs {first} and {second}, {} sessions; medians of {rounds} rounds in turn",
        { point.sessions }
    );
    println!("million touches a second; ratios to two plain threads on the same cores\n");
    println!(
        "{:>53}{:>18}{:>18}{:>18}",
        "", "ratio", "in equal time", "predicted"
    );
    let head = ["in place", "carrier", "affinity"].map(|word| format!("{word:>10}"));
    let ratios = ["carrier", "affinity"].map(|word| format!("{word:>9}"));
    let ratios = ratios.concat().repeat(3);
    println!(
        "{:>6}{:>8}{:>9}{}{ratios}",
        "KiB",
        "updates",
        "touches",
        head.concat()
    );
    let mut found = Vec::new();
    for point in points {
        found.push(measure(&program, point, rounds, duration_ms)?);
        row(&found[found.len() - 1]);
    }
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
    let mut figures = figures(&found);
    figures["verified"] = verified::tell(&program, 2 * rounds, duration_ms)?;
    println!("\n{figures}");
    Ok(())
}

/// The point and those that differ from it in one respect.
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

/// Ways take turns, so that what else the machine does falls on all alike.
fn measure(program: &Program, point: Point, rounds: u32, duration_ms: u32) -> Outcome<Found> {
    let mut rates = [const { Vec::new() }; 3];
    let mut shares = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for (index, (way, backend)) in WAYS.iter().enumerate() {
            let printed = program.run(*backend, &point.words(way, duration_ms, program))?;
            rates[index].push(printed[0]);
            shares[index].push(printed[1]);
        }
    }
    Ok(Found {
        point,
        measured: rates.map(|rates| quartiles(&rates)[1]),
        shares: shares.map(|shares| quartiles(&shares)[1]),
        predicted: simulated::rates(program, point)?,
    })
}

fn row(found: &Found) {
    let Point {
        working_set_kib,
        updates_percent,
        touches,
        ..
    } = found.point;
    let rates = found.measured.map(|rate| format!("{:>10.1}", rate / 1e6));
    let ratios = [
        Some(found.measured),
        Some(found.in_equal_time()),
        found.predicted,
    ];
    let ratios = ratios.map(|rates| rates.map(ratios_of).unwrap_or_default());
    let point = format!("{working_set_kib:>6}{updates_percent:>7}%{touches:>9}");
    println!("{point}{}{}", rates.concat(), ratios.concat());
}

impl Found {
    /// Touches in a second of both CPUs' time.
    fn in_equal_time(&self) -> Rates {
        std::array::from_fn(|index| self.measured[index] / self.shares[index].max(0.01))
    }
}

fn ratios_of(rates: Rates) -> String {
    ratios(rates).map(|ratio| format!("{ratio:>9.2}")).concat()
}

/// Carrier and affinity, against in place.
fn ratios([in_place, carrier, affinity]: Rates) -> [f64; 2] {
    [carrier / in_place, affinity / in_place]
}

/// The first point is the one that was named.
fn figures(found: &[Found]) -> serde_json::Value {
    let points = found.iter().map(|f| {
        let [carrier, affinity] = ratios(f.measured);
        let predicted = f.predicted.map(ratios);
        json!({
            "working_set_kib": f.point.working_set_kib, "updates_percent": f.point.updates_percent,
            "touches": f.point.touches, "sessions": f.point.sessions,
            "in_place_touches_per_s": f.measured[0], "carrier_touches_per_s": f.measured[1],
            "affinity_touches_per_s": f.measured[2], "carrier_ratio": carrier,
            "cpu_shares": f.shares,
            "carrier_ratio_in_equal_time": ratios(f.in_equal_time())[0],
            "affinity_ratio_in_equal_time": ratios(f.in_equal_time())[1],
            "affinity_ratio": affinity, "predicted_carrier_ratio": predicted.map(|p| p[0]),
            "predicted_affinity_ratio": predicted.map(|p| p[1]),
        })
    });
    let points: Vec<_> = points.collect();
    let mut figures = points[0].clone();
    figures["points"] = points.into();
    figures
}
