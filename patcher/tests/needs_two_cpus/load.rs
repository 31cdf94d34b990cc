//! Threads do not hop if others queue or other programs run, but their calls are still counted.

use crate::workshop::busy::Busy;
use crate::workshop::{self, Running, Statistics, of_two_cores, order, run, start, start_reading};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program of `carrier.rs`; in its trial `state`, four threads hop 40 000 times to each core.
pub struct Travels {
    folder: tempfile::TempDir,
    pub program: PathBuf,
}

pub fn travels() -> Travels {
    let folder = tempfile::tempdir().unwrap();
    let program = of_two_cores(folder.path(), "travels", ["first_core", "second_core"]);
    Travels { folder, program }
}

impl Travels {
    /// Runs the trial with these variables; all its hops are counted, even if they are declined.
    pub fn statistics(&self, variables: &[(&str, &str)]) -> Statistics {
        let file = self.folder.path().join("statistics");
        let mut command = Command::new(&self.program);
        command
            .arg("state")
            .env("COREHOP_BACKEND", "carrier")
            .env("COREHOP_STATS", &file)
            .env("COREHOP_RUN_DELAY", "100")
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        let ran = run(command.envs(variables.iter().copied()));
        assert!(ran.status.success(), "{}", ran.errors);
        assert_eq!(ran.errors, "");
        let statistics = Statistics::read(&file);
        assert_eq!(statistics.of("first_core"), (160_000, 160_000 - 4));
        assert_eq!(statistics.of("second_core"), (160_000, 160_000));
        assert_eq!(statistics.total("failed_hops"), 0);
        statistics
    }
}

#[test]
fn threads_are_given_to_teams_in_turn() {
    let processors = workshop::two_cpus();
    let twice = format!("{processors},{processors}");
    let travels = travels();
    let teams = |variables: &[(&str, &str)]| -> Vec<u64> {
        let statistics = travels.statistics(variables);
        let waits = statistics.0["waits"].as_array().unwrap();
        // One worker for each core, and spares if one had to wait.
        assert!(statistics.total("carriers") as usize >= waits.len());
        waits
            .iter()
            .map(|wait| wait["team"].as_u64().unwrap())
            .collect()
    };
    let both = [("COREHOP_CPUS", twice.as_str()), ("COREHOP_QUEUE", "1")];
    assert_eq!(teams(&both), [0, 0, 1, 1]);
    let one = [("COREHOP_CPUS", twice.as_str()), ("COREHOP_TEAMS", "1")];
    assert_eq!(teams(&one), [0, 0]);
}

/// Returns the statistics of a program that runs with the carrier backend and obeys the file
/// `control` in the folder.
fn asked(folder: &Path) -> Option<Statistics> {
    order(&folder.join("control"), "carrier");
    let file = folder.join("statistics");
    file.exists().then(|| Statistics::read(&file))
}

/// Waits until the program's team has stopped hopping and a thread has then declined a hop.
fn until_it_pauses(running: &mut Running, folder: &Path) {
    let has_paused = |statistics: &Statistics| {
        statistics.0["pauses"][0] != 0 && statistics.total("declined_hops") > 0
    };
    running.until(|| asked(folder).filter(has_paused));
}

#[test]
fn a_team_that_declines_more_hops_than_it_makes_stops_hopping() {
    let processors = workshop::two_cpus();
    let folder = tempfile::tempdir().unwrap();
    let program = of_two_cores(folder.path(), "crowded", ["first_core", "second_core"]);
    let file = folder.path().join("statistics");
    let mut command = Command::new(program);
    command
        .env("COREHOP_BACKEND", "carrier")
        .env("COREHOP_STATS", &file)
        .env("COREHOP_CONTROL", folder.path().join("control"))
        .env("COREHOP_CPUS", processors)
        .env("COREHOP_QUEUE", "1")
        // Other programs' use of the CPUs must not matter here.
        .env("COREHOP_RUN_DELAY", "99")
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let (reader, writer) = std::io::pipe().unwrap();
    let mut running = start_reading(&mut command, Stdio::from(reader));
    until_it_pauses(&mut running, folder.path());
    drop(writer);
    let ran = running.finish();
    assert!(ran.status.success(), "{}", ran.errors);
    let statistics = Statistics::read(&file);
    assert!(statistics.0["pauses"][0].as_u64().unwrap() > 0);
    // Each also counts as a hop, and a call that finds its thread declined before is neither.
    assert!(statistics.total("declined_hops") <= statistics.total("hops"));
}

#[test]
fn a_team_whose_cpus_others_use_stops_hopping() {
    let folder = tempfile::tempdir().unwrap();
    let program = of_two_cores(folder.path(), "phases", ["first_phase", "second_phase"]);
    let [file, lasts] = ["statistics", "lasts"].map(|name| folder.path().join(name));
    std::fs::write(&lasts, "").unwrap();
    let mut command = Command::new(program);
    command
        .args(["1000", "500"])
        .arg(&lasts)
        .env("COREHOP_BACKEND", "carrier")
        .env("COREHOP_STATS", &file)
        .env("COREHOP_CONTROL", folder.path().join("control"))
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let processors = workshop::two_cpus();
    command.env("COREHOP_CPUS", processors);
    let busy = Busy::start(6);
    let mut running = start(&mut command);
    until_it_pauses(&mut running, folder.path());
    std::fs::remove_file(&lasts).unwrap();
    let ran = running.finish();
    drop(busy);
    assert!(ran.status.success(), "{}", ran.errors);
    let statistics = Statistics::read(&file);
    let turns: u64 = ran.output.trim().parse().unwrap();
    assert!(turns >= 1000);
    assert_eq!(statistics.total("hops"), 2 * turns - 1);
    assert!(statistics.0["pauses"][0].as_u64().unwrap() > 0);
    assert!(statistics.total("declined_hops") > 0);
}

/// Returns the program's worker thread that is pinned to this CPU.
fn carrier_on(program: u32, cpu: usize) -> Option<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{program}/task")).ok()?;
    let is_it = |thread: &Pid| {
        let name = std::fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
        let mask = sched_getaffinity(Some(*thread));
        name == "corehop-carrier\n" && mask.is_ok_and(|m| m.count() == 1 && m.is_set(cpu))
    };
    let numbers = threads
        .flatten()
        .flat_map(|thread| thread.file_name().into_string());
    let mut pids = numbers.flat_map(|number| Pid::from_raw(number.parse().ok()?));
    pids.find(is_it)
}

#[test]
fn a_team_that_loses_a_cpu_stops_hopping_until_it_is_back() {
    let processors = workshop::two_cpus();
    let (first, second) = processors.split_once(',').unwrap();
    let second: usize = second.parse().unwrap();
    let set = |cpus: &[usize]| {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        set
    };
    let folder = tempfile::tempdir().unwrap();
    let program = of_two_cores(folder.path(), "phases", ["first_phase", "second_phase"]);
    let mut command = Command::new(program);
    command
        .args(["1000000", "300"])
        .env("COREHOP_BACKEND", "carrier")
        .env("COREHOP_CPUS", &processors)
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let mut running = workshop::start(&mut command);
    let number = running.number();
    let elsewhere = first.parse().unwrap();
    // Workers end while threads do not hop, e.g. during other tests, and new ones use their CPU.
    let mut moved = Vec::new();
    let lost = format!("corehop: CPU {second} is offline, or this process may");
    running.until_it_says_while(&lost, || {
        if let Some(carrier) = carrier_on(number, second) {
            let _ = sched_setaffinity(Some(carrier), &set(&[elsewhere]));
            moved.push(carrier);
        }
    });
    for carrier in moved {
        let _ = sched_setaffinity(Some(carrier), &set(&[elsewhere, second]));
    }
    running.until_it_says(&format!("corehop: CPU {second} is back"));
    running.until(|| carrier_on(number, second));
}
