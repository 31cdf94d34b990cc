//! Compares core models with measured times, for dependent and for independent misses: redis walks
//! a skip list, and intersects two sets.
//!
//! `make bench-core-model` runs it in full and prints a table, and one JSON object in the last
//! line. A walk loads each node's address from the previous node. An intersection looks up each
//! element of one set in the other, independently of the previous element. Each is timed natively,
//! with members that fit the L2 and with members that do not. It is then recorded, and all models
//! simulate its third request on `--machine host`. All figures are nanoseconds per member, by the
//! core's clock as `corehop calibrate` measures it. Without arguments, as under `cargo test`, a few
//! members show that it still works.

mod started;

use corehop_simulator::Machine;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use started::PATIENCE;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A request to redis.
struct Work {
    name: &'static str,
    /// Command that fills the two keys, and whether a score precedes each member.
    add: &'static str,
    is_scored: bool,
    request_at: &'static str,
    /// The request, for this many members.
    ask: fn(usize) -> String,
}

const WORKS: [Work; 2] = [
    Work {
        name: "skip list",
        add: "ZADD",
        is_scored: true,
        request_at: "zrangebylexCommand",
        ask: |members| format!("ZRANGEBYLEX one - + LIMIT {} 10\r\n", members - 10),
    },
    Work {
        name: "intersection",
        add: "SADD",
        is_scored: false,
        request_at: "sinterCardCommand",
        ask: |_| "SINTERCARD 2 one other\r\n".into(),
    },
];

const MODELS: [&str; 3] = ["in-order", "interval", "window"];

/// Bytes per node of a skip list: most have 48, some more.
const BYTES_A_MEMBER: u64 = 52;
/// Size of a list's nodes as a share of the L2.
const SIZES: [f64; 2] = [0.25, 4.0];
/// Members per adding command.
const ADDED_AT_ONCE: usize = 500;
/// Number of requests; the last one is simulated.
const RECORDED: usize = 3;

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let host = Machine::named_or_path("host").or_else(|_| Machine::named_or_path("xeon-8480"))?;
    let of_l2 = |size| (size * (host.l2.size_bytes / BYTES_A_MEMBER) as f64) as usize;
    let (sizes, rounds, requests) = match is_whole {
        true => (SIZES.map(of_l2).to_vec(), 15, 20),
        false => (vec![300], 2, 3),
    };
    corehop_measure::calibration::warm_up();
    let ghz = corehop_measure::calibration::core_ghz();
    println!(
        "ns a member, at {ghz:.2} GHz, L2 {} KiB\n",
        host.l2.size_bytes / 1024
    );
    println!("work            members    native  in-order  interval    window  L2 misses a member");
    let mut figures = Vec::new();
    for work in &WORKS {
        for &members in &sizes {
            let native_ns = native_ns(work, members, rounds, requests)?;
            let simulated = simulated(work, members, ghz)?;
            let [in_order, interval, window] = simulated.ns;
            println!(
                "{:<15}{members:>8}{native_ns:>10.1}{in_order:>10.1}{interval:>10.1}{window:>10.1}\
                 {:>20.2}",
                work.name, simulated.l2_misses
            );
            figures.push(json!({
                "work": work.name,
                "members": members,
                "native_ns": native_ns,
                "in_order_ns": in_order,
                "interval_ns": interval,
                "window_ns": window,
                "l2_misses": simulated.l2_misses,
            }));
        }
    }
    println!("\n{}", json!({ "ghz": ghz, "rows": figures }));
    Ok(())
}

/// A redis-server in its own folder, native or recorded. It is ended when dropped.
struct Redis {
    child: Child,
    folder: tempfile::TempDir,
    stream: TcpStream,
}

impl Redis {
    fn start(recorder: Option<(Command, &Work)>) -> Outcome<Redis> {
        let folder = tempfile::tempdir()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        drop(listener);
        let mut command = match recorder {
            None => Command::new("redis-server"),
            Some((mut command, work)) => {
                let requests = RECORDED.to_string();
                command.arg("record").arg("-o").arg(trace_in(folder.path()));
                command.args(["--request-at", work.request_at, "--requests", &requests]);
                command.args(["--", "redis-server"]);
                command
            }
        };
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.args(["--port", &port.to_string()]);
        let into = |name| std::fs::File::create(folder.path().join(name));
        command.stdin(Stdio::null());
        command.stdout(into("stdout")?).stderr(into("stderr")?);
        let mut child = command.current_dir(folder.path()).spawn()?;
        let dial = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok();
        let Some(stream) = started::wait_for(&mut child, dial)? else {
            let said = std::fs::read_to_string(folder.path().join("stderr"))?;
            return Err(format!("redis-server does not answer:\n{said}").into());
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Redis {
            child,
            folder,
            stream,
        })
    }

    /// Adds the same members to both keys in different orders, so that neighbors in a list or a
    /// table are not neighbors in memory.
    fn fill(&mut self, work: &Work, members: usize) -> Outcome<()> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for key in ["one", "other"] {
            let mut all: Vec<usize> = (0..members).collect();
            all.shuffle(&mut random);
            for some in all.chunks(ADDED_AT_ONCE) {
                let mut command = format!("{} {key}", work.add);
                for member in some {
                    command += if work.is_scored { " 0" } else { "" };
                    command += &format!(" member:{member:08}");
                }
                let added = format!(":{}\r\n", some.len());
                self.stream.write_all((command + "\r\n").as_bytes())?;
                let mut answer = vec![0; added.len()];
                self.stream.read_exact(&mut answer)?;
                if answer != added.as_bytes() {
                    let answer = String::from_utf8_lossy(&answer);
                    return Err(format!("redis answered {answer:?} to {}", work.add).into());
                }
            }
        }
        Ok(())
    }

    /// Sends one request and returns the length of its answer.
    fn ask(&mut self, work: &Work, members: usize) -> Outcome<usize> {
        self.stream.write_all((work.ask)(members).as_bytes())?;
        let mut answer = Vec::new();
        let mut part = [0; 4096];
        let is_whole = |answer: &[u8]| {
            let lines = answer.iter().filter(|&&byte| byte == b'\n').count();
            // Ten members with two lines each after their count, or a number.
            answer.ends_with(b"\n") && lines == if work.is_scored { 21 } else { 1 }
        };
        while !is_whole(&answer) {
            let length = self.stream.read(&mut part)?;
            answer.extend(&part[..length]);
            if length == 0 || answer[0] == b'-' {
                let answer = String::from_utf8_lossy(&answer);
                return Err(format!("redis answered {answer:?}").into());
            }
        }
        Ok(answer.len())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        started::terminate(&self.child);
        let _ = self.child.wait();
    }
}

fn trace_in(folder: &Path) -> PathBuf {
    folder.join("trace")
}

/// Returns the median of this many rounds of requests that are sent together.
fn native_ns(work: &Work, members: usize, rounds: usize, requests: usize) -> Outcome<f64> {
    let mut redis = Redis::start(None)?;
    redis.fill(work, members)?;
    let length = redis.ask(work, members)?;
    let asked = (work.ask)(members).repeat(requests);
    let mut answers = vec![0; length * requests];
    let mut seconds = Vec::new();
    for _ in 0..=rounds {
        let begun = Instant::now();
        redis.stream.write_all(asked.as_bytes())?;
        redis.stream.read_exact(&mut answers)?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    // The first round warms up.
    seconds.remove(0);
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2] * 1e9 / (requests * members) as f64)
}

struct Simulated {
    /// By model.
    ns: [f64; MODELS.len()],
    /// Misses per member.
    l2_misses: f64,
}

fn simulated(work: &Work, members: usize, ghz: f64) -> Outcome<Simulated> {
    let corehop = Path::new(env!("CARGO_BIN_EXE_corehop"));
    build_plugin()?;
    let mut redis = Redis::start(Some((Command::new(corehop), work)))?;
    redis.fill(work, members)?;
    for _ in 0..RECORDED {
        redis.ask(work, members)?;
    }
    // One more request ends the last one, after which the recorder ends the server, answered or
    // not.
    redis.stream.write_all((work.ask)(members).as_bytes())?;
    let status = redis.child.wait()?;
    let trace = trace_in(redis.folder.path());
    if !trace.exists() {
        let said = std::fs::read_to_string(redis.folder.path().join("stderr"))?;
        return Err(format!("no trace was written: {status}\n{said}").into());
    }
    let mut l2_misses = 0.0;
    let mut ns = [0.0; MODELS.len()];
    for (model, ns) in MODELS.into_iter().zip(&mut ns) {
        let said = replay(corehop, &trace, model)?;
        let [setting] = &said["settings"].as_array().ok_or("no settings")?[..] else {
            return Err("one setting was asked for".into());
        };
        let number = |key: &str| setting[key].as_f64().ok_or("a figure is missing");
        *ns = number("elapsed_cycles")? / members as f64 / ghz;
        l2_misses = number("l2_misses")? / members as f64;
        assert!(*ns > 0.0 && said["dependences"] == true);
    }
    Ok(Simulated { ns, l2_misses })
}

/// Builds the plugin next to the command. A release build carries it.
fn build_plugin() -> Outcome<()> {
    if !cfg!(debug_assertions) {
        return Ok(());
    }
    let mut build = Command::new(env!("CARGO"));
    // With the features that `cargo test --workspace` uses.
    build.args(["build", "--quiet", "--locked", "--workspace", "--lib"]);
    build.args(["--bench", "core_model"]);
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    match build.status()?.success() {
        true => Ok(()),
        false => Err("the plugin does not build".into()),
    }
}

/// Replays the third request, after two that warm the caches.
fn replay(corehop: &Path, trace: &Path, model: &str) -> Outcome<Value> {
    let mut replay = Command::new(corehop);
    replay.arg("replay").arg(trace);
    replay.args([
        "--timed",
        "--json",
        "--machine",
        "host",
        "--core-model",
        model,
    ]);
    replay.args([
        "--connections",
        "1",
        "--cores",
        "1",
        "--scheduler",
        "pinned",
    ]);
    let output = replay.args(["--warm-up", "2", "--count", "1"]).output()?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}
