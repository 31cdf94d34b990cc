//! Functions that hop by an argument: each object has a core, and the calls about it go there.

use crate::workshop::objects::Objects;
use crate::workshop::{self, Statistics, build, patched, plan_of, run};
use corehop_patcher::InMemory;
use corehop_plan::{Argument, By, Destination, Mode, Plan};
use std::path::{Path, PathBuf};
use std::process::Command;

const BACKENDS: [&str; 3] = ["count", "affinity", "carrier"];

struct Bench {
    folder: tempfile::TempDir,
    plain: PathBuf,
}

/// The results of a program that walked lists.
struct Walked {
    lists: Vec<u64>,
    sum: i64,
    statistics: Statistics,
}

fn bench() -> Bench {
    bench_built(&[])
}

fn bench_built(flags: &[&str]) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let plain = build(folder.path(), "lists", flags, &["lists.cpp"]);
    Bench { folder, plain }
}

/// Returns the plan in which the first function hops by an argument.
fn by_argument(plan: Plan, argument: Argument) -> Plan {
    by(plan, argument.into())
}

fn by(mut plan: Plan, by: By) -> Plan {
    plan.version = corehop_plan::VERSION_BY_ARGUMENT;
    plan.functions[0].to = Destination::By(by);
    plan
}

impl Bench {
    fn plan(&self, cores: u32) -> Plan {
        by_argument(
            plan_of(&self.plain, cores, &[("walk", 0)]),
            Argument::ALL[0],
        )
    }

    fn patched(&self, plan: &Plan) -> PathBuf {
        patched(&self.plain, plan, self.folder.path()).output
    }

    fn command(&self, program: &Path, backend: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(words)
            .env("COREHOP_BACKEND", backend)
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .envs(workshop::WHEREVER)
            .env("COREHOP_STATS", self.folder.path().join("statistics"));
        let processors = workshop::two_of_its_own().unwrap_or("0,0".into());
        command.env("COREHOP_CPUS", processors);
        command
    }

    fn walk(&self, program: &Path, backend: &str, words: &[&str]) -> Walked {
        let ran = run(&mut self.command(program, backend, words));
        assert!(ran.status.success(), "{backend} {words:?}: {}", ran.errors);
        assert_eq!(ran.errors, "", "{backend} {words:?}");
        let statistics = Statistics::read(&self.folder.path().join("statistics"));
        assert_eq!(statistics.total("failed_hops"), 0);
        Walked::new(&ran.output, statistics)
    }
}

impl Walked {
    fn new(output: &str, statistics: Statistics) -> Walked {
        let (lists, sum) = output.split_once('\n').unwrap();
        let address = |text| u64::from_str_radix(text, 16).unwrap();
        Walked {
            lists: lists.split_whitespace().map(address).collect(),
            sum: sum.trim().parse().unwrap(),
            statistics,
        }
    }

    fn list(&self, letter: u8) -> u64 {
        match letter {
            b'-' => 0,
            b'.' => 0xfff0,
            b'^' => u64::MAX - 15,
            letter => self.lists[(letter - b'a') as usize],
        }
    }

    fn by_core(&self, symbol: &str) -> Vec<u64> {
        let functions = self.statistics.0["functions"].as_array().unwrap();
        let found = functions.iter().find(|f| f["symbol"] == symbol).unwrap();
        let calls = found["calls_by_core"].as_array().unwrap();
        calls.iter().map(|calls| calls.as_u64().unwrap()).collect()
    }

    /// Checks the counts at `walk` against the rules, for calls with these arguments.
    fn check(&self, cores: usize, arguments: impl IntoIterator<Item = u64>) {
        self.check_after(Objects::new(cores), arguments);
    }

    fn check_after(&self, mut objects: Objects, arguments: impl IntoIterator<Item = u64>) {
        let (mut calls, mut hops, mut on) = (0, 0, 0);
        for argument in arguments {
            calls += 1;
            let core = objects.call(0, argument).unwrap_or(on);
            hops += u64::from(core != on);
            on = core;
        }
        let of = &self.statistics;
        assert_eq!(of.of("walk"), (calls, hops));
        assert_eq!(self.by_core("walk"), objects.by_core[&0]);
        assert_eq!(of.count("walk", "objects"), objects.seen[&0]);
        let forgotten = objects.seen[&0] - objects.known(0);
        assert_eq!(of.count("walk", "forgotten"), forgotten);
        let early = objects.early.get(&0).copied().unwrap_or(0);
        assert_eq!(of.count("walk", "early_calls"), early);
    }
}

#[test]
fn each_list_is_walked_on_one_core_and_hops_are_exact() {
    let bench = bench();
    let program = bench.patched(&bench.plan(2));
    let walks = "abcdabcddcbaaabbccaacbdbcadcbdabcbbbbacd";
    for backend in BACKENDS {
        let walked = bench.walk(&program, backend, &["4", "once", walks]);
        let values: i64 = walks
            .bytes()
            .map(|list| 1000 + i64::from(list - b'a'))
            .sum();
        assert_eq!(walked.sum, values, "{backend}");
        assert_eq!(walked.statistics.0["backend"], backend);
        walked.check(2, walks.bytes().map(|letter| walked.list(letter)));
        let calls = |lists: [u8; 2]| walks.bytes().filter(|list| lists.contains(list)).count();
        let expected = [calls([b'a', b'c']) as u64, calls([b'b', b'd']) as u64];
        assert_eq!(walked.by_core("walk"), expected, "{backend}");
    }
}

#[test]
fn calls_stay_until_enough_of_them_have_named_a_list() {
    let bench = bench();
    for after in [1, 3, 3000] {
        let (argument, after) = (Argument::ALL[0], after);
        let plan = plan_of(&bench.plain, 2, &[("walk", 0)]);
        let program = bench.patched(&by(plan, By { argument, after }));
        let walks = "aabacabdabeacbddbaacbabcdbbbbabdca".repeat(3);
        for backend in BACKENDS {
            let walked = bench.walk(&program, backend, &["5", "once", &walks]);
            let objects = Objects::new(2).after(0, after.into());
            let arguments = walks.bytes().map(|letter| walked.list(letter));
            walked.check_after(objects, arguments);
            assert_eq!(walked.statistics.count("walk", "after"), u64::from(after));
        }
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn what_is_no_object_moves_nobody() {
    let bench = bench();
    let program = bench.patched(&bench.plan(2));
    for backend in BACKENDS {
        let walked = bench.walk(&program, backend, &["2", "once", "-.^--"]);
        assert_eq!(walked.sum, 0);
        assert_eq!(walked.statistics.of("walk"), (5, 0), "{backend}");
        assert_eq!(walked.by_core("walk"), [0, 0]);
        let walks = "a-b-.b^ab-a";
        let walked = bench.walk(&program, backend, &["2", "once", walks]);
        walked.check(2, walks.bytes().map(|letter| walked.list(letter)));
    }
}

#[test]
fn any_argument_in_a_register_may_be_the_object() {
    let bench = bench();
    let walks = "abcadbcbabcbdbcacdcb";
    for (place, argument) in (0..).zip(Argument::ALL) {
        let plan = plan_of(&bench.plain, 2, &[("walk_six", 0)]);
        let program = bench.patched(&by_argument(plan, argument));
        for backend in ["count", "carrier"] {
            let walked = bench.walk(&program, backend, &["9", "six", walks]);
            let mut objects = Objects::new(2);
            let (mut hops, mut on) = (0, 0);
            for letter in walks.bytes() {
                let core = objects.call(0, walked.list(letter + place)).unwrap();
                hops += u64::from(core != on);
                on = core;
            }
            let calls = walks.len() as u64;
            assert_eq!(
                walked.statistics.of("walk_six"),
                (calls, hops),
                "{argument}"
            );
            assert_eq!(
                walked.by_core("walk_six"),
                objects.by_core[&0],
                "{argument}"
            );
        }
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn a_plan_may_have_functions_of_both_kinds() {
    let bench = bench();
    let plan = plan_of(&bench.plain, 2, &[("walk", 0), ("rests", 1)]);
    let walk = plan
        .functions
        .iter()
        .position(|f| f.symbol == "walk")
        .unwrap();
    let mut plan = plan;
    plan.functions.swap(0, walk);
    let program = bench.patched(&by_argument(plan, Argument::ALL[0]));
    for backend in BACKENDS {
        // a is on core 0, b on 1, and each `rests` on 1.
        let walked = bench.walk(&program, backend, &["2", "once", "a!b!a!a!b!!a"]);
        assert_eq!(walked.statistics.of("walk"), (6, 3), "{backend}");
        assert_eq!(walked.statistics.of("rests"), (6, 3), "{backend}");
        assert_eq!(walked.by_core("walk"), [4, 2], "{backend}");
    }
}

#[test]
fn a_thread_may_go_back_when_the_call_about_an_object_ends() {
    // Without optimization, there is room at the return.
    let bench = bench_built(&["-O0"]);
    let mut plan = bench.plan(2);
    plan.functions[0].mode = Mode::Call;
    let program = bench.patched(&plan);
    for backend in BACKENDS {
        let walked = bench.walk(&program, backend, &["3", "once", "abcb-bba"]);
        assert_eq!(walked.statistics.of("walk"), (8, 4), "{backend}");
        assert_eq!(walked.statistics.count("walk", "hops_back"), 4, "{backend}");
        assert_eq!(walked.statistics.count("walk", "returned"), 8, "{backend}");
        assert_eq!(walked.by_core("walk"), [3, 4], "{backend}");
    }
}

#[test]
fn many_more_objects_than_places_are_forgotten_by_the_rules() {
    let bench = bench();
    let program = bench.patched(&bench.plan(2));
    for backend in ["count", "carrier"] {
        let walked = bench.walk(&program, backend, &["5000", "all", "", "3"]);
        let values: i64 = (0..5000).map(|list| 1000 + list).sum();
        assert_eq!(walked.sum, 3 * values);
        walked.check(2, (0..3).flat_map(|_| walked.lists.clone()));
        let forgotten = walked.statistics.count("walk", "forgotten");
        assert!(forgotten > 5000, "{backend}: {forgotten}");
    }
}

#[test]
fn threads_find_each_object_on_the_same_core() {
    let bench = bench();
    let program = bench.patched(&bench.plan(2));
    let walks = "abcdefgh".repeat(250);
    let once: i64 = (0..8).map(|list| 250 * (1000 + list)).sum();
    for backend in BACKENDS {
        let walked = bench.walk(&program, backend, &["8", "threads", &walks, "6"]);
        assert_eq!(walked.sum, 6 * once, "{backend}");
        assert_eq!(walked.statistics.of("walk").0, 6 * 2000);
        assert_eq!(walked.statistics.count("walk", "objects"), 8);
        assert_eq!(walked.statistics.count("walk", "forgotten"), 0);
        // Two objects that come at once may both get the emptier core; each stays there.
        let by_core = walked.by_core("walk");
        assert_eq!(by_core.iter().sum::<u64>(), 6 * 2000, "{backend}");
        assert!(by_core.iter().all(|calls| calls % 1500 == 0), "{by_core:?}");
    }
}

#[test]
fn a_forked_child_begins_with_no_objects() {
    let bench = bench();
    let program = bench.patched(&bench.plan(2));
    let walks = "abcbba";
    for backend in BACKENDS {
        let mut command = bench.command(&program, backend, &["3", "fork", walks]);
        let file = bench.folder.path().join("of.%p");
        let running = workshop::start(command.env("COREHOP_STATS", file));
        let parent = running.number();
        let ran = running.finish();
        assert!(ran.status.success(), "{}", ran.errors);
        let files = std::fs::read_dir(bench.folder.path()).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let files: Vec<PathBuf> = files
            .filter(|f| f.to_str().unwrap().contains("/of."))
            .collect();
        assert_eq!(files.len(), 2, "{backend}: {files:?}");
        for file in files {
            let statistics = Statistics::read(&file);
            let of_parent = statistics.total("process") == u64::from(parent);
            let walked = Walked::new(&ran.output, statistics);
            assert!(of_parent || walked.statistics.count("walk", "objects") == 3);
            walked.check(2, walks.bytes().map(|letter| walked.list(letter)));
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn registers_and_flags_stay_as_they_were() {
    let bench = bench();
    let sources = ["shapes.cpp", "registers.S"];
    let plain = build(bench.folder.path(), "shapes", &["-pie", "-fPIE"], &sources);
    let expected = run(&mut Command::new(&plain)).output;
    for argument in Argument::ALL {
        let mut plan = plan_of(&plain, 2, &[("changes_nothing", 0), ("keeps_registers", 1)]);
        plan.functions.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        let plan = by_argument(plan, argument);
        let program = patched(&plain, &plan, bench.folder.path()).output;
        for backend in BACKENDS {
            let ran = run(&mut bench.command(&program, backend, &[]));
            let said = (ran.output, ran.errors);
            assert_eq!(said, (expected.clone(), String::new()), "{backend}");
            let statistics = Statistics::read(&bench.folder.path().join("statistics"));
            // There is one object, on core 0, and all callers come from core 1.
            assert_eq!(statistics.of("changes_nothing"), (64, 64), "{backend}");
            assert_eq!(statistics.of("keeps_registers"), (64, 64), "{backend}");
            assert_eq!(statistics.count("changes_nothing", "objects"), 1);
        }
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn hooks_in_memory_and_other_backends_do_the_same() {
    let bench = bench();
    let plan = bench.plan(2);
    let program = bench.patched(&plan);
    let words = ["5", "once", "abcdeedcbaaecbdacbedacbed"];
    for backend in BACKENDS {
        let in_file = bench.walk(&program, backend, &words).statistics;
        let hooks = InMemory::new(&bench.plain, &plan).unwrap();
        let mut command = bench.command(&bench.plain, backend, &words);
        let ran = run(hooks.hook(&mut command, None));
        assert_eq!(
            (ran.status.code(), &*ran.errors),
            (Some(0), ""),
            "{backend}"
        );
        let in_memory = Statistics::read(&bench.folder.path().join("statistics"));
        assert_eq!(in_memory.0["functions"][0]["by"], "argument 1");
        assert_eq!(
            in_memory.0["functions"], in_file.0["functions"],
            "{backend}"
        );
    }
    let plain = run(Command::new(&bench.plain).args(words));
    let sum = |output: &str| output.lines().nth(1).map(str::to_owned);
    for backend in ["off", "auto"] {
        let ran = run(&mut bench.command(&program, backend, &words));
        assert_eq!(
            (ran.status.code(), &*ran.errors),
            (Some(0), ""),
            "{backend}"
        );
        assert_eq!(sum(&ran.output), sum(&plain.output), "{backend}");
    }
}
