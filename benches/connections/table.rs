//! Prints the recordings and simulations as tables.
//!
//! Simulated figures are those of the unmodified server (`free`), and the changes by the other
//! schedulers in percent, with the published changes in the lines below.

use crate::client::Client;
use crate::published::{
    CONTROL_PERCENT, CORES, HOP_CYCLES, MACHINE, MEAN_MISSES_PERCENT, MEAN_THROUGHPUT_PERCENT,
    THROUGHPUT_PERCENT,
};
use crate::recordings::Recording;
use crate::simulated::Simulated;
use crate::timed::Timed;

/// The scheduler that the others are compared with.
const BASELINE: &str = "free";
/// Names of the published control and splits here.
const CONTROL: &str = "pinned";
const SPLIT: &str = "split";

/// One of the two figures.
struct Figure {
    /// Heading of the first column, with its width.
    name: &'static str,
    title: &'static str,
    of: fn(&Timed, f64) -> f64,
    published: Vec<Published>,
}

/// Published changes, in percent.
struct Published {
    /// `None` for the mean over all.
    connections: Option<u32>,
    split: Option<f64>,
    control: Option<f64>,
}

/// Prints the contents of each recording.
pub fn print_recordings(recordings: &[Recording]) {
    if recordings.is_empty() {
        return;
    }
    println!("\nrecorded: mariadbd under TPC-C, by connections of the load\n");
    println!(
        "{:>5}{:>10}{:>16}{:>15}{:>12}{:>13}{:>16}{:>10}{:>12}",
        "conns",
        "requests",
        "of each",
        "accesses",
        "bytes",
        "bytes/access",
        "L2 misses each",
        "seconds",
        "told apart"
    );
    for recording in recordings {
        let each = &recording.requests_of_each;
        let spread = match (each.first(), each.last()) {
            (Some(least), Some(most)) => format!("{least}-{most}"),
            _ => "-".into(),
        };
        let is_told_apart = if recording.is_told_apart { "yes" } else { "no" };
        println!(
            "{:>5}{:>10}{spread:>16}{:>15}{:>12}{:>13.3}{:>16.1}{:>10.1}{is_told_apart:>12}",
            recording.connections,
            recording.requests,
            recording.accesses,
            recording.bytes,
            recording.bytes as f64 / recording.accesses.max(1) as f64,
            recording.l2_misses,
            recording.seconds,
        );
    }
}

/// Prints the client's times, or why they are unknown.
pub fn print_client(client: &Result<Client, String>) {
    match client {
        Ok(client) => println!(
            "\nthe client thinks {:.1} µs between an answer and its next statement, and {:.1} µs \
             of a CPU a statement go to it and to the kernel; a transaction has {:.1} statements",
            client.think_us, client.outside_us, client.statements
        ),
        Err(reason) => println!(
            "\nthe client is not measured, so connections think no time and a transaction counts \
             as one statement: {reason}"
        ),
    }
}

/// Prints both figures, and the first one for other hop costs and clients.
pub fn print_simulated(simulated: &Simulated, statements: f64) {
    let [control_throughput, control_misses] = CONTROL_PERCENT;
    let mut throughput: Vec<Published> = THROUGHPUT_PERCENT
        .into_iter()
        .map(|(connections, percent)| Published {
            connections: Some(connections),
            split: Some(percent),
            control: (connections == 1).then_some(control_throughput),
        })
        .collect();
    throughput.push(mean(MEAN_THROUGHPUT_PERCENT));
    let control = Published {
        connections: Some(1),
        split: None,
        control: Some(control_misses),
    };
    let figures = [
        Figure {
            name: "throughput on",
            title: "transactions in a million cycles",
            of: |timed, statements| timed.throughput / statements,
            published: throughput,
        },
        Figure {
            name: "L2 misses on",
            title: "L2 misses a transaction",
            of: |timed, statements| timed.l2_misses * statements,
            published: vec![control, mean(MEAN_MISSES_PERCENT)],
        },
    ];
    println!("\nsimulated: {MACHINE}, {CORES} cores");
    println!("a hop costs {HOP_CYCLES} cycles, where nothing else is said");
    for figure in &figures {
        figure.print(&simulated.usual, statements);
    }
    print_variations(simulated);
    let mut all = simulated.usual.iter();
    let split = all.find(|timed| timed.connections == 1 && timed.scheduler == SPLIT);
    if let Some(split) = split {
        let percent = split.busiest * 100.0;
        println!("\nthe split's busiest core has {percent:.0} % of a connection's cycles");
    }
}

/// Prints the split's effect on throughput with more expensive hops, longer think times, or
/// overlapping misses.
fn print_variations(simulated: &Simulated) {
    println!("\nthroughput of {SPLIT} against {BASELINE}, by cycles of a hop and of thinking,");
    println!("and by core model\n");
    print!("{:<16}{:>14}", "variations of", format!("hop {HOP_CYCLES}"));
    for variation in &simulated.variations {
        print!("{:>14}", variation.name);
    }
    println!();
    let others = simulated.variations.iter().map(|other| &other.found);
    let all: Vec<&Vec<Timed>> = [&simulated.usual].into_iter().chain(others).collect();
    let most = simulated.usual.iter().map(|timed| timed.connections).max();
    for connections in 1..=most.unwrap_or(0) {
        print!("{:<16}", connected(connections));
        for found in &all {
            let throughput = |scheduler: &str| {
                let mut all = found.iter();
                let timed = all.find(|t| t.connections == connections && t.scheduler == scheduler);
                timed.map(|timed| timed.throughput)
            };
            let change = throughput(SPLIT).zip(throughput(BASELINE));
            let change = change.map(|(own, baseline)| (own / baseline - 1.0) * 100.0);
            print!("{:>14}", percent(change));
        }
        println!();
    }
}

fn mean(split: f64) -> Published {
    Published {
        connections: None,
        split: Some(split),
        control: None,
    }
}

impl Figure {
    fn print(&self, found: &[Timed], statements: f64) {
        let mut schedulers: Vec<&str> = Vec::new();
        for timed in found {
            if !schedulers.contains(&&*timed.scheduler) {
                schedulers.push(&timed.scheduler);
            }
        }
        schedulers.retain(|&scheduler| scheduler != BASELINE);
        println!("\n{}; changes against {BASELINE}\n", self.title);
        print!("{:<16}{BASELINE:>12}", self.name);
        for scheduler in &schedulers {
            print!("{scheduler:>16}");
        }
        println!();
        let value = |number: u32, scheduler: &str| {
            let mut all = found.iter();
            let timed = all.find(|t| t.connections == number && t.scheduler == scheduler);
            timed.map(|timed| (self.of)(timed, statements))
        };
        let most = found.iter().map(|timed| timed.connections).max();
        let numbers = 1..=most.unwrap_or(0);
        let mut sums = vec![(0.0, 0); schedulers.len()];
        for number in numbers {
            let baseline = value(number, BASELINE);
            print!(
                "{:<16}{:>12}",
                connected(number),
                or_dash(baseline.map(|b| format!("{b:.3}")))
            );
            for (scheduler, sum) in schedulers.iter().zip(&mut sums) {
                let change = value(number, scheduler).zip(baseline);
                let change = change.map(|(own, baseline)| (own / baseline - 1.0) * 100.0);
                if let Some(change) = change {
                    *sum = (sum.0 + change, sum.1 + 1);
                }
                print!("{:>16}", percent(change));
            }
            println!();
        }
        print!("{:<16}{:>12}", "mean", "");
        for (sum, count) in sums {
            print!(
                "{:>16}",
                percent((count > 0).then(|| sum / f64::from(count)))
            );
        }
        println!();
        self.print_published(&schedulers);
    }

    fn print_published(&self, schedulers: &[&str]) {
        for told in &self.published {
            let name = told
                .connections
                .map(|number| format!("text: {}", connected(number)));
            let name = name.unwrap_or_else(|| "text: mean".into());
            print!("{name:<16}{:>12}", "");
            for &scheduler in schedulers {
                let change = match scheduler {
                    SPLIT => told.split,
                    CONTROL => told.control,
                    _ => None,
                };
                print!("{:>16}", percent(change));
            }
            println!();
        }
    }
}

fn connected(number: u32) -> String {
    format!("{number} conn.")
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

fn percent(change: Option<f64>) -> String {
    or_dash(change.map(|change| format!("{change:+.1} %")))
}
