//! Threads on worker threads of the carrier backend behave like any other threads, and are counted
//! exactly.

use crate::workshop::{
    self, Finished, Statistics, build, of_two_cores, order, patched, plan_of, run, start,
};
use rustix::fs::{CWD, FileType, Mode, inotify, mknodat};
use std::path::PathBuf;
use std::process::Command;

struct Travels {
    folder: tempfile::TempDir,
    plain: PathBuf,
    program: PathBuf,
}

fn travels() -> Travels {
    let folder = tempfile::tempdir().unwrap();
    let program = of_two_cores(folder.path(), "travels", ["first_core", "second_core"]);
    Travels {
        plain: folder.path().join("travels"),
        folder,
        program,
    }
}

impl Travels {
    fn command(&self, backend: &str, trial: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(trial)
            .current_dir(self.folder.path())
            .env("COREHOP_BACKEND", backend)
            .env("COREHOP_STATS", "statistics")
            .envs(workshop::WHEREVER)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        command
    }

    fn statistics(&self) -> Statistics {
        Statistics::read(&self.folder.path().join("statistics"))
    }

    /// Runs a trial with the carrier backend, and in the unpatched program; both must print the
    /// same.
    fn same(&self, trial: &str) -> Finished {
        let plain = run(Command::new(&self.plain).arg(trial));
        let carried = run(&mut self.command("carrier", trial));
        assert!(carried.status.success(), "{trial}: {}", carried.errors);
        assert_eq!(carried.output, plain.output, "{trial}");
        carried
    }

    /// Runs a trial in which all hops must use the carrier backend, and counts them.
    fn carried(&self, trial: &str) -> Statistics {
        assert_eq!(self.same(trial).errors, "", "{trial}");
        let statistics = self.statistics();
        assert_eq!(statistics.0["backend"], "carrier");
        assert_eq!(statistics.total("failed_hops"), 0);
        assert!(statistics.total("carriers") >= 2);
        statistics
    }
}

#[test]
fn every_hop_of_320000_is_counted_and_each_thread_keeps_its_state() {
    let statistics = travels().carried("state");
    // The first hook of each of four threads finds it on core 0, where threads start.
    assert_eq!(statistics.of("first_core"), (160_000, 160_000 - 4));
    assert_eq!(statistics.of("second_core"), (160_000, 160_000));
}

#[test]
fn threads_that_use_sse_avx_avx512_and_x87_keep_their_registers_on_shared_cores() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-std=c++20", "-mno-red-zone"];
    let plain = build(folder.path(), "vectors", &flags, &["vectors.cpp"]);
    let plan = plan_of(&plain, 2, &[("first_core", 0), ("second_core", 1)]);
    let program = patched(&plain, &plan, folder.path()).output;
    let travels = Travels {
        folder,
        plain,
        program,
    };
    let finished = run(&mut travels.command("carrier", ""));
    assert_eq!(
        finished.output, "wrong: 0 0 0 0 0 0 0\n",
        "{}",
        finished.errors
    );
    let statistics = travels.statistics();
    assert_eq!(statistics.0["backend"], "carrier");
    assert_eq!(statistics.of("first_core"), (210_000, 210_000 - 7));
    assert_eq!(statistics.of("second_core"), (210_000, 210_000));
}

#[test]
fn threads_that_wait_for_each_other_on_one_core_all_go_on() {
    let travels = travels();
    let statistics = travels.carried("blocking");
    assert_eq!(statistics.of("second_core").0, 8 * 20 + 7 * 20);
    assert!(statistics.total("stalls") > 0, "spare carriers took over");
    let statistics = travels.carried("locks");
    assert_eq!(statistics.of("first_core"), (2000, 2000));
    assert_eq!(statistics.of("second_core"), (2000, 2000));
}

#[test]
fn threads_end_by_returning_exiting_or_being_cancelled() {
    let statistics = travels().carried("exits");
    assert_eq!(statistics.of("second_core").0, 200 + 200 + 10);
}

#[test]
fn a_forked_child_has_carriers_of_its_own_and_new_programs_none() {
    let statistics = travels().carried("forks");
    assert_eq!(statistics.of("second_core"), (3, 1), "the child's are its");
}

#[test]
fn signals_reach_the_thread_they_are_for_and_interrupt_it() {
    travels().carried("signals");
}

#[test]
fn exceptions_are_caught_on_the_core_where_they_are_thrown() {
    let statistics = travels().carried("exceptions");
    assert_eq!(statistics.of("first_core"), (3000, 2000));
    assert_eq!(statistics.of("second_core"), (2000, 2000));
}

#[test]
fn coroutines_keep_their_thread_and_its_signal_mask() {
    let statistics = travels().carried("coroutines");
    assert_eq!(statistics.of("second_core").1, 100);
}

#[test]
fn a_thread_that_blocks_signals_of_its_own_calls_leaves_once_it_blocks_them_no_more() {
    let travels = travels();
    assert_eq!(travels.same("blocks").errors, "");
    let statistics = travels.statistics();
    assert_eq!(statistics.of("second_core"), (220, 200));
    assert_eq!(statistics.total("failed_hops"), 2);
}

#[test]
fn a_change_of_user_reaches_every_carrier() {
    let travels = travels();
    // The program ends as another user, who may not write to this folder.
    let mut command = travels.command("carrier", "credentials");
    let carried = run(command.env_remove("COREHOP_STATS"));
    let plain = run(Command::new(&travels.plain).arg("credentials"));
    assert_eq!((carried.output, carried.errors), (plain.output, "".into()));
}

#[test]
fn what_carriers_cannot_do_means_affinity_from_then_on() {
    let travels = travels();
    let finished = travels.same("inherits_priority");
    assert_eq!(
        finished.errors,
        "corehop: carrier: a mutex changes its owner's priority: from here on affinity\n"
    );
    let statistics = travels.statistics();
    assert_eq!(statistics.0["backend"], "affinity");
    assert_eq!(statistics.total("hops"), 3);
}

#[test]
fn with_restartable_sequences_in_use_it_is_affinity_from_the_start() {
    let travels = travels();
    let mut command = travels.command("carrier", "exceptions");
    let finished = run(command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=1"));
    assert!(finished.status.success());
    assert_eq!(
        finished.errors,
        "corehop: COREHOP_BACKEND=carrier: libc uses restartable sequences (start the program with \
         GLIBC_TUNABLES=glibc.pthread.rseq=0): using affinity\n"
    );
    let statistics = travels.statistics();
    assert_eq!(statistics.0["backend"], "affinity");
    assert_eq!(statistics.total("hops"), 4000);
}

#[test]
fn a_control_file_that_no_order_can_reach_is_reported() {
    let travels = travels();
    for (control, said) in [
        (
            "missing/control",
            "its folder does not exist: no order is obeyed until it does",
        ),
        (".", "is a folder: name a file in it; no order is obeyed"),
    ] {
        let mut command = travels.command("carrier", "exits");
        let finished = run(command.env("COREHOP_CONTROL", control));
        assert!(finished.errors.contains(said), "{}", finished.errors);
    }
    let finished = run(travels
        .command("carrier", "exits")
        .env("COREHOP_CONTROL", "later"));
    assert_eq!(finished.errors, "");
}

#[test]
fn a_file_switches_a_running_program_between_backends() {
    let travels = travels();
    let (control, lasts) = (
        travels.folder.path().join("control"),
        travels.folder.path().join("lasts"),
    );
    // No process writes to the pipe, and none waits for that.
    mknodat(CWD, &control, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    std::fs::write(&lasts, "").unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, &control, inotify::WatchFlags::CLOSE_NOWRITE).unwrap();
    let mut command = travels.command("off", "until_gone");
    command.arg(&lasts).env("COREHOP_CONTROL", "control");
    let mut running = start(&mut command);
    // The program has checked the pipe and continued.
    running.until(|| rustix::io::read(&watch, &mut [0; 256]).ok());
    let path = travels.folder.path().join("statistics");
    let mut hops = 0;
    for backend in ["carrier", "affinity", "off", "carrier", "count"] {
        order(&control, backend);
        // Each time the file is written, the statistics are too.
        let statistics = running.until(|| {
            order(&control, backend);
            let text = std::fs::read(&path).ok()?;
            let statistics = Statistics(serde_json::from_slice(&text).unwrap());
            let goes_on = backend == "off" || statistics.total("hops") > hops;
            (statistics.0["backend"] == backend && goes_on).then_some(statistics)
        });
        hops = statistics.total("hops");
        assert_eq!(statistics.total("failed_hops"), 0);
    }
    order(&control, "faster");
    running.until_it_says("faster is none of affinity, auto, carrier, count, off");
    std::fs::remove_file(&lasts).unwrap();
    let finished = running.finish();
    assert!(finished.status.success());
    let statistics = travels.statistics();
    let (first, second) = (statistics.of("first_core"), statistics.of("second_core"));
    assert!(first.1 > 0 && second.1 >= first.1);
}
