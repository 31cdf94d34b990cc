//! Runs the program of `crates/profile/tests/programs/shop.c` under two Valgrind tools: lackey,
//! whose accesses become a trace of ours, and cachegrind, which counts by source line.

#[path = "../../../../simulator/tests/valgrind/lackey.rs"]
mod lackey;

use corehop_traces::{Kind, Module, Trace};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a source line's loads and stores did: loads, stores, first-level misses of each.
pub type Counts = [u64; 4];

/// The program, compiled into a folder of its own.
pub struct Program {
    folder: tempfile::TempDir,
}

fn run(command: &mut Command) {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
}

impl Program {
    /// Compiles it with DWARF.
    pub fn compile() -> Program {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/shop.c");
        let mut compile = Command::new("cc");
        compile
            .args([
                "-g",
                "-O1",
                "-nostdlib",
                "-static",
                "-ffreestanding",
                "-no-pie",
            ])
            .args(["-fno-pic", "-fno-stack-protector", "-fcf-protection=none"])
            .args(["-Wl,--build-id=0x0a1b2c3d", "-o"])
            .arg(folder.path().join("shop"))
            .arg(source);
        run(&mut compile);
        Program { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn valgrind(&self, arguments: &[String]) {
        let mut valgrind = Command::new("valgrind");
        let log = format!("--log-file={}", self.file("log").display());
        run(valgrind.arg(log).args(arguments).arg(self.file("shop")));
    }

    /// By source line, what cachegrind counts with an L1D of this size and so many ways.
    pub fn cachegrind(&self, (size_bytes, ways): (u64, u32)) -> BTreeMap<u32, Counts> {
        let out = self.file("cachegrind.out");
        self.valgrind(&[
            "--tool=cachegrind".into(),
            "--cache-sim=yes".into(),
            format!("--D1={size_bytes},{ways},64"),
            format!("--cachegrind-out-file={}", out.display()),
        ]);
        let text = std::fs::read_to_string(out).unwrap();
        let events = "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw";
        assert!(text.lines().any(|line| line.trim() == events), "{text}");
        let mut counted = BTreeMap::<u32, Counts>::new();
        for line in text.lines() {
            let numbers: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
            let Ok(numbers) = numbers else {
                continue;
            };
            let [
                line,
                _,
                _,
                _,
                loads,
                load_misses,
                _,
                stores,
                store_misses,
                _,
            ] = numbers[..]
            else {
                continue;
            };
            let sums = counted.entry(line as u32).or_default();
            for (sum, more) in sums
                .iter_mut()
                .zip([loads, stores, load_misses, store_misses])
            {
                *sum += more;
            }
        }
        counted.retain(|_, counts| *counts != [0; 4]);
        counted
    }

    /// The program's accesses as lackey prints them, as a trace: one code block an instruction.
    pub fn trace(&self) -> Trace {
        self.valgrind(&["--tool=lackey".into(), "--trace-mem=yes".into()]);
        let text = std::fs::read_to_string(self.file("log")).unwrap();
        let path = self.file("shop.trace");
        let module = Module {
            path: self.file("shop").display().to_string(),
            build_id: "0a1b2c3d".into(),
            load_bias: 0,
            start: 0x40_0000,
            end: 0x50_0000,
        };
        lackey::write(&text, &path, Some(&module), &[Kind::Load]).unwrap();
        Trace::open(&path).unwrap()
    }
}
