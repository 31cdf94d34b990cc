//! Under a filter of system calls that kills for calls of the runtime, a server runs unchanged.
//!
//! A unit's SystemCallFilter= is such a filter: Debian's unit of redis kills for `@privileged` and
//! `@resources`, which includes sched_setaffinity. The result must not depend on what the server
//! does later, so the runtime detects the filter at the start.

use crate::workshop::{self, Finished, Statistics, build, patched, plan_of, run};
use std::path::PathBuf;
use std::process::Command;

/// systemd's `@resources`, as `systemd-analyze syscall-filter` lists it, on x86-64: ioprio_set,
/// mbind, migrate_pages, move_pages, sched_setaffinity, sched_setattr, sched_setparam,
/// sched_setscheduler, set_mempolicy, set_mempolicy_home_node, setpriority, setrlimit.
const RESOURCES: &[u32] = &[251, 237, 256, 279, 203, 314, 142, 144, 238, 450, 141, 160];
/// `@clock`, `@module`, `@reboot`, `@swap` and others of `@privileged`: adjtimex, clock_adjtime,
/// clock_settime, settimeofday, delete_module, finit_module, init_module, kexec_file_load,
/// kexec_load, reboot, swapoff, swapon, acct, bpf, chroot, fanotify_init, open_by_handle_at,
/// pivot_root, quotactl, setdomainname, sethostname, vhangup.
const PRIVILEGED: &[u32] = &[
    159, 305, 227, 164, 176, 313, 175, 320, 246, 169, 168, 167, 163, 321, 161, 300, 304, 155, 179,
    171, 170, 153,
];
/// `@aio` without calls older than io_uring.
const RINGS: &[u32] = &[425, 426, 427];

struct Unit {
    folder: tempfile::TempDir,
    filters: PathBuf,
    program: PathBuf,
}

impl Unit {
    fn new() -> Unit {
        let folder = tempfile::tempdir().unwrap();
        let filters = build(folder.path(), "filters", &["-xc"], &["filters.c"]);
        let plain = build(folder.path(), "uncarried", &["-xc"], &["uncarried.c"]);
        let plan = plan_of(&plain, 2, &[("first_core", 0), ("second_core", 1)]);
        let program = patched(&plain, &plan, folder.path()).output;
        Unit {
            folder,
            filters,
            program,
        }
    }

    fn command(&self, kills: &[u32]) -> Command {
        let mut command = Command::new(&self.filters);
        let numbers: Vec<String> = kills.iter().map(ToString::to_string).collect();
        command.arg(numbers.join(",")).arg(&self.program);
        command.arg("nothing").current_dir(self.folder.path());
        command.env("COREHOP_STATS", "statistics");
        command
    }

    fn runs(&self, kills: &[u32], backend: &str) -> Finished {
        let _ = std::fs::remove_file(self.statistics());
        let mut command = self.command(kills);
        workshop::hops_by(&mut command, backend);
        let finished = run(&mut command);
        assert!(finished.status.success(), "{backend}: {}", finished.errors);
        assert_eq!(finished.output, "entered 120\n", "{backend}");
        finished
    }

    fn statistics(&self) -> PathBuf {
        self.folder.path().join("statistics")
    }
}

#[test]
fn where_a_filter_kills_for_a_call_of_the_runtime_the_server_runs_without_hops() {
    let unit = Unit::new();
    let units: [&[u32]; 2] = [RESOURCES, &[203]];
    for kills in units {
        for backend in ["carrier", "affinity", "auto"] {
            let finished = unit.runs(kills, backend);
            let said = "corehop: a filter of system calls kills for sched_setaffinity (in a unit, \
                        SystemCallFilter=sched_setaffinity allows it): running without hops\n";
            assert_eq!(finished.errors, said, "{backend}");
            assert!(!unit.statistics().exists(), "{backend}");
        }
    }
}

#[test]
fn a_filter_that_lets_the_runtime_be_changes_nothing() {
    let unit = Unit::new();
    for backend in ["carrier", "affinity", "count"] {
        let finished = unit.runs(PRIVILEGED, backend);
        assert_eq!(finished.errors, "", "{backend}");
        let statistics = Statistics::read(&unit.statistics());
        assert_eq!(statistics.of("second_core"), (60, 60), "{backend}");
    }
    // Counting alone makes none of these calls.
    let counted = unit.runs(RESOURCES, "count");
    assert_eq!(counted.errors, "");
}

#[test]
fn where_a_filter_kills_for_io_uring_no_call_is_made_in_batches() {
    let unit = Unit::new();
    let mut command = unit.command(RINGS);
    command.env("COREHOP_SYSCALLS", "@batch");
    workshop::hops_by(&mut command, "carrier");
    let finished = run(&mut command);
    assert!(finished.status.success(), "{}", finished.errors);
    let said = "corehop: COREHOP_SYSCALLS=@batch: a filter of system calls kills for io_uring \
                (in a unit, SystemCallFilter=@aio allows it): system calls are made where they \
                are\n";
    assert_eq!(finished.errors, said);
    let statistics = Statistics::read(&unit.statistics());
    assert_eq!(statistics.of("second_core"), (60, 60));
}
