//! What recording costs: processor time of server and recorder for each request, four ways.
//!
//! `make bench-record` runs it whole: a table for people, and one JSON object in the last line.
//! Each program runs natively, under bare QEMU, recorded, and under the recorder with its requests
//! not chosen, all four at once, and is driven in turn: so what else the machine does falls on all
//! alike, and no start-up is counted. Its speed wavers still, so ratios are taken within a round.
//! Wall time would say more of the machine than of the recorder, which works beside the server.
//! Without arguments, as under `cargo test`, redis and sqlite3 answer a few requests, to show that
//! it still works. `COREHOP_BENCH` names the one program to measure.

mod processes;
mod subjects;

use processes::{Mode, Running, Tools};
use serde_json::{Map, Value, json};
use subjects::{Load, Mariadb, Redis, Sqlite, Subject};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const MODES: [Mode; 4] = [Mode::Native, Mode::Bare, Mode::Recording, Mode::NotChosen];

/// The paper whose method this follows (docs/architecture.md), of one thread under QEMU; and
/// DynamoRIO's recorder, measured once on a sqlite3 script that keeps a processor busy.
const ELSEWHERE: &str = "more than 50x (Automatic Staged Computation), 37x (drmemtrace, sqlite3; \
    24x without its start)";

/// What was found of one program, by mode.
struct Costs {
    /// Median of the rounds, in microseconds of processor time a request.
    medians_us: [f64; 4],
    /// Least and most.
    spreads_us: [(f64, f64); 4],
    /// By mode, the median of the rounds' ratios to native and to bare QEMU.
    ratios: [[f64; 2]; 4],
    /// The recorder's part of the recording.
    recorder_us: f64,
    bytes_per_access: f64,
}

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let tools = Tools::find()?;
    let rounds = if is_whole { 5 } else { 1 };
    let mut figures = Map::new();
    println!(
        "CPU µs a request, median (least-most) of {rounds}; median of the ratios to bare QEMU\n"
    );
    println!(
        "{:<10}{:>24}{:>24}{:>31}{:>31}{:>10}{:>16}",
        "", "native", "bare QEMU", "recording", "not chosen", "recorder", "bytes/access"
    );
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
    println!("\nOthers say of themselves, to native: {ELSEWHERE}");
    println!("\n{}", Value::Object(figures));
    Ok(())
}

fn measure(subject: &impl Subject, tools: &Tools, rounds: usize) -> Outcome<Value> {
    let costs = costs(subject, tools, rounds)?;
    let cell = |place: usize| {
        let (least, most) = costs.spreads_us[place];
        format!("{:.1} ({least:.1}-{most:.1})", costs.medians_us[place])
    };
    let with_ratio = |place: usize| format!("{} {:.2}x", cell(place), costs.ratios[place][1]);
    let to_native = |place: usize| format!("{:.1}x", costs.ratios[place][0]);
    println!(
        "{:<10}{:>24}{:>24}{:>31}{:>31}{:>10.1}{:>16.3}",
        subject.name(),
        cell(0),
        cell(1),
        with_ratio(2),
        with_ratio(3),
        costs.recorder_us,
        costs.bytes_per_access
    );
    println!(
        "{:<34}{:>24}{:>31}{:>31}",
        "  to native",
        to_native(1),
        to_native(2),
        to_native(3)
    );
    Ok(json!({
        "native_us": costs.medians_us[0],
        "bare_qemu_us": costs.medians_us[1],
        "recording_us": costs.medians_us[2],
        "recording_ratio": costs.ratios[2][1],
        "recorder_us": costs.recorder_us,
        "not_chosen_us": costs.medians_us[3],
        "not_chosen_ratio": costs.ratios[3][1],
        "bytes_per_access": costs.bytes_per_access,
    }))
}

fn costs(subject: &impl Subject, tools: &Tools, rounds: usize) -> Outcome<Costs> {
    let folder = tempfile::Builder::new()
        .prefix("corehop-")
        .tempdir_in("/tmp")?;
    let mut running: Vec<(Running, _)> = Vec::new();
    for mode in MODES {
        let own = folder.path().join(mode.name());
        std::fs::create_dir(&own)?;
        let mut process = Running::start(subject, mode, tools, &own)?;
        let mut load = subject.load(&mut process)?;
        // What QEMU translates is translated, and what the program caches is cached.
        load.drive()?;
        running.push((process, load));
    }
    let mut samples: [Vec<f64>; 4] = Default::default();
    let mut recorder = Vec::new();
    for _ in 0..rounds {
        for ((process, load), samples) in running.iter_mut().zip(&mut samples) {
            let before = process.cpu_us()?;
            let requests = load.drive()?;
            process.settle();
            let after = process.cpu_us()?;
            let spent =
                |part: fn(&[f64; 2]) -> f64| (part(&after) - part(&before)) / requests as f64;
            samples.push(spent(|cpu| cpu[0] + cpu[1]));
            if process.mode() == Mode::Recording {
                recorder.push(spent(|cpu| cpu[1]));
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
    // Taken first: medians sort the samples.
    let ratios = [0, 1, 2, 3].map(|mode| [0, 1].map(|to| ratio(&samples[mode], &samples[to])));
    Ok(Costs {
        ratios,
        medians_us: samples.each_mut().map(|samples| median(samples)),
        // Sorted by now.
        spreads_us: samples.each_ref().map(|own| (own[0], own[own.len() - 1])),
        recorder_us: median(&mut recorder),
        bytes_per_access,
    })
}

/// Median of the rounds' ratios.
fn ratio(samples: &[f64], to: &[f64]) -> f64 {
    let mut ratios: Vec<f64> = samples.iter().zip(to).map(|(own, to)| own / to).collect();
    median(&mut ratios)
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
