//! Prints experiments as tables and returns them as JSON.

use crate::experiments::Experiment;
use crate::simulated::{Point, Rates, Way};
use crate::text::TEXT;
use serde_json::{Value, json};

/// Prints an experiment: rounds, cycles per round, and the server's utilization; `unit` is the
/// rounds'.
pub fn print(experiment: &Experiment, rates: &[Vec<Rates>], unit: &str) {
    let busy = |rates: &[Rates]| {
        let place = experiment.ways.iter().position(|&way| way == Way::Copying);
        place.map_or_else(String::new, |place| {
            format!("{:.0} %", rates[place].busy * 100.0)
        })
    };
    heading(
        experiment,
        [&format!("rounds {unit}"), "cycles a round"],
        "busy",
    );
    for (point, rates) in experiment.points.iter().zip(rates) {
        let rounds = cells(rates, |rates| format!("{:.1}", rates.rounds));
        let cycles = cells(rates, |rates| format!("{:.0}", rates.cycles_per_round));
        println!("{}{rounds}{cycles}{:>8}", place(point), busy(rates));
    }
    println!();
}

/// Prints cache effects per round: L1D misses, and lines that stores took from other cores.
pub fn counts(experiment: &Experiment, rates: &[Vec<Rates>]) {
    heading(
        experiment,
        ["L1D misses a round", "lines taken a round"],
        "",
    );
    for (point, rates) in experiment.points.iter().zip(rates) {
        let counted = |place: usize| {
            cells(rates, |rates| {
                rates
                    .counted
                    .map_or_else(String::new, |counts| format!("{:.1}", counts[place]))
            })
        };
        println!("{}{}{}", place(point), counted(0), counted(1));
    }
    println!();
}

/// Prints the experiment's name, the titles of two groups of columns, and the columns.
fn heading(experiment: &Experiment, groups: [&str; 2], last: &str) {
    let width = WIDTH * experiment.ways.len();
    let names = experiment
        .ways
        .iter()
        .map(|way| format!("{:>WIDTH$}", way.name()));
    let names: String = names.collect();
    let [first, second] = groups;
    println!("{:<38}{first:>width$}{second:>width$}", experiment.name);
    println!(
        "{:>7}{:>7}{:>8}{:>9}{:>7}{names}{names}{last:>8}",
        "threads", "local", "section", "modified", "bytes"
    );
}

const WIDTH: usize = 10;

fn cells(rates: &[Rates], shown: impl Fn(&Rates) -> String) -> String {
    rates
        .iter()
        .map(|rates| format!("{:>WIDTH$}", shown(rates)))
        .collect()
}

fn place(point: &Point) -> String {
    let Point {
        threads,
        local_lines,
        section_lines,
        modified_lines,
        message_bytes,
    } = point;
    format!("{threads:>7}{local_lines:>7}{section_lines:>8}{modified_lines:>9}{message_bytes:>7}")
}

/// Returns an experiment's points with the results of each way.
pub fn figures(experiment: &Experiment, rates: &[Vec<Rates>]) -> Value {
    let row = |(point, rates): (&Point, &Vec<Rates>)| {
        let mut row = json!({
            "threads": point.threads, "local_lines": point.local_lines,
            "section_lines": point.section_lines, "modified_lines": point.modified_lines,
            "message_bytes": point.message_bytes,
        });
        for (way, rates) in experiment.ways.iter().zip(rates) {
            row[way.name()] = json!({
                "rounds": rates.rounds, "cycles_per_round": rates.cycles_per_round,
                "busy": rates.busy, "l1d_misses_per_round": rates.counted.map(|of| of[0]),
                "lines_taken_per_round": rates.counted.map(|of| of[1]),
            });
        }
        row
    };
    experiment.points.iter().zip(rates).map(row).collect()
}

/// Prints the thesis's comparisons of a server with a lock, and the same from these rates: for a
/// server that copies messages, and for hops.
pub fn beside_text(experiments: &[Experiment], rates: &[Vec<Vec<Rates>>]) {
    println!(
        "{:<50}{:>8}{:>10}{:>10}",
        "server beside lock", "text", "copying", "hop"
    );
    for figure in &TEXT {
        let ours = [Way::Copying, Way::Hop].map(|way| {
            let ours = figure.of(way, experiments, rates);
            format!(
                "{:>10}",
                ours.map_or_else(|| "-".into(), |ours| format!("{ours:.2}"))
            )
        });
        println!("{:<50}{:>8}{}", figure.name, figure.told, ours.concat());
    }
    println!();
}
