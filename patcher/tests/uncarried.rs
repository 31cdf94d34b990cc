//! Programs that the carrier backend must refuse are recognized in advance, and the runtime acts
//! accordingly.
//!
//! The fixture performs the action of each row of the table, after ten hops to each core. The
//! runtime must then react as in the row, and `auto` must not begin if the plan records the reason.

use crate::workshop::{
    self, Finished, Statistics, build, order, patched, plan_of, plan_of_all, run, start,
    start_reading,
};
use corehop_patcher::{Imports, InMemory};
use corehop_plan::Plan;
use corehop_plan::carriers::{Effect, ROWS, Row};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The fixture's actions, each with its reason.
#[path = "uncarried/things.rs"]
mod things;

use things::THINGS;

const REASON: &str = "it installs a seccomp filter";

struct Fixture {
    folder: tempfile::TempDir,
    plain: PathBuf,
    plan: Plan,
}

impl Fixture {
    fn of(refusal: Option<&str>) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let plain = build(folder.path(), "uncarried", &["-xc"], &["uncarried.c"]);
        let mut plan = plan_of(&plain, 2, &[("first_core", 0), ("second_core", 1)]);
        plan.carriers_refuse = refusal.map(str::to_owned);
        Fixture {
            folder,
            plain,
            plan,
        }
    }

    /// Runs the patched program with the action `thing`; it must end like the unpatched one.
    fn runs(&self, backend: &str, thing: &str) -> Finished {
        let file = self.folder.path().join("hooked");
        std::fs::create_dir_all(&file).unwrap();
        let program = file.join("uncarried");
        if !program.exists() {
            corehop_patcher::patch(&self.plain, &self.plan, &program, false).unwrap();
        }
        self.ends(Command::new(program), backend, thing)
    }

    fn ends(&self, mut command: Command, backend: &str, thing: &str) -> Finished {
        command.arg(thing).current_dir(self.folder.path());
        command.env("COREHOP_STATS", "statistics");
        workshop::hops_by(&mut command, backend);
        let finished = run(&mut command);
        assert!(finished.status.success(), "{thing}: {}", finished.errors);
        assert_eq!(finished.output, "entered 120\n", "{thing}");
        finished
    }

    fn statistics(&self) -> Statistics {
        Statistics::read(&self.folder.path().join("statistics"))
    }
}

fn row(reason: &str) -> &'static Row {
    let row = ROWS.iter().find(|row| row.reason == reason);
    row.unwrap_or_else(|| panic!("{reason} is in no row"))
}

#[test]
fn the_runtime_does_of_every_row_what_the_row_says() {
    for row in ROWS {
        let is_tried = THINGS.iter().any(|(_, reason)| *reason == row.reason);
        assert!(is_tried, "no thing is tried of: {}", row.reason);
    }
    let fixture = Fixture::of(None);
    for (thing, reason) in THINGS {
        let finished = fixture.runs("carrier", thing);
        let statistics = fixture.statistics();
        let (backend, hops) = (&statistics.0["backend"], statistics.of("second_core").1);
        let goes_on = finished.errors.contains("from here on affinity");
        match row(reason).effect {
            Effect::Refuses => {
                assert!(statistics.0["carriers_refuse"].is_string(), "{thing}");
                if goes_on {
                    assert_eq!(backend, "affinity", "{thing}");
                } else {
                    assert_eq!((backend.as_str(), hops), (Some("off"), 10), "{thing}");
                }
            }
            Effect::StaysHome => {
                assert!(statistics.0["carriers_refuse"].is_null(), "{thing}");
                assert_eq!(finished.errors, "", "{thing}");
                assert_eq!((backend.as_str(), hops), (Some("carrier"), 10), "{thing}");
                assert_eq!(statistics.of("second_core").0, 60, "{thing}");
            }
        }
    }
    // Without any such action, it continues to hop.
    fixture.runs("carrier", "nothing");
    assert_eq!(fixture.statistics().of("second_core"), (60, 60));
}

#[test]
fn the_page_on_carriers_has_a_line_for_every_row() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/carrier.md");
    let page = std::fs::read_to_string(page).unwrap();
    for row in ROWS {
        let line = page
            .lines()
            .find(|line| line.starts_with(&format!("| {} |", row.reason)));
        let line = line.unwrap_or_else(|| panic!("no line: {}", row.reason));
        for function in row.functions {
            assert!(line.contains(&format!("| `{function}` |")), "{line}");
        }
    }
}

#[test]
fn auto_never_begins_where_the_plan_says_that_carriers_refuse() {
    let fixture = Fixture::of(Some(REASON));
    let finished = fixture.runs("auto", "nothing");
    let said = format!("corehop: carriers refuse: {REASON}: running without hops\n");
    assert_eq!(finished.errors, said);
    let statistics = fixture.statistics();
    assert_eq!(statistics.0["backend"], "off");
    assert_eq!(statistics.0["carriers_refuse"], REASON);
    assert_eq!(statistics.0["auto"], serde_json::Value::Null);
    assert_eq!(statistics.of("second_core"), (0, 0));
    // The same plan without the reason.
    let known = Fixture::of(None);
    let finished = known.runs("auto", "nothing");
    assert_eq!(finished.errors, "");
    assert_eq!(known.statistics().0["auto"]["verdict"], "none yet");
}

#[test]
fn nor_does_it_where_the_hooks_are_put_in_place_in_memory() {
    let fixture = Fixture::of(Some(REASON));
    let hooks = InMemory::new(&fixture.plain, &fixture.plan).unwrap();
    let mut command = Command::new(&fixture.plain);
    hooks.hook(&mut command, None);
    let finished = fixture.ends(command, "auto", "nothing");
    let said = format!("corehop: carriers refuse: {REASON}: running without hops\n");
    assert_eq!(finished.errors, said);
    assert_eq!(fixture.statistics().0["carriers_refuse"], REASON);
}

#[test]
fn nor_does_an_order_have_it_begin() {
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "waits", &[], &["waits.cpp"]);
    let mut plan = plan_of(&plain, 2, &[("second_core", 1)]);
    plan.carriers_refuse = Some(REASON.into());
    let mut command = Command::new(patched(&plain, &plan, folder.path()).output);
    command.arg("default").current_dir(folder.path());
    workshop::hops_by(&mut command, "count");
    let mut running = start(command.env("COREHOP_CONTROL", "control"));
    running.until_it_says("waits");
    order(&folder.path().join("control"), "auto");
    running.until_it_says("auto cannot be used here: going on as before");
    running.stop();
}

#[test]
fn carriers_that_are_asked_for_by_name_refuse_with_the_reason() {
    let fixture = Fixture::of(Some(REASON));
    let finished = fixture.runs("carrier", "nothing");
    let said = format!("corehop: COREHOP_BACKEND=carrier: {REASON}: using affinity\n");
    assert_eq!(finished.errors, said);
    let statistics = fixture.statistics();
    assert_eq!(statistics.0["backend"], "affinity");
    assert_eq!(statistics.0["carriers_refuse"], REASON);
    let finished = fixture.runs("count", "nothing");
    assert_eq!(finished.errors, "");
    assert_eq!(fixture.statistics().of("second_core"), (60, 60));
}

#[test]
fn the_patched_file_keeps_the_reason_and_is_verified_with_it() {
    let fixture = Fixture::of(Some(REASON));
    let hooked = patched(&fixture.plain, &fixture.plan, fixture.folder.path()).output;
    let verified = corehop_patcher::verify(&hooked, Some(&fixture.plain)).unwrap();
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    let bytes = std::fs::read(hooked).unwrap();
    let kept = bytes.windows(REASON.len() + 1);
    assert!(
        kept.clone()
            .any(|some| some == format!("{REASON}\0").as_bytes())
    );
}

/// The input that apt passes to its HTTP method, which then installs a filter.
const CONFIGURATION: &str = "601 Configuration\nConfig-Item: APT::Sandbox::Seccomp=true\n\n";

#[test]
fn a_program_of_debian_that_installs_a_filter_is_left_alone_beforehand_or_then() {
    let binary = Path::new("/usr/lib/apt/methods/http");
    assert!(Imports::of(binary).unwrap().has("seccomp_load"));
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("configuration");
    std::fs::write(&configuration, CONFIGURATION).unwrap();
    let runs = |program: &Path, backend: &str| {
        let mut command = Command::new(program);
        command.current_dir(folder.path());
        workshop::hops_by(&mut command, backend);
        command.env("COREHOP_STATS", "statistics");
        let input = File::open(&configuration).unwrap();
        start_reading(&mut command, input.into()).finish()
    };
    let bare = runs(binary, "off");
    let mut plan = plan_of_all(binary, 2);
    for (refusal, said) in [
        (
            None,
            "the program filters its system calls: from here on without hops, and without \
             statistics",
        ),
        (
            Some(REASON),
            "carriers refuse: it installs a seccomp filter: running without hops",
        ),
    ] {
        plan.carriers_refuse = refusal.map(str::to_owned);
        let hooked = folder.path().join(if refusal.is_some() {
            "known"
        } else {
            "unknown"
        });
        corehop_patcher::patch(binary, &plan, &hooked, false).unwrap();
        let moved = runs(&hooked, "auto");
        assert_eq!(moved.output, bare.output);
        assert_eq!(moved.status.code(), bare.status.code());
        assert_eq!(moved.errors, format!("corehop: {said}\n{}", bare.errors));
        let statistics = Statistics::read(&folder.path().join("statistics"));
        let refused = refusal.unwrap_or("the program filters its system calls");
        assert_eq!(statistics.0["carriers_refuse"], refused);
        assert_eq!(statistics.total("calls") == 0, refusal.is_some());
    }
}
