//! Cost of recording redis with its operating system: a whole QEMU machine without the plugin, with
//! the plugin loaded but idle, and recorded.
//!
//! The load also runs on the machine, and the kernel's start is in the same process. So each way
//! runs twice, under a short load and a long one. Their difference is the cost of the requests, and
//! the short one is the start. For a run without the plugin, a script in place of QEMU drops the
//! option; the recorder waits for that machine as for any other.

use crate::processes::Tools;
use crate::{Outcome, median};
use corehop_recorder::{system, tools};
use rustix::fs::{Mode as Permissions, chmod};
use serde_json::{Map, Value};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const WITHOUT_PLUGIN: &str = r#"#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
    case $1 in
        -plugin) shift 2 && left=$((left - 2)) ;;
        *) set -- "$@" "$1" && shift && left=$((left - 1)) ;;
    esac
done
exec qemu-system-x86_64 "$@"
"#;

/// How the machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Bare,
    Loaded,
    Recording,
}

const WAYS: [Way; 3] = [Way::Bare, Way::Loaded, Way::Recording];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Bare => "bare QEMU",
            Way::Loaded => "not recorded",
            Way::Recording => "recording",
        }
    }

    /// Returns the recorder's exit status: without a plugin, without a request, or success.
    fn code(self) -> i32 {
        match self {
            Way::Bare => 6,
            Way::Loaded => 7,
            Way::Recording => 0,
        }
    }
}

/// Number of requests in the two loads.
#[derive(Clone, Copy)]
pub struct Loads {
    pub short: u32,
    pub long: u32,
}

/// Measures all ways; `None` if no machine can be recorded here.
pub fn measure(tools: &Tools, loads: Loads, rounds: usize) -> Outcome<Option<Value>> {
    if tools::system_qemu().is_err() || system::parts().is_err() {
        println!("\nredis and its kernel: left out (`corehop doctor` lists what is missing)");
        return Ok(None);
    }
    let folder = tempfile::Builder::new()
        .prefix("corehop-")
        .tempdir_in("/tmp")?;
    let script = folder.path().join("without-plugin");
    std::fs::write(&script, WITHOUT_PLUGIN)?;
    chmod(&script, Permissions::RUSR | Permissions::XUSR)?;
    // By way: samples of the start and of one request, per round.
    let mut samples = WAYS.map(|_| (Vec::new(), Vec::new()));
    for _ in 0..rounds {
        for (way, (starts, requests)) in WAYS.into_iter().zip(&mut samples) {
            let short_us = run(tools, way, loads.short, folder.path())?;
            let long_us = run(tools, way, loads.long, folder.path())?;
            starts.push(short_us / 1e6);
            requests.push((long_us - short_us) / f64::from(loads.long - loads.short));
        }
    }
    println!("\nredis and its kernel        a request  to bare QEMU   start, s");
    let mut figures = Map::new();
    let bare = median(&samples[0].1);
    for (way, (starts, requests)) in WAYS.into_iter().zip(&samples) {
        let (us, start) = (median(requests), median(starts));
        let (name, ratio) = (way.name(), us / bare);
        println!("{name:<14}{us:>23.1}{ratio:>13.2}x{start:>11.2}");
        let key = name.to_lowercase().replace(' ', "_");
        figures.insert(format!("{key}_us"), us.into());
        figures.insert(format!("{key}_ratio"), ratio.into());
        figures.insert(format!("{key}_start_s"), start.into());
    }
    Ok(Some(Value::Object(figures)))
}

/// Runs a machine to its end. Returns the CPU time of the machine and the recorder, in
/// microseconds.
fn run(tools: &Tools, way: Way, requests: u32, folder: &Path) -> Outcome<f64> {
    let load = format!("redis-benchmark -p 7000 -c 1 -t get -n {requests}");
    let mut command = tools.record();
    command
        .current_dir(folder)
        .args(["--system", "--force", "-o", "trace"]);
    command.args(["--memory-limit", "3072", "--request-at", "processCommand"]);
    command.args(["--load", &load]);
    match way {
        Way::Bare => drop(command.env("COREHOP_QEMU_SYSTEM", folder.join("without-plugin"))),
        Way::Loaded => drop(command.arg("--paused")),
        Way::Recording => {}
    }
    command.args(["--", "redis-server", "--port", "7000", "--save", ""]);
    let before = children()?;
    let output = command.stdin(Stdio::null()).output()?;
    let spent = children()? - before;
    if output.status.code() != Some(way.code()) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}\n{said}", way.name(), output.status).into());
    }
    Ok(spent.as_secs_f64() * 1e6)
}

/// Returns the CPU time of all children that were waited for, and of their children.
fn children() -> Outcome<Duration> {
    let mut usage = std::mem::MaybeUninit::uninit();
    // SAFETY: it only writes to the variable that is passed to it.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) } != 0;
    if failed {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let of = |time: libc::timeval| {
        let micros = time.tv_usec.unsigned_abs();
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(micros)
    };
    Ok(of(usage.ru_utime) + of(usage.ru_stime))
}
