//! `corehop calibrate`: measures this machine, and writes the result as a machine file.
//!
//! `corehop_measure::calibration` measures. This file is its command line: the output path, the
//! message for a busy machine, and the table.

use crate::failure::{Exit, Failure};
use crate::options::streams;
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_measure::calibration::samples::{Figure, Quartiles};
use corehop_measure::calibration::{Calibration, Doubt, Effort, Observer};
use corehop_measure::calibration::{calibrate, doubts, notes, render};
use corehop_partitioner::progress::Progress;
use corehop_simulator::{calibrated, host};
use corehop_support::atomic_file::{Output, PUBLIC};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Measure the caches, cores, and hops of this machine, for `--machine host`
///
/// It takes about 30 s, on a machine that should run nothing else. It measures the latency and size
/// of each cache, the latency of memory, and transfers of a line between cores. It also measures
/// hops by every backend.
///
/// The result is a machine file. If it is in its default place, `--machine host` uses it. If the
/// machine was busy, nothing is written.
#[derive(Args)]
#[command(after_help = "\
Example: corehop calibrate
         corehop calibrate -o host.toml --json

Exit code 5 if the readings differ too much or other programs ran; nothing is written then.")]
pub struct Arguments {
    /// File for the machine; `-` for standard output
    ///
    /// Default: where `--machine host` finds it. That is $COREHOP_HOST, or corehop/host.toml in the
    /// folder for configuration. An existing file there is replaced.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the file even if the machine was busy, and replace an existing file
    #[arg(long)]
    force: bool,
    /// Check in a few seconds that every measurement works here; the figures are useless
    #[arg(long)]
    quick: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    // From here on, an interrupt removes every output, including folders created for it.
    interrupt::listen()?;
    if let Some(output) = &arguments.output {
        streams::one_document(arguments.json, output)?;
    }
    let (output, _folders) = output(arguments)?;
    let host = host::described()?;
    for assumed in &host.assumed {
        console::warn(&format!("machine host: {assumed}"));
    }
    let effort = match arguments.quick {
        true => Effort::QUICK,
        false => Effort::WHOLE,
    };
    let calibration = calibrate(&host, &effort, &Shown(Bar::new()))?;
    let doubts = doubts(&calibration);
    let is_kept = doubts.is_empty() || arguments.force;
    interrupt::heed("nothing was written")?;
    if is_kept {
        output.write(render(&calibration, &doubts).as_bytes(), PUBLIC)?;
    }
    let kept = is_kept.then(|| output.path());
    let said = match arguments.json {
        true => Lines::of_json(&as_json(&calibration, &doubts, kept)),
        false => as_text(&calibration, kept),
    };
    match output.is_standard_output() {
        true => console::tell(&said),
        false => console::print(&said)?,
    }
    if !is_kept {
        return Err(refusal(&doubts));
    }
    for doubt in &doubts {
        console::warn(&format!("written despite this doubt: {doubt}"));
    }
    Ok(())
}

/// Opens the output before anything is measured, so that no measurement is lost.
fn output(arguments: &Arguments) -> Result<(Output, Folders), Failure> {
    if let Some(path) = &arguments.output {
        return Ok((Output::at(path, arguments.force)?, Folders(Vec::new())));
    }
    let Some(path) = calibrated::place() else {
        let message = "no configuration folder in COREHOP_HOST, XDG_CONFIG_HOME, or HOME";
        return Err(Failure::new(Exit::Output, message).remedy("name a file with -o"));
    };
    let folders = Folders::make(path.parent().unwrap_or(Path::new("")))?;
    Ok((Output::at(&path, true)?, folders))
}

/// Folders created for an output. On drop, those that are still empty are removed.
struct Folders(Vec<PathBuf>);

impl Folders {
    fn make(folder: &Path) -> Result<Folders, Failure> {
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let missing = missing.filter(|folder| !folder.as_os_str().is_empty());
        let made = Folders(missing.map(Path::to_path_buf).collect());
        std::fs::create_dir_all(folder).map_err(|error| no_folder(folder, &error))?;
        Ok(made)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // A folder that is not empty stays. This is no failure.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn no_folder(folder: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{}: cannot make this folder: {error}", folder.display());
    Failure::new(Exit::Output, message).remedy("name a file with -o")
}

fn refusal(doubts: &[Doubt]) -> Failure {
    let said = doubts.iter().map(Doubt::to_string);
    Failure::new(Exit::Refused, "nothing was written: the machine was busy")
        .below(said)
        .remedy("stop other programs and calibrate again, or add --force")
}

/// Shows the stages of the calibration, and stops it on a signal.
pub struct Shown(pub Bar);

impl Observer for Shown {
    fn begin(&self, stage: &str, total: u64) {
        self.0.begin(stage, Some(total));
    }

    fn advance(&self) {
        self.0.advance(1);
    }

    fn end(&self) {
        self.0.end();
    }

    fn is_interrupted(&self) -> bool {
        interrupt::is_asked()
    }
}

fn as_json(calibration: &Calibration, doubts: &[Doubt], kept: Option<&Path>) -> Value {
    let mut object = json!(calibration);
    let machine = calibration.machine();
    object["hop_cost_cycles"] = machine.hop_cost_cycles.into();
    object["busy_hop_cost_cycles"] = machine.busy_hop_cost_cycles.into();
    object["carried_hop_cost_cycles"] = machine.carried_hop_cost_cycles.into();
    object["doubts"] = doubts.iter().map(Doubt::to_string).collect();
    object["file"] = kept.map(|path| path.display().to_string()).into();
    object
}

fn as_text(calibration: &Calibration, kept: Option<&Path>) -> Lines {
    let mut text = Lines::new();
    let latencies = &calibration.latencies;
    let hops = &calibration.hops;
    line!(
        text,
        "{}, {} CPUs",
        calibration.cpu_model,
        calibration.cpus.len()
    );
    line!(text);
    line!(
        text,
        "{:<34}{:>10}{:>22}{:>10}",
        "one access or hop",
        "cycles",
        "half of them",
        "ns"
    );
    let rows = [
        ("L1D", latencies.l1d),
        ("L1I, a line of code", latencies.l1i),
        ("L2", latencies.l2),
        ("L2, a line of code", latencies.l2_code),
        ("L2, small pages", latencies.l2_small_pages),
        ("L2, line after line", latencies.l2_sequential),
        ("L3", latencies.l3),
        ("L3, small pages", latencies.l3_small_pages),
        ("L3, line after line", latencies.l3_sequential),
        ("memory", latencies.memory),
        ("memory, small pages", latencies.memory_small_pages),
        ("a line of another core", calibration.transfer),
        ("a mispredicted branch", calibration.mispredicted_branch),
        ("hop, carrier awake", hops.carrier_awake),
        ("hop, carrier asleep", hops.carrier_parked),
        ("hop, sched_setaffinity", hops.affinity_awake),
        ("hop, sched_setaffinity, threads queue", hops.affinity_busy),
        ("hop, sched_setaffinity, CPU asleep", hops.affinity_parked),
    ];
    for (what, figure) in rows {
        match figure {
            Some(figure) => row(&mut text, what, &figure),
            None => line!(text, "{what:<34}{:>10}", "none"),
        }
    }
    for after in &hops.affinity_idle {
        let what = format!("hop, CPU idle for {} us, the mean", after.idle_us);
        line!(text, "{what:<34}{:>10.1}", after.mean_cycles);
    }
    line!(text);
    for note in notes(calibration) {
        line!(text, "{note}");
    }
    if let Some(path) = kept {
        line!(text, "machine file: {}", path.display());
    }
    text
}

fn row(text: &mut Lines, what: &str, figure: &Figure) {
    let Quartiles { low, median, high } = figure.cycles;
    let half = format!("{low:.1} to {high:.1}");
    line!(
        text,
        "{what:<34}{median:>10.1}{half:>22}{:>10.1}",
        figure.ns.median
    );
}
