//! Shared code of the tests of patched programs: building fixtures, plans that hook everything, and
//! running programs so that none outlives its test.

pub mod busy;
pub mod notices;
pub mod objects;
mod orders;
mod statistics;
mod written;

pub use orders::order;
pub use statistics::Statistics;

use crate::made_once::made_once;
use corehop_patcher::{Analysis, Function, Patched, patch};
use corehop_plan::{Destination, Mode, Plan, PlannedFunction, Request};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use written::started;

/// The interval between checks of a program's progress.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// This many checks take five minutes, and no program here takes longer: beyond that, it hangs.
/// Checks are counted instead of time, so that a suspended machine fails no test.
const MOST_LOOKS: u32 = 60_000;

/// Compiles fixtures (by file name) into `folder` and returns the program's path. Tests that need
/// the same program get copies of one.
pub fn build(folder: &Path, name: &str, flags: &[&str], sources: &[&str]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (name, flags, sources).hash(&mut hasher);
    let made = made_once(&format!("{name}-{:016x}", hasher.finish()), |made| {
        compile(&made.join(name), flags, sources);
    });
    let output = folder.join(name);
    std::fs::copy(made.join(name), &output).unwrap();
    output
}

fn compile(output: &Path, flags: &[&str], sources: &[&str]) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let status = Command::new("c++")
        .args(["-O2", "-pthread", "-Wl,--build-id=sha1"])
        .args(flags)
        .arg("-o")
        .arg(output)
        .args(sources.iter().map(|source| fixtures.join(source)))
        .status();
    assert!(
        status.unwrap().success(),
        "{} does not compile",
        output.display()
    );
}

/// Compiles a fixture that includes files of the runtime to test them alone.
pub fn build_alone(folder: &Path, name: &str) -> PathBuf {
    let runtime = concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime");
    let folders = [
        "system",
        "threads",
        "hooks",
        "run_queues",
        "carrier",
        "decisions",
    ];
    let folders = folders.map(|folder| format!("-I{runtime}/{folder}"));
    let mut flags = vec!["-xc", "-std=gnu11", "-DCOREHOP_ABI=0"];
    flags.extend(folders.iter().map(String::as_str));
    build(folder, name, &flags, &[&format!("{name}.c")])
}

/// A plan that hooks the functions for which `core_of` returns a core.
pub fn plan(
    binary: &Path,
    cores: u32,
    mut core_of: impl FnMut(usize, &Function) -> Option<u32>,
) -> Plan {
    let analysis = Analysis::of(binary).unwrap();
    let hooked = analysis.functions().iter().enumerate();
    let functions = hooked.filter_map(|(index, function)| {
        let core = core_of(index, function)?;
        Some(planned(binary, &analysis, function, core, Mode::Enter))
    });
    Plan {
        version: 1,
        machine: "any".into(),
        trace: "none".into(),
        cores,
        seed: 1,
        carriers_refuse: None,
        request: None,
        expected: None,
        functions: functions.collect(),
    }
}

fn planned(
    binary: &Path,
    analysis: &Analysis,
    function: &Function,
    core: u32,
    mode: Mode,
) -> PlannedFunction {
    let made_up = || format!("fn_{:x}", function.offset);
    PlannedFunction {
        module: binary.to_str().unwrap().into(),
        build_id: analysis.build_id().unwrap().into(),
        offset: function.offset,
        symbol: function.symbol.clone().unwrap_or_else(made_up),
        to: Destination::Core(core),
        mode,
    }
}

/// Returns the imported functions for which `mode_of` returns a mode, on alternating cores.
pub fn imported(
    binary: &Path,
    cores: u32,
    mode_of: impl Fn(&Function, bool) -> Option<Mode>,
) -> Vec<PlannedFunction> {
    let analysis = Analysis::of(binary).unwrap();
    let chosen = analysis.imports().filter_map(|function| {
        assert_eq!(analysis.entry_reason(function.offset), None);
        let may_go_back = analysis.return_reason(function.offset).is_none();
        Some((mode_of(&function, may_go_back)?, function))
    });
    let numbered = chosen.zip(1..);
    numbered
        .map(|((mode, function), number)| {
            planned(binary, &analysis, &function, number % cores, mode)
        })
        .collect()
}

/// Plans the calls of every import that allows it, and the entries of the others.
pub fn plan_of_all_imports(binary: &Path, cores: u32) -> Plan {
    let mut plan = plan_of_all_calls(binary, cores);
    let known: Vec<u64> = plan
        .functions
        .iter()
        .map(|function| function.offset)
        .collect();
    // Unwind tables describe some tables of stubs as a function.
    plan.functions
        .extend(imported(binary, cores, |function, goes_back| {
            let is_new = !known.contains(&function.offset);
            is_new.then_some(if goes_back { Mode::Call } else { Mode::Enter })
        }));
    plan
}

/// A plan that hooks every function that may be hooked, on alternating cores.
pub fn plan_of_all(binary: &Path, cores: u32) -> Plan {
    let analysis = Analysis::of(binary).unwrap();
    plan(binary, cores, |index, function| {
        let is_safe = analysis.unsafe_reason(function.offset).is_none();
        is_safe.then_some(index as u32 % cores)
    })
}

/// The same, with threads that return at the end of the calls of every function that allows it.
pub fn plan_of_all_calls(binary: &Path, cores: u32) -> Plan {
    let analysis = Analysis::of(binary).unwrap();
    let mut plan = plan_of_all(binary, cores);
    for function in &mut plan.functions {
        if analysis.return_reason(function.offset).is_none() {
            function.mode = Mode::Call;
        }
    }
    plan
}

/// A plan that hooks these functions, each on its core.
pub fn plan_of(binary: &Path, cores: u32, named: &[(&str, u32)]) -> Plan {
    let plan = plan(binary, cores, |_, function| {
        let symbol = function.symbol.as_deref()?;
        named.iter().find(|(name, _)| *name == symbol).map(|n| n.1)
    });
    assert_eq!(plan.functions.len(), named.len(), "{named:?}");
    plan
}

/// Returns the request rule for requests that begin at the entry of this function.
pub fn request_at(function: &PlannedFunction) -> Request {
    Request {
        module: function.module.clone(),
        build_id: function.build_id.clone(),
        offset: function.offset,
        symbol: function.symbol.clone(),
    }
}

/// Patches `binary` into `folder` and verifies the result against it.
pub fn patched(binary: &Path, plan: &Plan, folder: &Path) -> Patched {
    let name = format!("{}.hop", binary.file_name().unwrap().to_str().unwrap());
    let patched = patch(binary, plan, &folder.join(name), false).unwrap();
    let verified = corehop_patcher::verify(&patched.output, Some(binary)).unwrap();
    assert_eq!(verified.findings, Vec::<String>::new());
    assert_eq!(verified.hooks, patched.hooks.len());
    patched
}

/// Builds the fixture `name`, patched to hop to core 0 and core 1 at these two functions, next to
/// the original of that name; returns the patched program.
pub fn of_two_cores(folder: &Path, name: &str, [first, second]: [&str; 2]) -> PathBuf {
    let plain = build(folder, name, &["-std=c++20"], &[&format!("{name}.cpp")]);
    let plan = plan_of(&plain, 2, &[(first, 0), (second, 1)]);
    patched(&plain, &plan, folder).output
}

/// Combines plans of several files into one plan.
pub fn joined(plans: impl IntoIterator<Item = Plan>) -> Plan {
    let mut plans = plans.into_iter();
    let mut whole = plans.next().unwrap();
    whole
        .functions
        .extend(plans.flat_map(|plan| plan.functions));
    whole
}

/// Patches all files of `plan` into `folder` and verifies each.
pub fn patched_all(plan: &Plan, folder: &Path) -> Vec<Patched> {
    let patched = corehop_patcher::patch_all(&[], plan, folder, false).unwrap();
    for file in &patched {
        let verified = corehop_patcher::verify(&file.output, Some(&file.original)).unwrap();
        assert_eq!(verified.findings, Vec::<String>::new());
    }
    patched
}

/// The results of a finished program.
pub struct Finished {
    pub status: ExitStatus,
    pub output: String,
    pub errors: String,
}

/// A running program, killed with everything it started if the test fails.
pub struct Running {
    child: Child,
    outputs: [PathBuf; 2],
    _outputs: tempfile::TempDir,
}

/// Starts `command` in a separate process group.
pub fn start(command: &mut Command) -> Running {
    start_reading(command, Stdio::null())
}

/// Starts `command` with `input` as its standard input.
pub fn start_reading(command: &mut Command, input: Stdio) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let outputs = ["out", "err"].map(|name| folder.path().join(name));
    command
        .process_group(0)
        .stdin(input)
        .stdout(File::create(&outputs[0]).unwrap())
        .stderr(File::create(&outputs[1]).unwrap());
    Running {
        child: started(|| command.spawn()),
        outputs,
        _outputs: folder,
    }
}

/// Runs `command` to its end.
pub fn run(command: &mut Command) -> Finished {
    start(command).finish()
}

impl Running {
    fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Returns its process ID.
    pub fn number(&self) -> u32 {
        self.child.id()
    }

    fn text(&self, index: usize) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.outputs[index]).unwrap()).into_owned()
    }

    /// Waits for the program to end without a signal from here.
    pub fn finish(mut self) -> Finished {
        let mut looks = 0;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(looks < MOST_LOOKS, "it hangs: {}", self.text(1));
            std::thread::sleep(LOOK_EVERY); // waits: between looks
            looks += 1;
        };
        Finished {
            status,
            output: self.text(0),
            errors: self.text(1),
        }
    }

    /// Sends SIGTERM to the program and waits for its end.
    pub fn stop(self) -> Finished {
        kill_process(self.id(), Signal::TERM).unwrap();
        self.finish()
    }

    /// Waits until `ready` returns a value; fails if the program ends first.
    pub fn until<T>(&mut self, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut looks = 0;
        loop {
            if let Some(found) = ready() {
                return found;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {ended:?} {}", self.text(1));
            assert!(looks < MOST_LOOKS, "it is never ready: {}", self.text(1));
            std::thread::sleep(LOOK_EVERY); // waits: between looks
            looks += 1;
        }
    }

    /// Waits until standard output is `text`.
    pub fn until_it_prints(&mut self, text: &str) {
        let output = self.outputs[0].clone();
        self.until(|| (std::fs::read(&output).unwrap() == text.as_bytes()).then_some(()));
    }

    /// Waits until three consecutive checks have found all of its threads asleep.
    pub fn until_asleep(&mut self) {
        let threads = format!("/proc/{}/task", self.number());
        let is_awake = |thread: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            let state = stat
                .rsplit_once(") ")
                .map(|(_, rest)| rest.starts_with('R'));
            state == Some(true)
        };
        let mut asleep = 0;
        self.until(|| {
            let is_one_awake = std::fs::read_dir(&threads).ok()?.flatten().any(is_awake);
            asleep = if is_one_awake { 0 } else { asleep + 1 };
            (asleep == 3).then_some(())
        });
    }

    /// Waits until standard error holds `text`.
    pub fn until_it_says(&mut self, text: &str) {
        self.until_it_says_while(text, || ());
    }

    /// The same, with an action before each check.
    pub fn until_it_says_while(&mut self, text: &str, mut act: impl FnMut()) {
        let errors = self.outputs[1].clone();
        self.until(|| {
            act();
            let said = std::fs::read(&errors).unwrap();
            String::from_utf8_lossy(&said).contains(text).then_some(())
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Kills the rest of the group, which is empty after a success.
        let _ = kill_process_group(self.id(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Number of CPUs this process may run on.
pub fn processors() -> usize {
    rustix::thread::sched_getaffinity(None).unwrap().count() as usize
}

/// Makes threads of the carrier backend hop even if others queue, and with any other load.
pub const WHEREVER: [(&str, &str); 2] = [("COREHOP_QUEUE", "0"), ("COREHOP_RUN_DELAY", "100")];

/// Makes the program hop by this backend, whenever its plan requires it, even on a machine with one
/// CPU.
pub fn hops_by(command: &mut Command, backend: &str) {
    command
        .env("COREHOP_BACKEND", backend)
        .envs(WHEREVER)
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    if let Some(processors) = two_processors() {
        command.env("COREHOP_CPUS", processors);
    }
}

/// Two CPUs that this process may use, in the format of COREHOP_CPUS; `None` if there is only one.
pub fn two_of_its_own() -> Option<String> {
    let own = rustix::thread::sched_getaffinity(None).unwrap();
    let mut found = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| own.is_set(cpu));
    let (first, second) = (found.next()?, found.next()?);
    Some(format!("{first},{second}"))
}

/// The same for tests that need two. Fails with a remedy if there is only one.
pub fn two_cpus() -> String {
    let missing =
        "this process may use one CPU: allow it another (taskset), or give the machine one";
    two_of_its_own().expect(missing)
}

/// CPUs for two plan cores on a machine that has only one.
pub fn two_processors() -> Option<&'static str> {
    (processors() == 1).then_some("0,0")
}
