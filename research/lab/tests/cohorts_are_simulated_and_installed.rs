//! `corehop-lab cohorts`: a timed replay has its schedulers, and a patched program its runtime.

use crate::conforming;
use crate::definitions;
use corehop_lab::cohorts::LIBRARY;
use corehop_traces::{EndReason, Error, Kind, WriterOptions};
use std::path::Path;
use std::process::{Command, Output};

const CODE: u64 = 0x40_0000;

const PLAN: &str = "\
version = 1
machine = \"xeon-e5-2620-v4\"
trace = \"bank.trace\"
cores = 2
seed = 1
function = [
    { module = \"/usr/bin/server\", build_id = \"0a1b\", offset = 0, symbol = \"parse\", \
core = 0, mode = \"enter\" },
    { module = \"/usr/bin/server\", build_id = \"0a1b\", offset = 64, symbol = \"execute\", \
core = 1, mode = \"enter\" },
]
";

/// Writes requests of two threads, each in two phases.
fn write(path: &Path) -> Result<(), Error> {
    let (mut writer, module) = definitions::begin(path, &WriterOptions::default(), "parse", CODE)?;
    let blocks = [("parse", 0), ("execute", 64)]
        .map(|named| definitions::function(&mut writer, (module, CODE), named, None));
    let [parse, execute] = blocks;
    let (parse, execute) = (parse?, execute?);
    let threads = [writer.thread(1, 1)?, writer.thread(1, 2)?];
    for stamp in 1..=8 {
        let thread = threads[stamp as usize % 2];
        writer.stamp(thread, stamp)?;
        writer.request(thread)?;
        for (block, address) in [(parse, 0x1000), (execute, 0x2000)] {
            writer.execution(thread, block)?;
            writer.data(thread, 0, Kind::Load, 8, address)?;
        }
    }
    writer.finish(EndReason::RequestsReached)?;
    Ok(())
}

/// Simulates the trace with the plan, and more options.
fn simulated(more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("bank.trace")).unwrap();
    std::fs::write(folder.path().join("split.toml"), PLAN).unwrap();
    Command::new(crate::LAB)
        .args(["cohorts", "simulate", "bank.trace", "--plan", "split.toml"])
        .args(more)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[test]
fn cohorts_are_simulated_beside_other_schedulers() {
    let names = "split,split-cohort=1,split-cohort,cohort=2";
    let output = simulated(&["--scheduler", names, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let object = conforming::read(&["replay", "--timed"], &output.stdout);
    let settings = object["settings"].as_array().unwrap();
    let said: Vec<&str> = settings
        .iter()
        .map(|setting| setting["scheduler"].as_str().unwrap())
        .collect();
    assert_eq!(
        said,
        ["split", "split-cohort=1", "split-cohort=8", "cohort=2"]
    );
    // A cohort of one equals first come, first served.
    let mut of_one = settings[1].clone();
    of_one["scheduler"] = "split".into();
    assert_eq!(of_one, settings[0]);
}

#[test]
fn what_is_no_scheduler_is_told_what_is() {
    for (wrong, said) in [
        ("fair", "steal-random, split-cohort, cohort"),
        (
            "cohort=0",
            "how many threads a stage takes in a row, at least 1",
        ),
    ] {
        let output = simulated(&["--scheduler", wrong]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(said), "{errors}");
    }
}

#[test]
fn a_patched_program_gets_the_runtime_and_another_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("server.hop");
    let install = || {
        let mut command = Command::new(crate::LAB);
        let command = command.args(["cohorts", "install"]).arg(&program);
        command.output().unwrap()
    };
    let refused = install();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let runtime = folder.path().join(corehop_runtime::NAME);
    std::fs::write(&runtime, corehop_runtime::LIBRARY).unwrap();
    let done = install();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(std::fs::read(&runtime).unwrap(), LIBRARY);
}
