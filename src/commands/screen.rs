//! `corehop screen`: estimates in seconds whether a server is worth recording, without an emulator.
//!
//! The crate `corehop-measure` observes the server (its `screening`); this file has the options,
//! the table, and the verdict. A recording takes minutes and a search takes longer, so users with
//! many servers begin here.

use crate::failure::{Exit, Failure};
use crate::measuring::Shown;
use crate::options::load_options::LoadOptions;
use crate::options::machines;
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::line::{Lines, line};
use clap::Args;
use corehop_measure::machine::counters;
use corehop_measure::screening::{self, Bounds, Found, Screened, Setup, Subject, Verdict};
use corehop_simulator::Machine;
use corehop_support::quantity::duration::{NoDuration, seconds};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::Duration;

/// Estimate in seconds whether a server is worth recording, by what it accesses under load
///
/// It starts COMMAND and runs --load twice, or it observes the running process of --pid.
///
/// The pages that the server accesses within 10 ms to 1 s give an upper bound of its working set.
/// If they fit in one L2, hops cannot help. If hardware performance counters are available, the L2
/// misses and their latency give an upper bound of the time that hops could save.
///
/// `corehop optimize` then measures whether hops make the server faster. Observing pages clears the
/// kernel's accessed bits, which costs the server some TLB misses. To observe another user's
/// process, run screen as root.
#[derive(Args)]
#[command(after_help = "\
Example: corehop screen --load \"redis-benchmark -p 7000 -q -t get -n 1000000\" \
-- redis-server --port 7000
         corehop screen --pid 1234

Exit code 0 if the server is worth recording, 1 if it is not, 7 if the server was idle, or if it or
the load failed.")]
pub struct Arguments {
    #[command(flatten)]
    under: LoadOptions,
    /// Observe this running process and those that it started, under their current load
    #[arg(long, value_name = "PID", conflicts_with_all = ["load", "command"],
          value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pid: Option<u32>,
    /// Duration of each of the two observations of --pid, in seconds or with a unit, such as 1m
    ///
    /// From 1 s to 1 h.
    #[arg(long, value_name = "TIME", default_value = "5", requires = "pid",
          value_parser = observation)]
    seconds: Duration,
    /// Machine whose L2 size and latencies apply: a bundled name, `host`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "host")]
    machine: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Server, found in PATH, and its arguments
    #[arg(
        last = true,
        required_unless_present = "pid",
        requires = "load",
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// The text is not a valid duration of an observation.
#[derive(Debug, thiserror::Error)]
enum NoObservation {
    #[error(transparent)]
    Duration(#[from] NoDuration),
    #[error("an observation takes 1 s to 1 h")]
    Range,
}

fn observation(text: &str) -> Result<Duration, NoObservation> {
    let duration = seconds(text)?;
    match (1.0..=3600.0).contains(&duration.as_secs_f64()) {
        true => Ok(duration),
        false => Err(NoObservation::Range),
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    machines::tell_host([&*arguments.machine]);
    let machine = Machine::named_or_path(&arguments.machine)?;
    let counters = counters::available();
    interrupt::listen()?;
    let (under, observer) = (arguments.under.under_load(), Shown::of(Vec::new()));
    let subject = match (arguments.pid, &under.load) {
        (None, Some(load)) => Subject::Started {
            command: &arguments.command,
            load,
        },
        (process, _) => Subject::Running {
            process: process.unwrap_or_default(),
            seconds: arguments.seconds.as_secs_f64(),
        },
    };
    let found = screening::screen(&Setup {
        subject,
        under: &under,
        kinds: counters.as_deref().unwrap_or_default(),
        observer: &observer,
    })?;
    let screened = Screened::of(&found, bounds(&machine));
    let answer = Answer {
        machine: &machine,
        found: &found,
        screened,
    };
    match arguments.json {
        true => console::print(&Lines::of_json(&answer.json()))?,
        false => console::print(&answer.text(counters.err()))?,
    }
    if found.has_huge_pages {
        console::warn(
            "it has huge pages, which count as 2 MiB each: it may access less than reported",
        );
    }
    answer.verdict()
}

fn bounds(machine: &Machine) -> Bounds {
    let l3 = machine.l3.map(|l3| l3.latency_cycles);
    let memory = machine.memory_latency_cycles;
    let ns = |cycles: u32, ghz: f64| f64::from(cycles) / ghz;
    Bounds {
        l2_bytes: machine.l2.size_bytes,
        latencies_ns: machines::clock_ghz()
            .map(|ghz| [ns(l3.unwrap_or(memory), ghz), ns(memory, ghz)]),
    }
}

/// The observation and its verdict.
struct Answer<'a> {
    machine: &'a Machine,
    found: &'a Found,
    screened: Screened,
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes / 1024)
}

impl Answer<'_> {
    fn text(&self, no_counters: Option<std::io::Error>) -> Lines {
        let mut text = Lines::new();
        let found = self.found;
        line!(
            text,
            "touched within        code          data           all   looks"
        );
        for window in &found.windows {
            let touched = window.touched;
            let [code, data, all] =
                [touched.code_bytes, touched.data_bytes, touched.bytes()].map(kib);
            let (length, looks) = (window.milliseconds, window.samples);
            line!(
                text,
                "{length:>11} ms{code:>13}{data:>14}{all:>14}{looks:>8}"
            );
        }
        line!(text);
        let (l2, name) = (kib(self.machine.l2.size_bytes), &self.machine.name);
        line!(text, "{:<12}{l2}, {name}", "one L2");
        let (user, system, seconds) = (found.busy.user, found.busy.system, found.seconds);
        line!(
            text,
            "{:<12}{user:.2} s of CPU in user mode, {system:.2} s in the kernel, in {seconds:.2} s",
            "load"
        );
        if let Some(throughput) = found.throughput {
            line!(text, "{:<12}{throughput:.1}", "throughput");
        }
        for count in &found.counts {
            let a_second = count.count / user.max(f64::MIN_POSITIVE);
            line!(text, "{:<20}{a_second:.3e} in a second of CPU", count.name);
        }
        if let Some(reason) = no_counters {
            line!(
                text,
                "{:<12}not available: {reason} (see `corehop doctor`)",
                "counters"
            );
        }
        if let Some(share) = self.screened.at_most {
            let percent = share * 100.0;
            line!(
                text,
                "{:<12}{percent:.1} % of the time, all L2 misses together",
                "at most"
            );
        }
        line!(text);
        line!(text, "{:<12}{}", "verdict", self.said());
        text
    }

    fn said(&self) -> &'static str {
        match self.screened.verdict {
            Verdict::Worth => "worth recording: it accesses more than one L2 can hold",
            Verdict::Fits => "not worth recording: all that it accesses fits in one L2",
            Verdict::FewMisses => "not worth recording: L2 misses cost too little of its time",
            Verdict::Idle => "none: the server was idle",
        }
    }

    fn json(&self) -> Value {
        let found = self.found;
        let windows = found.windows.iter().map(|window| {
            json!({
                "milliseconds": window.milliseconds, "looks": window.samples,
                "code_bytes": window.touched.code_bytes,
                "data_bytes": window.touched.data_bytes,
            })
        });
        json!({
            "verdict": match self.screened.verdict {
                Verdict::Worth => "worth recording",
                Verdict::Fits => "fits",
                Verdict::FewMisses => "few misses",
                Verdict::Idle => "idle",
            },
            "machine": self.machine.name,
            "l2_bytes": self.machine.l2.size_bytes,
            "windows": windows.collect::<Vec<_>>(),
            "has_huge_pages": found.has_huge_pages,
            "seconds": found.seconds,
            "user_seconds": found.busy.user,
            "system_seconds": found.busy.system,
            "throughput": found.throughput,
            "counters": found.counts,
            "at_most": self.screened.at_most,
        })
    }

    /// Returns the exit code.
    fn verdict(&self) -> Result<(), Failure> {
        match self.screened.verdict {
            Verdict::Worth => Ok(()),
            Verdict::Idle => Err(
                Failure::new(Exit::Server, "the server was idle under this load")
                    .remedy("run it under the load for which it should become faster"),
            ),
            Verdict::Fits | Verdict::FewMisses => Err(Failure::new(Exit::Findings, self.said())
                .remedy(
                    "keep the original server, or try a load or machine with which it needs more \
                     than one L2",
                )),
        }
    }
}
