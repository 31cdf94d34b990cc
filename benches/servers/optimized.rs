//! How soon `corehop optimize` answers on real servers, and how often correctly.
//!
//! It uses eight loads. `make bench-servers` shows for each whether a split pays off, and
//! `make bench-syscalls` whether asynchronous system calls do. The whole command runs several times
//! for each load, from the recording to the answer, in a new folder each time. The table counts the
//! correct answers, and has the time from start to answer, the share of measuring, and the number
//! of rounds. An open answer is not correct. The command takes its load as a shell command, which
//! is this program: `--fill` and `--drive` with a load's name and a server's folder and port. Loads
//! run for a fixed time, so that all starts take as long, and with one request at a time under the
//! recorder.
//!
//! `COREHOP_BENCH` selects the loads (`redis-mixed,haproxy`), `COREHOP_RUNS` sets the number of
//! runs.

use crate::Outcome;
use crate::here::Here;
use crate::running::{self, Place, Running, Variant, Way, unprivileged};
use crate::server::{self, Load, Server};
use crate::{dnsmasq, haproxy, memcached, mixed, nginx, postgres, redis, tables};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Duration of a load, twice per start: a thousand requests or more of each server.
const DRIVEN: Duration = Duration::from_millis(500);
/// Timeout of a run that does not end by its own limits.
const LONGEST_RUN: Duration = Duration::from_secs(1200);
const RUNS: usize = 5;

/// A load and its expected answer.
struct Known {
    name: &'static str,
    server: Box<dyn Server>,
    is_gain: bool,
}

/// Returns all loads; loads of adjustable size are sized by this L2.
fn all(l2_bytes: u64) -> Vec<Known> {
    let known = |name, server, is_gain| Known {
        name,
        server,
        is_gain,
    };
    vec![
        known("redis", Box::new(redis::Redis::of(0.7, l2_bytes)), true),
        known("redis-mixed", Box::new(mixed::Mixed), false),
        known(
            "dnsmasq",
            Box::new(dnsmasq::Dnsmasq::of(0.7, l2_bytes)),
            true,
        ),
        known("nginx", Box::new(nginx::Nginx), false),
        known("haproxy", Box::new(haproxy::Haproxy), false),
        known("memcached", Box::new(memcached::Memcached), false),
        known(
            // A gain by asynchronous system calls; its two tables fit one L2, so no split pays off.
            "mariadbd",
            Box::new(tables::Tables::of(2, 0.2, l2_bytes)),
            true,
        ),
        known("postgres", Box::new(postgres::Postgres), false),
    ]
}

/// One run.
struct Run {
    answer: String,
    seconds: f64,
    figures: Value,
}

/// Measures the selected loads, or all; or one load briefly, to show that it works.
pub fn measure(here: &Here, is_whole: bool) -> Outcome<()> {
    println!("\nwhat `corehop optimize` answers; medians of the runs, times in seconds\n");
    println!(
        "{:<12}{:>10}{:>8}{:>8}{:>6}{:>10}{:>12}{:>8}{:>8}",
        "load", "expected", "right", "wrong", "open", "in all", "measuring", "rounds", "ratio"
    );
    let (mut rows, mut reasons) = (Vec::new(), Vec::new());
    for known in wanted(here, is_whole)? {
        let missing = server::unrecordable(&*known.server);
        let measured = match missing {
            Some(reason) => Err(reason.into()),
            None => runs(&known, is_whole),
        };
        match measured {
            Ok(runs) => {
                println!("{}", text(&known, &runs));
                let row = row(&known, &runs);
                // If the user interrupts the bench, the results so far have been printed.
                eprintln!("{row}");
                rows.push(row);
            }
            Err(error) if !is_whole => return Err(error),
            Err(error) => {
                let reason = error.to_string();
                reasons.push(format!("null: {}: {}", known.name, reason.trim()));
                rows.push(json!({"load": known.name, "runs": null, "reason": reason.trim()}));
            }
        }
    }
    println!();
    reasons.iter().for_each(|reason| println!("{reason}"));
    println!("{}\n{}", here.since(), json!({"optimized": rows}));
    Ok(())
}

fn wanted(here: &Here, is_whole: bool) -> Outcome<Vec<Known>> {
    let mut all = all(here.l2_bytes);
    if !is_whole {
        all.retain(|known| known.name == "redis-mixed");
        return Ok(all);
    }
    let Ok(names) = std::env::var("COREHOP_BENCH") else {
        return Ok(all);
    };
    let names: Vec<&str> = names.split(',').collect();
    let is_known = |name: &&&str| all.iter().any(|known| known.name == **name);
    if let Some(other) = names.iter().find(|name| !is_known(name)) {
        return Err(format!("COREHOP_BENCH: no load is called {other}").into());
    }
    all.retain(|known| names.contains(&known.name));
    Ok(all)
}

/// Returns the number of runs.
fn number_of_runs(is_whole: bool) -> Outcome<usize> {
    match std::env::var("COREHOP_RUNS") {
        Ok(wanted) => {
            let runs = wanted.parse().ok().filter(|&runs| runs > 0);
            Ok(runs.ok_or_else(|| format!("COREHOP_RUNS={wanted}: not a number of runs"))?)
        }
        Err(_) if is_whole => Ok(RUNS),
        Err(_) => Ok(1),
    }
}

fn runs(known: &Known, is_whole: bool) -> Outcome<Vec<Run>> {
    let folder = running::folder()?;
    let mut runs = Vec::new();
    for number in 0..number_of_runs(is_whole)? {
        let place = folder.path().join(format!("run-{number}"));
        let run = run(known, place.clone(), is_whole)?;
        eprintln!("{}: {} after {:.0} s", known.name, run.answer, run.seconds);
        runs.push(run);
        // The parent folder is removed later with anything that is left.
        let _ = std::fs::remove_dir_all(place);
    }
    Ok(runs)
}

/// Runs the command once in a folder of this name.
fn run(known: &Known, folder: PathBuf, is_whole: bool) -> Outcome<Run> {
    let way = Way::Hopping {
        variant: Variant::Original,
        plan: Path::new(""),
        cpus: &[],
    };
    let place = Place::make(&*known.server, &way, folder)?;
    let mut command = command(known, &place, is_whole)?;
    let said = place.folder.join("said");
    running::end_with_bench(&mut command);
    let begun = Instant::now();
    let mut child = command
        .current_dir(&place.folder)
        .stdin(Stdio::null())
        .stdout(File::create(place.folder.join("figures"))?)
        .stderr(File::create(&said)?)
        .spawn()?;
    let last = || {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(4)..].join("; ")
    };
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > LONGEST_RUN {
            crate::started::terminate(&child);
            child.wait()?;
            return Err(format!("no answer within {LONGEST_RUN:?}: {}", last()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let seconds = begun.elapsed().as_secs_f64();
    let figures = std::fs::read(place.folder.join("figures"))?;
    let figures: Value = serde_json::from_slice(&figures)
        .map_err(|_| format!("corehop optimize ended by {status}: {}", last()))?;
    let answer = figures["answer"].as_str().ok_or("no answer")?.to_owned();
    Ok(Run {
        answer,
        seconds,
        figures,
    })
}

/// Returns `corehop optimize` for a server in that folder.
fn command(known: &Known, place: &Place, is_whole: bool) -> Outcome<Command> {
    let server = &*known.server;
    let launch = server.lay_out(place)?;
    let words: &[&str] = match launch.refuses_root {
        true => unprivileged(),
        false => &[],
    };
    let mut words = words.iter().copied().chain([env!("CARGO_BIN_EXE_corehop")]);
    let mut command = Command::new(words.next().ok_or("no command")?);
    command.args(words);
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    let own = std::env::current_exe()?;
    let by_itself = |what: &str| {
        let (own, folder) = (own.display(), place.folder.display());
        format!("'{own}' --{what} {} '{folder}' {}", known.name, place.port)
    };
    let output = place.its_own().join("optimized");
    command
        .args(["optimize", "--json", "--output"])
        .arg(&output);
    let most = if is_whole { 60 } else { 12 };
    let requests = server.recorded_requests().min(most).to_string();
    command.args(["--request-at", server.request_at()]);
    command.args(["--requests", &requests, "--record-within", "180"]);
    command.args(["--memory-limit", "2048", "--time-limit", "180"]);
    command.args(["--prepare", &by_itself("fill")]);
    command.args(["--load", &by_itself("drive")]);
    command.args(["--throughput", "([0-9.]+) requests per second"]);
    if !is_whole {
        command.args(["--ignore-verdict", "--plans", "1", "--max-rounds", "2"]);
    }
    command.arg("--").args(&launch.command);
    Ok(command)
}

impl Run {
    fn is(&self, known: &Known) -> bool {
        self.answer == expected(known)
    }

    fn rounds(&self) -> f64 {
        self.figures["original"].as_array().map_or(0, Vec::len) as f64
    }

    /// Returns 0 if the replay alone has given the answer.
    fn measuring(&self) -> f64 {
        self.figures["measuring_seconds"].as_f64().unwrap_or(0.0)
    }

    fn json(&self) -> Value {
        json!({
            "answer": self.answer, "seconds": self.seconds,
            "measuring_seconds": self.measuring(), "rounds": self.rounds(),
            "ratio": self.figures["ratio"], "interval": self.figures["interval"],
            "why_not": self.figures["why_not"],
        })
    }
}

fn expected(known: &Known) -> &'static str {
    match known.is_gain {
        true => "gain",
        false => "no-gain",
    }
}

fn median(runs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Counts the runs that were correct, wrong, and without an answer.
fn counts(known: &Known, runs: &[Run]) -> [usize; 3] {
    let right = runs.iter().filter(|run| run.is(known)).count();
    let open = runs.iter().filter(|run| run.answer == "open").count();
    [right, runs.len() - right - open, open]
}

fn text(known: &Known, runs: &[Run]) -> String {
    let [right, wrong, open] = counts(known, runs);
    let (name, expected) = (known.name, expected(known));
    let right = format!("{right}/{}", runs.len());
    let (seconds, rounds) = (median(runs, |run| run.seconds), median(runs, Run::rounds));
    let measuring = median(runs, Run::measuring);
    let measured: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.figures["ratio"].as_f64())
        .collect();
    let ratio = match measured.len() {
        0 => "-".to_owned(),
        all => format!("{:.2}", measured.iter().sum::<f64>() / all as f64),
    };
    format!(
        "{name:<12}{expected:>10}{right:>8}{wrong:>8}{open:>6}{seconds:>10.0}{measuring:>12.0}\
         {rounds:>8}{ratio:>8}"
    )
}

fn row(known: &Known, runs: &[Run]) -> Value {
    let [right, wrong, open] = counts(known, runs);
    json!({
        "load": known.name, "server": known.server.name(), "expected": expected(known),
        "right": right, "wrong": wrong, "open": open,
        "seconds": median(runs, |run| run.seconds),
        "measuring_seconds": median(runs, Run::measuring),
        "rounds": median(runs, Run::rounds),
        "runs": runs.iter().map(Run::json).collect::<Value>(),
    })
}

/// Fills or drives a server that `corehop optimize` has started, if the command line requests it.
pub fn is_load() -> Outcome<bool> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, name, folder, port] = &words[..] else {
        return Ok(false);
    };
    if what != "--fill" && what != "--drive" {
        return Ok(false);
    }
    let known = all(Here::look()?.l2_bytes);
    let known = known.into_iter().find(|known| known.name == name);
    let server = known.ok_or_else(|| format!("no load {name}"))?.server;
    let mut running = Running::at(folder.into(), port.parse()?);
    match what == "--fill" {
        true => server.fill(&mut running)?,
        false => {
            let mut load = server.connect(&mut running, 1)?;
            println!("{:.3} requests per second", driven(&mut *load)?);
        }
    }
    Ok(true)
}

fn driven(load: &mut dyn Load) -> Outcome<f64> {
    let (mut requests, mut seconds) = (0, 0.0);
    while seconds < DRIVEN.as_secs_f64() {
        let batch = load.batch()?;
        requests += batch.requests;
        seconds += batch.seconds;
    }
    Ok(requests as f64 / seconds)
}
