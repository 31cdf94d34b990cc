//! A program whose threads migrate back when calls return makes as many hops as a replay of its
//! trace predicts, for every way to end a call.

use crate::recording::Recording;
use crate::written::started;
use corehop_patcher::{Analysis, patch};
use corehop_plan::Mode::{Call, Enter};
use corehop_plan::{Destination, Mode, Plan, PlannedFunction};
use std::path::Path;
use std::process::Command;

pub type Planned = (&'static str, u32, Mode);

/// Plans for a trial of the program, and the number of hops with each.
type Plans = &'static [(&'static [Planned], u64)];

const EXCEPTIONS: Plans = &[
    (&[("passes_on", 1, Call), ("on_first", 0, Enter)], 200),
    (
        &[
            ("passes_on", 1, Call),
            ("throws", 0, Call),
            ("plain", 1, Enter),
        ],
        400,
    ),
    (
        &[
            ("catches", 1, Call),
            ("passes_on", 0, Call),
            ("throws", 1, Call),
            ("plain", 0, Call),
        ],
        600,
    ),
];

const JUMPS: Plans = &[(&[("jumps_out", 1, Call), ("on_first", 0, Enter)], 20)];

const RETURNS: Plans = &[
    (
        &[
            ("plain", 1, Call),
            ("recursive", 1, Call),
            ("moves_inside", 1, Call),
            ("on_second", 0, Enter),
            ("calls_at_its_end", 1, Call),
            ("tail_called", 0, Call),
        ],
        8,
    ),
    (
        &[
            ("returns_large", 1, Call),
            ("returns_pair", 1, Call),
            ("calls_at_its_end", 1, Call),
            ("tail_called", 0, Enter),
        ],
        6,
    ),
];

/// The handler also calls `plain`, as does the program after each of five signals.
const SIGNALS: Plans = &[
    (&[("plain", 1, Call)], 10),
    (&[("plain", 1, Call), ("within", 1, Call)], 10),
    (&[("plain", 1, Enter), ("within", 0, Enter)], 11),
];

/// Returns a plan of these functions of a program, by symbol.
pub fn plan(binary: &Path, planned: &[Planned]) -> Plan {
    let analysis = Analysis::of(binary).unwrap();
    let of = |&(symbol, core, mode): &Planned| {
        let mut functions = analysis.functions().iter();
        let function = functions.find(|f| f.symbol.as_deref() == Some(symbol));
        PlannedFunction {
            module: binary.to_str().unwrap().into(),
            build_id: analysis.build_id().unwrap().into(),
            offset: function.unwrap().offset,
            symbol: symbol.into(),
            to: Destination::Core(core),
            mode,
        }
    };
    Plan {
        version: corehop_plan::VERSION,
        machine: "any".into(),
        trace: "trace".into(),
        cores: 2,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: planned.iter().map(of).collect(),
    }
}

/// Returns a number from the JSON that a program wrote.
pub fn number(text: &[u8], key: &str) -> u64 {
    let found: serde_json::Value = serde_json::from_slice(text).unwrap();
    found[key].as_u64().unwrap()
}

/// Returns the hops of a program with this plan in a replay of its trace.
pub fn predicted(recording: &Recording, plan: &Plan) -> u64 {
    let path = recording.folder().join("split.toml");
    corehop_plan::write(plan, &path).unwrap();
    let replayed = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "--json", "--plan"])
        .args([path, recording.path()])
        .output()
        .unwrap();
    let told = crate::conforming::read(&["replay"], &replayed.stdout);
    told["hops"].as_u64().unwrap()
}

/// Returns the hops of the program in a replay of its trace, and in a run.
fn predicted_and_counted(recording: &Recording, trial: &str, planned: &[Planned]) -> [u64; 2] {
    let path = |name: &str| recording.folder().join(name);
    let plan = plan(&path("delegates"), planned);
    let hooked = path("delegates.hop");
    patch(&path("delegates"), &plan, &hooked, true).unwrap();
    let mut command = Command::new(&hooked);
    command
        .arg(trial)
        .env("COREHOP_BACKEND", "count")
        .env("COREHOP_STATS", path("statistics"));
    let ran = started(|| command.output());
    assert!(ran.status.success());
    let statistics = std::fs::read(path("statistics")).unwrap();
    [predicted(recording, &plan), number(&statistics, "hops")]
}

#[test]
fn a_hooked_program_hops_as_often_as_the_replay_of_its_trace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (trial, plans) in [
        ("exceptions", EXCEPTIONS),
        ("jumps", JUMPS),
        ("returns", RETURNS),
        ("signals", SIGNALS),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let built = Command::new("c++")
            .args(["-O2", "-pthread", "-Wl,--build-id=sha1", "-o"])
            .arg(folder.path().join("delegates"))
            .arg(root.join("patcher/tests/fixtures/delegates.cpp"))
            .status();
        assert!(built.unwrap().success());
        // The first request begins before all other calls, so the trace contains the return of
        // each.
        let arguments = ["--request-at", "on_first", "--", "./delegates", trial];
        let mut recording = Recording::start_in(folder, arguments);
        recording.trace();
        for &(planned, expected) in plans {
            let hops = predicted_and_counted(&recording, trial, planned);
            assert_eq!(hops, [expected; 2], "{trial} {planned:?}");
        }
    }
}
