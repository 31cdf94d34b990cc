//! Threads that came by one hook run consecutively, and the waiting of each thread is bounded.
//!
//! The choice of a core is tested on random orders. The runtime's own files run in a separate
//! program (`fixtures/cohorts.c`), and are compared with a simple implementation of the rule. Then
//! a patched program shows that cohorts form, and that everything else is unchanged.

use crate::workshop::{self, Statistics, build, patched, plan_of, run};
use corehop_lab::cohorts::LIBRARY;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

const HOOKS: u32 = 4;

/// An event at a core: a thread comes by a hook, or one runs.
#[derive(Clone, Copy, Debug)]
enum Event {
    Comes(u32),
    Take,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        (0..HOOKS).prop_map(Event::Comes),
        // Some hooks are more frequent.
        Just(Event::Comes(1)),
        Just(Event::Take),
        Just(Event::Take),
    ];
    proptest::collection::vec(event, 1..120)
}

/// The history of a thread.
#[derive(Clone, Copy, Debug)]
struct Thread {
    number: usize,
    hook: u32,
    /// Number of later threads that ran before it.
    overtaken: u32,
    /// Those of them that ran while it was the oldest.
    overtaken_as_oldest: u32,
}

/// A core that implements the rule.
struct Core {
    most: u32,
    came: usize,
    /// In order of arrival.
    waiting: Vec<Thread>,
    turn: Option<(u32, u32)>,
    /// Threads run, changes of the hook, overtaking.
    counts: [u64; 3],
}

impl Core {
    fn new(most: u32) -> Core {
        Core {
            most,
            came: 0,
            waiting: Vec::new(),
            turn: None,
            counts: [0; 3],
        }
    }

    fn comes(&mut self, hook: u32) {
        self.waiting.push(Thread {
            number: self.came,
            hook,
            overtaken: 0,
            overtaken_as_oldest: 0,
        });
        self.came += 1;
    }

    fn take(&mut self) -> Option<Thread> {
        let turn = self.turn.filter(|(_, taken)| *taken < self.most);
        let goes_on = turn.and_then(|(hook, taken)| {
            let mut waiting = self.waiting.iter();
            let place = waiting.position(|thread| thread.hook == hook)?;
            Some((place, (hook, taken + 1)))
        });
        let oldest = self.waiting.first().map(|oldest| (0, (oldest.hook, 1)));
        let (place, turn) = goes_on.or(oldest)?;
        let changes = self.turn.is_none_or(|(hook, _)| hook != turn.0);
        self.turn = Some(turn);
        let thread = self.waiting.remove(place);
        for (older, overtaken) in self.waiting[..place].iter_mut().enumerate() {
            overtaken.overtaken += 1;
            overtaken.overtaken_as_oldest += u32::from(older == 0);
        }
        let counted = [true, changes, place > 0];
        for (count, is_one) in self.counts.iter_mut().zip(counted) {
            *count += u64::from(is_one);
        }
        Some(thread)
    }
}

/// Returns the output of the rule, line by line like the program's, and checks the bound.
fn expected(most: u32, events: &[Event]) -> Result<String, TestCaseError> {
    let mut core = Core::new(most);
    let mut lines = String::new();
    for event in events {
        match event {
            Event::Comes(hook) => core.comes(*hook),
            Event::Take => match core.take() {
                None => lines += "none ",
                Some(thread) => {
                    prop_assert!(thread.overtaken <= (most - 1) * (HOOKS - 1), "{thread:?}");
                    prop_assert!(thread.overtaken_as_oldest < most, "{thread:?}");
                    lines += &format!("{} ", thread.number);
                }
            },
        }
        lines += &format!("{}\n", core.waiting.len());
    }
    let [taken, changes, overtaking] = match most {
        1 => [0; 3],
        _ => core.counts,
    };
    lines += &format!("{taken} {changes} {overtaking}\n");
    Ok(lines)
}

/// Builds the runtime's run queue with this experiment's order, separately.
fn build_alone(folder: &Path) -> PathBuf {
    let here = env!("CARGO_MANIFEST_DIR");
    let layers = ["system", "threads", "hooks", "run_queues"];
    let layers = layers.map(|layer| format!("-I{here}/../../runtime/{layer}"));
    let own = format!("-I{here}/runtime");
    let mut flags = vec!["-xc", "-std=gnu11", "-DCOREHOP_ABI=0", &*own];
    flags.extend(layers.iter().map(String::as_str));
    build(folder, "cohorts", &flags, &["cohorts.c"])
}

#[test]
fn whoever_is_taken_is_who_the_rule_says_and_nobody_is_overtaken_more_often_than_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let program = build_alone(folder.path());
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    };
    proptest!(config, |(most in 1u32..6, events in events())| {
        let mut command = Command::new(&program);
        command.arg(most.to_string());
        for event in &events {
            match event {
                Event::Comes(hook) => command.arg(hook.to_string()),
                Event::Take => command.arg("-"),
            };
        }
        let ran = command.output().unwrap();
        prop_assert!(ran.status.success());
        let said = String::from_utf8(ran.stdout).unwrap();
        prop_assert_eq!(said, expected(most, &events)?);
    });
}

#[test]
fn the_bound_is_met() {
    // One thread of each hook, the observed one last, followed by those that overtake it.
    let hooks = [1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 0];
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(build_alone(folder.path()));
    command.arg("3").args(hooks.map(|hook| hook.to_string()));
    let ran = run(command.args(["-"; 11]));
    let lines: Vec<&str> = ran.output.lines().collect();
    let taken = lines[11..22]
        .iter()
        .map(|line| line.split(' ').next().unwrap());
    // Six fibers overtake fiber 3; the other fibers of its hook do not.
    let expected = ["0", "4", "7", "1", "5", "8", "2", "6", "9", "3", "10"];
    assert_eq!(taken.collect::<Vec<_>>(), expected);
    assert_eq!(lines[22], "11 4 6");
}

const THREADS: usize = 12;
const ROUNDS: usize = 60;
const MOST: usize = 4;

/// A program with two stages on one core.
struct Stages {
    folder: tempfile::TempDir,
    program: PathBuf,
}

/// A run of a stage.
struct Run {
    thread: usize,
    stage: usize,
    /// Its position in the order in which threads left for the stages' core.
    set_out: usize,
}

fn stages() -> Stages {
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "stages", &["-std=c++20"], &["stages.cpp"]);
    let named = [("apart", 0), ("first_stage", 1), ("second_stage", 1)];
    let plan = plan_of(&plain, 2, &named);
    let program = patched(&plain, &plan, folder.path()).output;
    let runtime = folder.path().join(corehop_runtime::NAME);
    std::fs::write(runtime, LIBRARY).unwrap();
    Stages { folder, program }
}

impl Stages {
    fn finish(&self, cohort: &str, rounds: usize, more: &[&str]) -> (String, Statistics) {
        let file = self.folder.path().join("statistics");
        let mut command = Command::new(&self.program);
        command
            .args([THREADS.to_string(), rounds.to_string()])
            .args(more)
            .env("COREHOP_BACKEND", "carrier")
            .env("COREHOP_COHORT", cohort)
            .env("COREHOP_STATS", &file)
            .envs(workshop::WHEREVER)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        if let Some(processors) = workshop::two_processors() {
            command.env("COREHOP_CPUS", processors);
        }
        let ran = run(&mut command);
        assert!(ran.status.success(), "{}", ran.errors);
        assert_eq!(ran.errors, "");
        (ran.output, Statistics::read(&file))
    }

    /// Returns all runs of stages in order, and the statistics.
    fn runs(&self, cohort: &str) -> (Vec<Run>, Statistics) {
        let (output, statistics) = self.finish(cohort, ROUNDS, &[]);
        let run = |line: &str| {
            let mut numbers = line.split(' ').map(|number| number.parse().unwrap());
            let mut next = || numbers.next().unwrap();
            Run {
                thread: next(),
                stage: next(),
                set_out: next(),
            }
        };
        (output.lines().map(run).collect(), statistics)
    }
}

/// Returns the maximum, over all runs, of the number of threads that left later but ran before.
fn most_overtaken(runs: &[Run]) -> usize {
    let overtaken = |(place, run): (usize, &Run)| {
        let before = runs[..place].iter();
        before.filter(|other| other.set_out > run.set_out).count()
    };
    runs.iter().enumerate().map(overtaken).max().unwrap()
}

/// Checks that each thread runs its stages the right number of times, in its own order.
fn check(runs: &[Run]) {
    for thread in 0..THREADS {
        let own = runs.iter().filter(|run| run.thread == thread);
        let stages: Vec<usize> = own.map(|run| run.stage).collect();
        let expected = (0..2 * ROUNDS).map(|round| ((round >> (thread % 3)) + thread) % 2);
        let expected: Vec<usize> = expected.collect();
        assert_eq!(stages, expected);
    }
}

#[test]
fn threads_of_one_stage_run_in_turn_and_nobody_is_left_behind() {
    let stages = stages();
    let mut are_in_turn = false;
    // If a worker thread loses its CPU, a spare one runs others, and orders are not meaningful.
    for _ in 0..20 {
        let (runs, statistics) = stages.runs(&MOST.to_string());
        check(&runs);
        let cohorts = &statistics.0["cohorts"];
        let number = |key: &str| cohorts[key].as_u64().unwrap();
        assert_eq!(number("most"), MOST as u64);
        let all = 4 * THREADS * ROUNDS;
        assert!(number("taken") >= all as u64, "{cohorts}");
        assert!(number("changes") < number("taken"), "{cohorts}");
        are_in_turn |= number("overtaking") > 0;
        if statistics.total("stalls") == 0 {
            // Two hooks lead threads to the stages' core.
            let most = most_overtaken(&runs);
            assert!(most < MOST, "{most}");
        }
        if are_in_turn && statistics.total("stalls") == 0 {
            break;
        }
    }
    assert!(are_in_turn);
}

#[test]
fn threads_run_in_the_order_in_which_they_come_unless_cohorts_are_asked_for() {
    let stages = stages();
    for cohort in ["", "1", "0"] {
        let (runs, statistics) = stages.runs(cohort);
        check(&runs);
        assert!(statistics.0.get("cohorts").is_none());
        if statistics.total("stalls") == 0 {
            assert_eq!(most_overtaken(&runs), 0);
        }
    }
}

#[test]
fn forks_programs_and_signals_find_everybody_who_waits_for_a_turn() {
    let stages = stages();
    let (said, statistics) = stages.finish(&MOST.to_string(), 1, &["disturbed"]);
    assert_eq!(said, "20 of 20 children, 0 signals lost\n");
    assert_eq!(statistics.total("failed_hops"), 0);
}
