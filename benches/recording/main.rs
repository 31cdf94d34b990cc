//! Cost of recording: CPU time of server and recorder per request, in seven modes.
//!
//! `make bench-record` runs it in full and prints a table, and one JSON object in the last line.
//!
//! The modes are:
//! - native;
//! - bare QEMU;
//! - QEMU with a plugin that does nothing for each access, the lower bound of any recorder that
//!   sees each access;
//! - recorded;
//! - recorded without eliding accesses that follow from others;
//! - with one request in a hundred recorded;
//! - under the recorder with no request selected.
//!
//! All modes run at the same time, and their loads alternate, so that other load on the machine
//! affects all of them and no start counts. The CPU's speed still varies, so ratios are computed
//! within a round. Wall time would depend more on the machine than on the recorder, which works in
//! parallel with the server. redis is also recorded with its kernel (`guest`, named redis-system).
//!
//! Without arguments, as under `cargo test`, redis and sqlite3 answer a few requests, to show that
//! it still works. `COREHOP_BENCH` selects one program to measure.

mod guest;
#[path = "../machine/mod.rs"]
mod machine;
#[path = "../mariadb/mod.rs"]
mod mariadb;
mod processes;
#[path = "../started/mod.rs"]
mod started;
mod subjects;

use processes::{Mode, Running, Spent, Tools};
use serde_json::{Map, Value};
use subjects::{Load, Mariadb, Redis, Sqlite, Subject};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const MODES: [Mode; 7] = [
    Mode::Native,
    Mode::Bare,
    Mode::Callbacks,
    Mode::Recording,
    Mode::NoElision,
    Mode::OneInHundred,
    Mode::NotChosen,
];

/// Slowdown of the paper whose method this follows (docs/internals/architecture.md), with one
/// thread under QEMU; and of DynamoRIO's recorder, measured once on a CPU-bound sqlite3 script.
const ELSEWHERE: &str = "more than 50x (Automatic Staged Computation), 37x (drmemtrace, sqlite3; \
    24x without its start)";

/// Cost of running a program in one mode.
struct Cost {
    mode: Mode,
    /// CPU time per request in microseconds, by round.
    samples_us: Vec<f64>,
    /// Medians of the rounds' ratios.
    to_bare: f64,
    to_native: f64,
}

/// A part of the cost of a recording: medians, in microseconds per request and relative to bare
/// QEMU.
struct Part {
    us: f64,
    to_bare: f64,
}

type Of = fn(&Spent) -> f64;

/// Parts of the cost of a recording; each later one is included in the previous one.
const PARTS: [(&str, Of); 3] = [
    ("server", |spent| spent.server_us),
    ("recorder", |spent| spent.recorder_us),
    ("coding", |spent| spent.coding_us),
];

/// Costs of one program.
struct Costs {
    /// In the order of [`MODES`].
    modes: Vec<Cost>,
    /// The parts of the recording's cost, in the order of [`PARTS`].
    parts: Vec<Part>,
    bytes_per_access: f64,
}

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let tools = Tools::find()?;
    let rounds = if is_whole { 5 } else { 1 };
    let mut figures = Map::new();
    println!("{}", machine::described());
    println!("CPU µs a request, median and least-most of {rounds}; medians of the rounds' ratios");
    let only = std::env::var("COREHOP_BENCH").ok();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("redis") {
        let requests = if is_whole { 40_000 } else { 200 };
        let subject = Redis { requests };
        figures.insert("redis".into(), measure(&subject, &tools, rounds)?);
    }
    if is_whole && wanted("mariadbd") {
        let subject = Mariadb::prepare(&tools, 30)?;
        figures.insert("mariadbd".into(), measure(&subject, &tools, rounds)?);
    }
    if wanted("sqlite3") {
        let statements = if is_whole { 100 } else { 5 };
        let subject = Sqlite { statements };
        figures.insert("sqlite3".into(), measure(&subject, &tools, rounds)?);
    }
    // Six starts of a machine take too long for a test.
    if is_whole && wanted("redis-system") || only.as_deref() == Some("redis-system") {
        let loads = match is_whole {
            true => guest::Loads {
                short: 10,
                long: 510,
            },
            false => guest::Loads { short: 5, long: 25 },
        };
        let rounds = if is_whole { 3 } else { 1 };
        if let Some(measured) = guest::measure(&tools, loads, rounds)? {
            figures.insert("redis_system".into(), measured);
        }
    }
    println!("\nOthers say of themselves, to native: {ELSEWHERE}");
    println!("\n{}", Value::Object(figures));
    Ok(())
}

fn measure(subject: &impl Subject, tools: &Tools, rounds: usize) -> Outcome<Value> {
    let costs = costs(subject, tools, rounds)?;
    let (mut figures, name) = (Map::new(), subject.name());
    println!("\n{name:<14}    median          least-most  to bare QEMU  to native");
    for cost in &costs.modes {
        let (mode, us) = (cost.mode.name(), median(&cost.samples_us));
        let least = cost.samples_us.iter().copied().fold(f64::MAX, f64::min);
        let most = cost.samples_us.iter().copied().fold(0.0, f64::max);
        let least_most = format!("{least:.1}-{most:.1}");
        let (to_bare, to_native) = (cost.to_bare, cost.to_native);
        println!("{mode:<14}{us:>10.1}{least_most:>20}{to_bare:>13.2}x{to_native:>10.1}x");
        let key = mode.to_lowercase().replace(' ', "_");
        figures.insert(format!("{key}_us"), us.into());
        figures.insert(format!("{key}_least_us"), least.into());
        figures.insert(format!("{key}_most_us"), most.into());
        figures.insert(format!("{key}_ratio"), to_bare.into());
        figures.insert(format!("{key}_to_native"), to_native.into());
    }
    for ((part, _), Part { us, to_bare }) in PARTS.iter().zip(&costs.parts) {
        println!("  of it {part:<8}{us:>8.1}{to_bare:>33.2}x");
        figures.insert(format!("{part}_us"), (*us).into());
        figures.insert(format!("{part}_ratio"), (*to_bare).into());
    }
    println!("{:<14}{:>10.3}", "bytes/access", costs.bytes_per_access);
    figures.insert("bytes_per_access".into(), costs.bytes_per_access.into());
    Ok(Value::Object(figures))
}

fn costs(subject: &impl Subject, tools: &Tools, rounds: usize) -> Outcome<Costs> {
    let folder = tempfile::Builder::new()
        .prefix("corehop-")
        .tempdir_in("/tmp")?;
    let mut running: Vec<(Running, _)> = Vec::new();
    for mode in MODES {
        let own = folder.path().join(format!("{mode:?}"));
        std::fs::create_dir(&own)?;
        let mut process = Running::start(subject, mode, tools, &own)?;
        let mut load = subject.load(&mut process)?;
        // After this, QEMU's translations and the program's caches are warm.
        load.drive()?;
        running.push((process, load));
    }
    let mut samples = vec![Vec::new(); MODES.len()];
    let mut recorded = Vec::new();
    for _ in 0..rounds {
        for ((process, load), samples) in running.iter_mut().zip(&mut samples) {
            let before = process.spent()?;
            let requests = load.drive()?;
            process.settle();
            let spent = process.spent()?.since(before, requests);
            samples.push(spent.server_us + spent.recorder_us);
            if process.mode() == Mode::Recording {
                recorded.push(spent);
            }
        }
    }
    let mut bytes_per_access = f64::NAN;
    for (process, load) in running {
        drop(load);
        if let Some(trace) = process.end()? {
            bytes_per_access = tools.bytes_per_access(&trace)?;
        }
    }
    let to = |mode: Mode, own: &[f64]| {
        let place = MODES.iter().position(|&other| other == mode);
        let others = &samples[place.expect("it is among them")];
        let ratios: Vec<f64> = own.iter().zip(others).map(|(own, to)| own / to).collect();
        median(&ratios)
    };
    let modes = MODES.iter().zip(&samples).map(|(&mode, own)| Cost {
        mode,
        samples_us: own.clone(),
        to_bare: to(Mode::Bare, own),
        to_native: to(Mode::Native, own),
    });
    let parts = PARTS.iter().map(|(_, part)| {
        let own: Vec<f64> = recorded.iter().map(part).collect();
        Part {
            us: median(&own),
            to_bare: to(Mode::Bare, &own),
        }
    });
    Ok(Costs {
        modes: modes.collect(),
        parts: parts.collect(),
        bytes_per_access,
    })
}

fn median(samples: &[f64]) -> f64 {
    let mut samples = samples.to_vec();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
