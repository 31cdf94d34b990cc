//! Times hops and hooks of a patched program, compared with the operations that they replace.
//!
//! `make bench-hop` runs it in full and prints a table, and one JSON object in the last line. The
//! program is `crates/measure/programs/hop.c`. Its trials alternate, round by round, so that other
//! load on the machine affects all of them, and a row has the samples of all rounds. Without
//! arguments, as under `cargo test`, each trial runs once and briefly, to show that it still works.

mod machine;
mod patched;

use corehop_plan::Mode;
use patched::{Outcome, Program, quartiles};
use serde_json::json;

/// A row of the table: title, key, backend or none, and the program's arguments.
struct Trial {
    title: &'static str,
    key: &'static str,
    backend: Option<&'static str>,
    words: Vec<String>,
    /// The plan's entry for first_core().
    first: First,
    values: Vec<f64>,
}

/// Destination of first_core(), and how long a thread stays there.
#[derive(Clone, Copy)]
enum First {
    /// Core 0, permanently.
    Stays,
    /// Core 0, for the call.
    GoesBack,
    /// The core of the object that is its argument.
    ByArgument,
}

impl Trial {
    fn new(
        title: &'static str,
        key: &'static str,
        backend: Option<&'static str>,
        words: &[&dyn ToString],
    ) -> Trial {
        Trial {
            title,
            key,
            backend,
            words: words.iter().map(|word| word.to_string()).collect(),
            first: First::Stays,
            values: Vec::new(),
        }
    }

    fn with(self, first: First) -> Trial {
        Trial { first, ..self }
    }
}

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let (rounds, samples, duration_ms) = if is_whole { (9, 4000, 300) } else { (1, 20, 5) };
    let program = Program::hop(Mode::Enter)?;
    let returning = Program::hop(Mode::Call)?;
    let of_objects = Program::hop_by_argument()?;
    let [first, second] = program.processors;
    if first == second {
        println!("this machine has one CPU, so nothing can hop");
        println!("{}", figures(&[]));
        return Ok(());
    }
    let mut trials = one_thread(samples, [first, second]);
    trials.extend(going_back(samples));
    trials.extend(by_argument(samples));
    let single = trials.len();
    trials.extend(many_threads(duration_ms));
    for _ in 0..rounds {
        for trial in &mut trials {
            let program = match trial.first {
                First::Stays => &program,
                First::GoesBack => &returning,
                First::ByArgument => &of_objects,
            };
            let values = match trial.key {
                "parked_hop_ns" => {
                    let waits = [("COREHOP_SPIN_US", "50")];
                    program.run_in(&waits, trial.backend, &trial.words)?
                }
                _ => program.run(trial.backend, &trial.words)?,
            };
            assert!(!values.is_empty(), "{} printed nothing", trial.title);
            trial.values.extend(values);
        }
    }
    println!("{}", machine::described());
    println!("CPUs {first} and {second}, {rounds} rounds in turn; quartiles of all samples\n");
    println!(
        "{:<44}{:>12}{:>12}{:>12}",
        "ns", "quarter", "median", "quarter"
    );
    trials[..single].iter().for_each(|trial| row(trial, 1));
    println!(
        "\n{:<44}{:>12}{:>12}{:>12}",
        "hops a second", "quarter", "median", "quarter"
    );
    trials[single..].iter().for_each(|trial| row(trial, 0));
    let figures = figures(&trials);
    print_figures(&figures);
    println!("\n{figures}");
    Ok(())
}

/// Prints the figures that follow from the medians.
fn print_figures(figures: &serde_json::Value) {
    let figure = |key: &str| figures[key].as_f64().unwrap_or(f64::NAN);
    println!("\n{:<56}{:>12}", "of these medians", "figure");
    let rows = [
        (
            "sched_setaffinity to a hop to a carrier that spins",
            figure("affinity_to_hop"),
            0,
        ),
        (
            "ns a hook adds to a call on the right core",
            figure("hook_ns"),
            1,
        ),
        ("ns one at its return adds", figure("return_hook_ns"), 1),
        (
            "ns one by argument adds where the thread stays",
            figure("object_hook_ns"),
            1,
        ),
    ];
    for (title, figure, decimals) in rows {
        println!("{title:<56}{figure:>12.decimals$}");
    }
}

fn one_thread(samples: u32, processors: [usize; 2]) -> Vec<Trial> {
    let [a, b] = processors;
    let (few, some) = (samples / 10, samples / 4);
    let carrier = Some("carrier");
    vec![
        Trial::new(
            "a word from core to core",
            "word_ns",
            None,
            &[&"word", &samples, &a, &b],
        ),
        Trial::new(
            "hop, carrier spins",
            "carrier_hop_ns",
            carrier,
            &[&"hop", &samples],
        ),
        Trial::new(
            "hop, carrier parked",
            "parked_hop_ns",
            carrier,
            &[&"parked", &few],
        ),
        Trial::new(
            "hop, affinity",
            "affinity_hop_ns",
            Some("affinity"),
            &[&"hop", &some],
        ),
        Trial::new(
            "sched_setaffinity",
            "sched_setaffinity_ns",
            None,
            &[&"setaffinity", &some, &a, &b],
        ),
        Trial::new("call, not patched", "call_ns", None, &[&"call", &samples]),
        Trial::new(
            "call, off",
            "off_call_ns",
            Some("off"),
            &[&"call", &samples],
        ),
        Trial::new(
            "call, count",
            "count_call_ns",
            Some("count"),
            &[&"call", &samples],
        ),
        Trial::new(
            "call on the right core, affinity",
            "affinity_call_ns",
            Some("affinity"),
            &[&"call", &samples],
        ),
        Trial::new(
            "call on the right core, carrier",
            "carrier_call_ns",
            carrier,
            &[&"call", &samples],
        ),
    ]
}

/// Trials in which first_core() moves the thread only for its call.
fn going_back(samples: u32) -> Vec<Trial> {
    let row = |title, key, word: &str| {
        Trial::new(title, key, Some("carrier"), &[&word, &samples]).with(First::GoesBack)
    };
    vec![
        row(
            "call and return on the right core, carrier",
            "carrier_return_ns",
            "call",
        ),
        row(
            "hop for a call, one way, carrier spins",
            "carrier_hop_back_ns",
            "hop",
        ),
    ]
}

/// Trials in which the destination of first_core() depends on its argument.
fn by_argument(samples: u32) -> Vec<Trial> {
    let row = |title, key, word: &str| {
        Trial::new(title, key, Some("carrier"), &[&word, &samples]).with(First::ByArgument)
    };
    vec![
        row(
            "call about an object here, carrier",
            "carrier_object_ns",
            "call",
        ),
        row(
            "hop to an object, carrier spins",
            "carrier_hop_to_object_ns",
            "hop",
        ),
    ]
}

fn many_threads(duration_ms: u32) -> Vec<Trial> {
    let row = |title, key, backend, threads: u32| {
        Trial::new(
            title,
            key,
            Some(backend),
            &[&"many", &1, &threads, &duration_ms],
        )
    };
    vec![
        row("carrier, 1 thread", "carrier_hops_per_s_1", "carrier", 1),
        row("carrier, 4 threads", "carrier_hops_per_s_4", "carrier", 4),
        row(
            "carrier, 100 threads",
            "carrier_hops_per_s_100",
            "carrier",
            100,
        ),
        row("affinity, 1 thread", "affinity_hops_per_s_1", "affinity", 1),
        row(
            "affinity, 4 threads",
            "affinity_hops_per_s_4",
            "affinity",
            4,
        ),
        row(
            "affinity, 100 threads",
            "affinity_hops_per_s_100",
            "affinity",
            100,
        ),
    ]
}

fn row(trial: &Trial, decimals: usize) {
    let [low, median, high] = quartiles(&trial.values);
    println!(
        "{:<44}{low:>12.decimals$}{median:>12.decimals$}{high:>12.decimals$}",
        trial.title
    );
}

/// Returns medians and quartiles by key; null for missing measurements.
fn figures(trials: &[Trial]) -> serde_json::Value {
    let mut figures = json!({
        "carrier_hop_ns": null, "affinity_hop_ns": null, "parked_hop_ns": null, "hook_ns": null,
        "return_hook_ns": null, "object_hook_ns": null, "affinity_to_hop": null, "quartiles": {},
    });
    for trial in trials {
        let quartiles = quartiles(&trial.values);
        figures[trial.key] = json!(quartiles[1]);
        figures["quartiles"][trial.key] = json!(quartiles);
    }
    let figure = |key: &str| figures[key].as_f64();
    let (affinity, hop) = (figure("sched_setaffinity_ns"), figure("carrier_hop_ns"));
    let (hooked, plain) = (figure("carrier_call_ns"), figure("call_ns"));
    let returning = figure("carrier_return_ns");
    if let (Some(about), Some(plain)) = (figure("carrier_object_ns"), plain) {
        figures["object_hook_ns"] = json!(about - plain);
    }
    if let (Some(affinity), Some(hop)) = (affinity, hop) {
        figures["affinity_to_hop"] = json!(affinity / hop);
    }
    if let (Some(hooked), Some(plain), Some(returning)) = (hooked, plain, returning) {
        figures["hook_ns"] = json!(hooked - plain);
        figures["return_hook_ns"] = json!(returning - hooked);
    }
    figures
}
