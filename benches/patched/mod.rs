//! Small C programs, built by the system's compiler and patched as users' servers are.
//!
//! The benches of hops share this: what they time is the real patcher's output with the runtime as
//! shipped, never a copy of either. Two functions are hooked, one for each of two cores.

use corehop_patcher::Analysis;
use corehop_plans::{Mode, Plan, PlannedFunction};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What went wrong, in words.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The name of the file that says where threads hop.
pub const PLAN: &str = "split.toml";

/// A program in a folder of its own: as compiled, and with hops.
pub struct Program {
    _folder: tempfile::TempDir,
    /// As compiled. The plan lies beside it.
    pub plain: PathBuf,
    patched: PathBuf,
    /// The CPUs of plan cores 0 and 1.
    pub processors: [usize; 2],
}

impl Program {
    /// Builds `benches/programs/<name>.c` and hooks these functions, on cores 0 and 1; the first in
    /// this mode, the second to stay.
    pub fn build(name: &str, hooked: [&str; 2], first: Mode) -> Outcome<Program> {
        let folder = tempfile::tempdir()?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let plain = folder.path().join(name);
        let status = Command::new("cc")
            .args(["-O2", "-pthread", "-Wl,--build-id=sha1", "-o"])
            .args([&plain, &root.join(format!("benches/programs/{name}.c"))])
            .arg("-lm")
            .status()?;
        if !status.success() {
            return Err(format!("{name}.c does not compile").into());
        }
        let analysis = Analysis::of(&plain)?;
        let build_id = analysis.build_id().ok_or("no build id")?;
        let planned = |(core, symbol): (u32, &str)| {
            let of = |f: &&corehop_patcher::Function| f.symbol.as_deref() == Some(symbol);
            let function = analysis.functions().iter().find(of).ok_or("no function")?;
            Outcome::Ok(PlannedFunction {
                module: plain.to_string_lossy().into(),
                build_id: build_id.into(),
                offset: function.offset,
                symbol: symbol.into(),
                core,
                mode: if core == 0 { first } else { Mode::Enter },
            })
        };
        let plan = Plan {
            version: corehop_plans::VERSION,
            machine: "any".into(),
            trace: "none".into(),
            cores: 2,
            seed: 1,
            request: None,
            expected: None,
            functions: (0..).zip(hooked).map(planned).collect::<Outcome<_>>()?,
        };
        corehop_plans::write(&plan, &plain.with_file_name(PLAN))?;
        let patched = folder.path().join(format!("{name}.hop"));
        corehop_patcher::patch(&plain, &plan, &patched, false)?;
        Ok(Program {
            processors: two_processors()?,
            _folder: folder,
            plain,
            patched,
        })
    }

    /// What the program prints, as numbers: unpatched, or with hops by a backend.
    pub fn run(&self, backend: Option<&str>, words: &[String]) -> Outcome<Vec<f64>> {
        self.run_in(&[], backend, words)
    }

    /// The same, with these variables in the environment.
    pub fn run_in(
        &self,
        variables: &[(&str, &str)],
        backend: Option<&str>,
        words: &[String],
    ) -> Outcome<Vec<f64>> {
        let mut command = Command::new(backend.map_or(&self.plain, |_| &self.patched));
        let [first, second] = self.processors;
        let output = command
            .args(words)
            .env("COREHOP_BACKEND", backend.unwrap_or("off"))
            .env("COREHOP_CPUS", format!("{first},{second}"))
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            // What hops cost is asked, wherever others queue, and whatever else the machine does.
            .env("COREHOP_QUEUE", "0")
            .env("COREHOP_RUN_DELAY", "100")
            .envs(variables.iter().copied())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || !said.is_empty() {
            return Err(format!("{} {words:?}: {}", self.plain.display(), said.trim()).into());
        }
        let text = String::from_utf8(output.stdout)?;
        Ok(text
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?)
    }
}

/// The first two CPUs of this process's mask that are not one physical core; on a machine with one
/// CPU, that one twice.
fn two_processors() -> Outcome<[usize; 2]> {
    let own = rustix::thread::sched_getaffinity(None)?;
    let mut found = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| own.is_set(cpu));
    let first = found.next().ok_or("no CPU")?;
    let siblings = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
    };
    let second = found.find(|&cpu| siblings(cpu) != siblings(first));
    Ok([first, second.unwrap_or(first)])
}

/// The first quartile, the median and the third of what was measured.
pub fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}
