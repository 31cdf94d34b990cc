//! Times replays of one trace, in all ways side by side in one run, and prints one JSON object.
//!
//! `make bench-replay` runs this (scripts/bench/replay.py) and compares other simulators with
//! it:
//!
//!     cargo bench --bench replay -- TRACE PLAN REPEATS
//!     cargo bench --bench replay -- --connections REPEATS
//!
//! The second command uses the bundled sample of four connections, which needs no recording. Every
//! figure is the median of some repetitions. They alternate, so that other load on the host affects
//! all of them. Without arguments, as under `cargo test`, it runs once on a few requests of the
//! bundled sample, to show that it still works. Memory is measured in a separate process: this
//! program runs itself with `--memory`.

mod machine;
#[path = "replay/of_connections.rs"]
mod of_connections;
#[path = "../simulator/tests/oracle/mod.rs"]
mod oracle;

use corehop_simulator::core_model::InOrder;
use corehop_simulator::timing::Streams;
use corehop_simulator::{
    CoreId, Machine, Prepared, Replay, ReplayOptions, Replayer, Setting, Split, replay, replay_all,
};
use corehop_traces::{Access, FunctionId, RequestId, Trace};
use of_connections::Effort;
use oracle::Oracle;
use rayon::ThreadPool;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Input of the replays: a trace of a server, and a split from a plan.
struct Subject {
    path: PathBuf,
    trace: Trace,
    machine: Machine,
    split: Split,
    functions: Vec<FunctionId>,
    repeats: usize,
    requests: Option<Vec<RequestId>>,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--memory", "connections"] => grown(of_connections::replay_sample),
        ["--memory", what, trace, plan] => {
            let subject = Subject::new(trace, plan, 1)?;
            grown(|| replayed(what, &subject))
        }
        ["--connections", repeats, ..] => {
            let repeats = repeats.parse()?;
            let requests = None;
            let mut figures = of_connections::of_sample(Effort { repeats, requests })?;
            let bytes = memory_of(&["connections"])?;
            figures.insert("bytes_per_access_connections".into(), bytes);
            println!("{}", Value::Object(figures));
            Ok(())
        }
        [trace, plan, repeats, ..] if !trace.starts_with("--") => {
            let mut figures = measure(&Subject::new(trace, plan, repeats.parse()?)?)?;
            for what in ["first", "prepared"] {
                let bytes = memory_of(&[what, trace, plan])?;
                figures.insert(format!("bytes_per_access_{what}"), bytes);
            }
            println!("{}", Value::Object(figures));
            Ok(())
        }
        _ => {
            let mut subject = Subject::of_sample()?;
            subject.requests = Some((0..3).map(RequestId).collect());
            let mut figures = measure(&subject)?;
            figures.extend(of_connections::of_sample(subject.effort())?);
            println!("{}", Value::Object(figures));
            Ok(())
        }
    }
}

impl Subject {
    fn new(trace: &str, plan: &str, repeats: usize) -> Outcome<Subject> {
        let path = PathBuf::from(trace);
        let trace = Trace::open(&path)?;
        let plan = corehop_plan::read(Path::new(plan))?;
        let split = Split::from_plan(&plan, trace.modules(), trace.functions())?;
        Ok(Subject {
            functions: split.functions().collect(),
            machine: Machine::named_or_path(&plan.machine)?,
            path,
            trace,
            split,
            repeats,
            requests: None,
        })
    }

    /// Returns the bundled sample, split at a function that it enters often.
    fn of_sample() -> Outcome<Subject> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces/samples/mariadb-tpcc.trace");
        let trace = Trace::open(&path)?;
        Ok(Subject {
            functions: [0, 1].map(FunctionId).into(),
            machine: Machine::named_or_path("xeon-e5-2620-v4")?,
            path,
            trace,
            split: Split::new([(FunctionId(0), CoreId(1)), (FunctionId(1), CoreId(0))]),
            repeats: 1,
            requests: None,
        })
    }

    fn options(&self) -> ReplayOptions<'_> {
        ReplayOptions {
            requests: self.requests.clone(),
            ..ReplayOptions::default()
        }
    }

    fn effort(&self) -> Effort {
        Effort {
            repeats: self.repeats,
            requests: self.requests.as_ref().map(|some| some.len() as u64),
        }
    }

    fn prepare(&self, machines: &[&Machine]) -> Outcome<Prepared> {
        let options = self.options();
        Ok(Prepared::new(
            &self.trace,
            machines,
            &self.functions,
            &options,
        )?)
    }
}

/// One timed way to replay.
struct Way<'a> {
    name: &'static str,
    run: Box<dyn Fn() -> Outcome<Replay> + 'a>,
    seconds: Vec<f64>,
}

fn measure(subject: &Subject) -> Outcome<Map<String, Value>> {
    let [one, two] = [pool(1)?, pool(2)?];
    let prepared = subject.prepare(&[&subject.machine])?;
    let first = |pool: &ThreadPool| {
        pool.install(|| {
            let trace = Trace::open(&subject.path)?;
            let options = subject.options();
            Ok(replay(&trace, &subject.machine, &subject.split, &options)?)
        })
    };
    let engine =
        |pool: &ThreadPool| pool.install(|| Ok(prepared.replay(&subject.machine, &subject.split)?));
    let way = |name, run| Way {
        name,
        run,
        seconds: Vec::new(),
    };
    let mut ways = [
        way(
            "first_1",
            Box::new(|| first(&one)) as Box<dyn Fn() -> Outcome<Replay>>,
        ),
        way("first_2", Box::new(|| first(&two))),
        way("engine_1", Box::new(|| engine(&one))),
        way("engine_2", Box::new(|| engine(&two))),
        way("sequential", Box::new(|| sequential(subject))),
    ];
    let expected = first(&one)?;
    for _ in 0..subject.repeats {
        for way in &mut ways {
            let begun = Instant::now();
            let replay = (way.run)()?;
            way.seconds.push(begun.elapsed().as_secs_f64());
            assert_eq!(
                replay.per_core, expected.per_core,
                "{} counts differently",
                way.name
            );
        }
    }
    let accesses = expected.accesses as f64;
    let mut figures = Map::new();
    figures.insert("accesses".into(), json!(expected.accesses));
    figures.insert("host".into(), json!(machine::described()));
    figures.insert("hops".into(), json!(expected.hops));
    figures.insert(
        "l1_misses".into(),
        json!(expected.counters.l1i.misses() + expected.counters.l1d.misses()),
    );
    figures.insert("l2_misses".into(), json!(expected.counters.l2.misses()));
    for way in ways {
        let rate = accesses / median(way.seconds) / 1e6;
        figures.insert(format!("{}_maccess_per_s", way.name), json!(rate));
    }
    let rate = naive(subject, &expected)?;
    figures.insert("oracle_maccess_per_s".into(), json!(rate));
    figures.insert("timed_maccess_per_s".into(), json!(with_time(subject)?));
    figures.extend(machines_at_once(subject)?);
    figures.extend(growth(subject)?);
    Ok(figures)
}

fn pool(threads: usize) -> Outcome<ThreadPool> {
    Ok(rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Replays with the plain loop, access by access, in the recorded order.
fn sequential(subject: &Subject) -> Outcome<Replay> {
    let mut replayer = Replayer::new(&subject.machine, &subject.split)?;
    let mut executions = match &subject.requests {
        Some(requests) => subject.trace.executions_of(requests),
        None => subject.trace.executions(),
    };
    while let Some(execution) = executions.next()? {
        replayer.execute(&execution);
    }
    Ok(replayer.finish())
}

/// Maximum accesses for the oracle, which is slow and needs them in memory.
const ORACLE_ACCESSES: usize = 8 << 20;

/// Returns the rate of the tests' oracle, without reading the trace.
fn naive(subject: &Subject, expected: &Replay) -> Outcome<f64> {
    let cores = subject.split.cores();
    let mut accesses: Vec<(usize, Access)> = Vec::new();
    let mut replayer = Replayer::new(&subject.machine, &subject.split)?;
    let mut executions = match &subject.requests {
        Some(requests) => subject.trace.executions_of(requests),
        None => subject.trace.executions(),
    };
    while let Some(execution) = executions.next()?
        && accesses.len() < ORACLE_ACCESSES
    {
        let core = replayer.execute(&execution).index();
        accesses.extend(execution.accesses.iter().map(|&access| (core, access)));
    }
    let begun = Instant::now();
    let mut oracle = Oracle::new(&subject.machine, cores);
    for &(core, access) in &accesses {
        oracle.reference(
            core,
            access.kind,
            access.address,
            u64::from(access.size_bytes),
        );
    }
    let seconds = begun.elapsed().as_secs_f64();
    let touched: u64 = oracle.counters().iter().map(|core| core.accesses()).sum();
    assert!(touched <= expected.accesses);
    Ok(touched as f64 / seconds / 1e6)
}

/// Returns the rate of the timed replay.
fn with_time(subject: &Subject) -> Outcome<f64> {
    let streams = Streams::new(&subject.trace, &[&subject.split])?;
    let of = (&subject.machine, Some(&subject.split));
    of_connections::rate(&streams, of, subject.effort(), InOrder::new)
}

/// Returns the time of three machines in one pass relative to three passes.
fn machines_at_once(subject: &Subject) -> Outcome<Map<String, Value>> {
    let names = ["xeon-e5-2620-v4", "xeon-8480", "epyc-9004"];
    let machines: Vec<Machine> = names
        .iter()
        .map(|name| Machine::named_or_path(name))
        .collect::<Result<_, _>>()?;
    let setting = |machine| Setting {
        machine,
        split: &subject.split,
    };
    let settings: Vec<Setting<'_>> = machines.iter().map(setting).collect();
    let (mut together, mut apart) = (Vec::new(), Vec::new());
    for _ in 0..subject.repeats {
        let begun = Instant::now();
        let at_once = replay_all(&subject.trace, &settings, &subject.options())?;
        together.push(begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        for (setting, expected) in settings.iter().zip(&at_once) {
            let alone = replay_all(&subject.trace, &[*setting], &subject.options())?;
            assert_eq!(alone[0], *expected, "{}", setting.machine.name);
        }
        apart.push(begun.elapsed().as_secs_f64());
    }
    let mut figures = Map::new();
    figures.insert("three_machines_at_once_s".into(), json!(median(together)));
    figures.insert("three_machines_apart_s".into(), json!(median(apart)));
    Ok(figures)
}

/// Returns the seconds for a sixteenth, a quarter and all of the requests, each replayed once from
/// the file.
fn growth(subject: &Subject) -> Outcome<Map<String, Value>> {
    let all = match &subject.requests {
        Some(requests) => requests.len(),
        None => subject.trace.requests().len(),
    } as u32;
    let mut rows = Vec::new();
    for part in [16, 4, 1] {
        let options = ReplayOptions {
            requests: Some((0..(all / part).max(1)).map(RequestId).collect()),
            ..ReplayOptions::default()
        };
        let mut seconds = Vec::new();
        let mut accesses = 0;
        for _ in 0..subject.repeats {
            let begun = Instant::now();
            let replay = replay(&subject.trace, &subject.machine, &subject.split, &options)?;
            seconds.push(begun.elapsed().as_secs_f64());
            accesses = replay.accesses;
        }
        let seconds = median(seconds);
        rows.push(json!({"accesses": accesses, "seconds": seconds}));
    }
    Ok(Map::from_iter([("growth".to_owned(), Value::Array(rows))]))
}

/// Runs a replay, which returns its accesses, and prints the growth of this process's peak memory
/// in bytes per access.
fn grown(replay: impl FnOnce() -> Outcome<u64>) -> Outcome<()> {
    let before = peak_bytes()?;
    let accesses = replay()?;
    let grown = peak_bytes()? - before;
    println!("{}", grown as f64 / accesses as f64);
    Ok(())
}

fn replayed(what: &str, subject: &Subject) -> Outcome<u64> {
    let Subject { machine, split, .. } = subject;
    let replay = match what {
        "prepared" => subject.prepare(&[machine])?.replay(machine, split)?,
        _ => replay(&subject.trace, machine, split, &subject.options())?,
    };
    Ok(replay.accesses)
}

/// Returns the output of this program, run separately for its memory.
fn memory_of(replay: &[&str]) -> Outcome<Value> {
    let program = std::env::current_exe()?;
    let mut command = std::process::Command::new(program);
    let output = command.arg("--memory").args(replay).output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(json!(text.trim().parse::<f64>()?))
}

/// Returns this process's peak memory, as the kernel reports it.
fn peak_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.ok_or("no VmHWM in /proc/self/status")?;
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes << 10)
}
