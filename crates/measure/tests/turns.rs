//! Both sides alternate, the observer receives the progress, and failures give their reason.
//!
//! Both sides are shell scripts, so the tests need no hooks and do not depend on this machine's
//! speed.

use corehop_measure::rounds::{
    Answer, Limits, Outlook, Question, Rounds, Standing, Verdict, take_turns,
};
use corehop_measure::server::{Backend, Ready, Sign, UnderLoad, expression};
use corehop_measure::{Error, Observer, Setup, Trials};
use corehop_plan::Plan;
use std::cell::RefCell;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Collects progress messages, and requests the end once a file exists.
struct Watcher {
    told: RefCell<Vec<String>>,
    until: PathBuf,
}

impl Watcher {
    fn new(until: PathBuf) -> Watcher {
        Watcher {
            told: RefCell::default(),
            until,
        }
    }

    fn keep(&self, said: String) {
        self.told.borrow_mut().push(said);
    }
}

impl Observer for Watcher {
    fn begin(&self, stage: &str, total: Option<u64>) {
        self.keep(format!("{stage}: {}", total.unwrap_or_default()));
    }

    fn advance(&self, _: u64) {}

    fn end(&self) {
        self.keep("end".into());
    }

    fn round(&self, number: usize, throughputs: &[f64]) {
        self.keep(format!("round {number}: {throughputs:?}"));
    }

    fn stands(&self, standing: &Standing) {
        let (round, most) = (standing.round, standing.most);
        self.keep(format!("{round} of {most}: {:?}", standing.stage));
    }

    fn estimated(&self, outlook: &Outlook) {
        self.keep(format!("{} rounds", outlook.rounds));
    }

    fn said(&self, line: &str) {
        self.keep(line.into());
    }

    fn is_interrupted(&self) -> bool {
        self.until.exists()
    }
}

fn plan() -> Plan {
    let text = "version = 1\nmachine = 'xeon-e5-2620-v4'\ntrace = 't'\ncores = 2\nseed = 1\n\
                [[function]]\nmodule = '/server'\nbuild_id = '00'\noffset = 16\nsymbol = 'f'\n\
                core = 0\nmode = 'enter'\n\
                [[function]]\nmodule = '/server'\nbuild_id = '00'\noffset = 32\nsymbol = 'g'\n\
                core = 1\nmode = 'enter'\n";
    corehop_plan::parse(text, Path::new("split.toml")).unwrap()
}

/// Writes a program that records its name in a file in its folder and then runs `does`.
fn script(folder: &Path, name: &str, does: &str) -> PathBuf {
    let path = folder.join(name);
    let order = folder.join("order").display().to_string();
    let text = format!("#!/bin/sh\necho {name} >> '{order}'\n{does}\n");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn under_load(warm_up: u32) -> UnderLoad {
    UnderLoad {
        load: None,
        prepare: None,
        ready: Ready {
            sign: Sign::Listens,
            within: Duration::from_secs(1),
        },
        warm_up,
        throughput: Some(expression("rate ([0-9.]+)").unwrap()),
        latency: None,
    }
}

/// Measures two rounds of scripts that run these commands.
fn measure(folder: &Path, sides: [&str; 2], watcher: &Watcher) -> Result<(), Error> {
    let rounds = rounds(folder, sides, watcher, 2)?;
    assert_eq!(rounds.medians(|sample| sample.throughput), [10.0, 20.0]);
    assert_eq!(rounds.comparison().verdict(), Verdict::Faster);
    assert_eq!(rounds.hops(), None);
    Ok(())
}

fn rounds(
    folder: &Path,
    [original, patched]: [&str; 2],
    watcher: &Watcher,
    count: u32,
) -> Result<Rounds, Error> {
    let original: OsString = script(folder, "original", original).into();
    let patched = script(folder, "patched", patched);
    let under = under_load(1);
    let setup = Setup {
        under: &under,
        command: &[original],
        system_calls: None,
        patched: Some(&patched),
        count: None,
        backend: Backend::OfEnvironment,
        kinds: &[],
        observer: watcher,
    };
    let limits = Limits::fixed(count, Question::Difference);
    take_turns(&Trials::new(setup, Some(&plan()))?, &limits)
}

#[test]
fn both_sides_take_turns_and_every_other_round_the_patched_one_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let watcher = Watcher::new(folder.path().join("never"));
    let sides = ["echo rate 10", "echo rate 20; echo hooked >&2"];
    measure(folder.path(), sides, &watcher).unwrap();
    let order = std::fs::read_to_string(folder.path().join("order")).unwrap();
    let expected = "original patched original patched patched original";
    assert_eq!(order.lines().collect::<Vec<_>>().join(" "), expected);
    let expected = [
        "runs made to warm up: 2",
        "hooked",
        "end",
        "runs of original and patched made: 4",
        "hooked",
        "round 1: [10.0, 20.0]",
        "hooked",
        "round 2: [10.0, 20.0]",
        "2 of 2: Answering(Gain)",
        "end",
    ];
    assert_eq!(*watcher.told.borrow(), expected);
}

#[test]
fn a_side_that_fails_says_what_it_printed() {
    let folder = tempfile::tempdir().unwrap();
    let sides = ["echo rate 10", "echo no room >&2; exit 3"];
    let never = folder.path().join("never");
    let failed = measure(folder.path(), sides, &Watcher::new(never)).unwrap_err();
    assert_eq!(failed.to_string(), "the program failed, exit status: 3");
    assert_eq!(failed.said(), ["no room"]);
}

#[test]
fn an_interruption_ends_the_server_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let late = format!(
        "echo $$ > '{0}.part'; mv '{0}.part' '{0}'; exec sleep 1000",
        runs.display()
    );
    let sides = ["echo rate 10", &late];
    let failed = measure(folder.path(), sides, &Watcher::new(runs.clone())).unwrap_err();
    assert!(matches!(failed, Error::Interrupted), "{failed}");
    let server = std::fs::read_to_string(&runs).unwrap();
    assert!(!Path::new("/proc").join(server.trim()).exists());
}

#[test]
fn an_error_keeps_the_rounds_before_it_once_two_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let order = folder.path().join("order").display().to_string();
    let fails_in =
        |run: usize| format!("[ $(grep -c patched '{order}') -lt {run} ] || exit 3; echo rate 20");
    let never = Watcher::new(folder.path().join("never"));
    let measured = |patched: &str| {
        let _ = std::fs::remove_file(&order);
        rounds(folder.path(), ["echo rate 10", patched], &never, 5)
    };
    // One run warms up.
    let kept = measured(&fails_in(5)).unwrap();
    assert_eq!(kept.all().len(), 3);
    assert_eq!(kept.comparison().verdict(), Verdict::Faster);
    assert_eq!(kept.answer(), Answer::Open);
    assert_eq!(never.told.borrow().last().unwrap(), "end");
    let why = kept.into_why_cut_short().unwrap();
    assert!(matches!(why, Error::ProgramFailed { .. }), "{why}");
    assert_eq!(measured(&fails_in(4)).unwrap().all().len(), 2);
    assert!(matches!(
        measured(&fails_in(3)),
        Err(Error::ProgramFailed { .. })
    ));
    let all = measured(&fails_in(7)).unwrap();
    assert!(all.all().len() == 5 && all.why_cut_short().is_none());
}
