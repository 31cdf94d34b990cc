//! `auto` also tries hops by data. Its result depends on the machine, and the statistics are by
//! object.

use crate::workshop::{self, Statistics, build, order, patched, plan_of, request_at, start};
use corehop_plan::{Argument, Destination, Plan, VERSION_BY_ARGUMENT};
use std::path::Path;
use std::process::Command;

const TABLES: u64 = 4;

/// Walks hop to the core of their table; requests are counted where they begin.
fn plan(program: &Path) -> Plan {
    let mut plan = plan_of(program, 2, &[("walk", 0)]);
    plan.version = VERSION_BY_ARGUMENT;
    plan.functions[0].to = Destination::By(Argument::ALL[0].into());
    let request = plan_of(program, 2, &[("request", 0)]).functions.remove(0);
    plan.request = Some(request_at(&request));
    plan
}

/// Runs the program until there is a result. Returns its number of requests, and the counts.
fn counted(program: &Path, processors: &str) -> (u64, Statistics) {
    let [statistics, lasts, control] =
        ["statistics", "lasts", "control"].map(|name| program.with_file_name(name));
    std::fs::write(&lasts, "").unwrap();
    let mut command = Command::new(program);
    command
        .arg(&lasts)
        .arg(TABLES.to_string())
        .env("COREHOP_BACKEND", "auto")
        .env("COREHOP_STATS", &statistics)
        .env("COREHOP_CONTROL", &control)
        .env("COREHOP_CPUS", processors)
        // Regardless of other load on the machine.
        .env("COREHOP_RUN_DELAY", "100")
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let mut running = start(&mut command);
    running.until(|| {
        order(&control, "auto");
        let has_answer = |told: Statistics| told.0["auto"]["verdict"] != "none yet";
        let is_written = statistics.exists();
        (is_written && has_answer(Statistics::read(&statistics))).then_some(())
    });
    std::fs::remove_file(&lasts).unwrap();
    let ran = running.finish();
    assert!(ran.status.success(), "{}", ran.errors);
    assert_eq!(ran.errors, "");
    (
        ran.output.trim().parse().unwrap(),
        Statistics::read(&statistics),
    )
}

#[test]
fn auto_decides_on_hops_by_data_and_counts_them_by_object() {
    let processors = workshop::two_cpus();
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "tables", &["-std=c++20"], &["tables.cpp"]);
    let program = patched(&plain, &plan(&plain), folder.path()).output;
    let (requests, statistics) = counted(&program, &processors);
    let auto = &statistics.0["auto"];
    assert!(
        auto["verdict"] == "gain" || auto["verdict"] == "no gain",
        "{auto}"
    );
    let number = |key: &str| auto[key].as_u64().unwrap();
    assert!(number("trials") > 0 && number("pairs") >= 4, "{auto}");
    assert!(number("won") <= number("pairs") && number("gains") <= number("trials"));
    assert_eq!(statistics.of("request"), (requests, 0));
    // While hopping is stopped, calls are not counted, and objects are not tracked.
    let (calls, hops) = statistics.of("walk");
    assert!(0 < hops && hops <= calls && calls <= requests);
    let functions = statistics.0["functions"].as_array().unwrap();
    let walk = functions.iter().find(|f| f["symbol"] == "walk").unwrap();
    assert_eq!(
        (&walk["by"], &walk["core"]),
        (&"argument 1".into(), &serde_json::Value::Null)
    );
    assert_eq!(statistics.count("walk", "objects"), TABLES);
    assert_eq!(statistics.count("walk", "forgotten"), 0);
    let by_core = walk["calls_by_core"].as_array().unwrap();
    let by_core: Vec<u64> = by_core
        .iter()
        .map(|calls| calls.as_u64().unwrap())
        .collect();
    assert!(
        by_core.len() == 2 && by_core.iter().all(|&calls| calls > 0),
        "{walk}"
    );
    assert!(by_core.iter().sum::<u64>() <= calls);
}
