//! Threads do not hop to a CPU with a queue; the setting for the length of a queue must be a
//! number.

use crate::needs_two_cpus::load::travels;
use crate::workshop::run;
use std::process::Command;

#[test]
fn of_four_threads_some_stay_unless_queues_do_not_matter() {
    let travels = travels();
    let declined = |queue| {
        let statistics = travels.statistics(&[("COREHOP_QUEUE", queue)]);
        statistics.total("declined_hops")
    };
    assert!(declined("1") > 0);
    assert_eq!(declined("0"), 0);
    assert_eq!(declined("100"), 0, "no queue is ever so long");
}

#[test]
fn what_is_no_number_is_said_and_left() {
    let travels = travels();
    for (variable, wrong) in [
        ("COREHOP_QUEUE", "short"),
        ("COREHOP_TEAMS", "-1"),
        ("COREHOP_RUN_DELAY", "101"),
    ] {
        let mut command = Command::new(&travels.program);
        command
            .arg("exceptions")
            .env("COREHOP_BACKEND", "carrier")
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .env(variable, wrong);
        let ran = run(&mut command);
        assert!(ran.status.success());
        let expected = format!("corehop: {variable}={wrong} is not a number up to ");
        assert!(ran.errors.starts_with(&expected), "{}", ran.errors);
    }
}
