//! Runs a small program under two Valgrind tools: cachegrind, which simulates caches and counts
//! misses, and lackey, which prints every access. The output of lackey is converted to a trace.
//!
//! Recording the program under QEMU instead would also compare two recorders: QEMU and Valgrind
//! have different definitions of one access (`rep movs`, atomics), which do not concern caches.

mod lackey;

use corehop_traces::{Kind, Trace};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One level, as passed to cachegrind.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub size_bytes: u64,
    pub ways: u32,
}

/// cachegrind's counts of fetches, loads and stores: references, first-level misses, last-level
/// misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted(pub [u64; 3], pub [u64; 3], pub [u64; 3]);

impl Counted {
    /// Returns one of the three counts, for fetches, loads and stores.
    pub fn of(&self, count: usize) -> [u64; 3] {
        [self.0[count], self.1[count], self.2[count]]
    }
}

/// The program of `simulator/tests/programs/walk.c`, compiled into a separate folder.
pub struct Program {
    folder: tempfile::TempDir,
}

fn run(command: &mut Command) {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

impl Program {
    /// Compiles it, with the symbols in `defined` defined.
    pub fn compile(defined: &[&str]) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/walk.c");
        let mut compile = Command::new("cc");
        compile
            .args(["-O1", "-nostdlib", "-static", "-ffreestanding", "-no-pie"])
            .args(["-fno-pic", "-fno-stack-protector", "-fcf-protection=none"])
            .args(defined.iter().map(|name| format!("-D{name}")))
            .arg("-o")
            .arg(folder.path().join("walk"))
            .arg(source);
        run(&mut compile);
        Program { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn valgrind(&self, tool: &str, arguments: &[String]) {
        let mut valgrind = Command::new("valgrind");
        valgrind
            .arg(format!("--tool={tool}"))
            .arg(format!("--log-file={}", self.file("log").display()))
            .args(arguments)
            .arg(self.file("walk"));
        run(&mut valgrind);
    }

    /// Returns cachegrind's counts with these first-level caches and this last level.
    pub fn cachegrind(&self, [l1i, l1d, last]: [Geometry; 3]) -> Counted {
        let out = self.file("cachegrind.out");
        let level =
            |name, level: Geometry| format!("--{name}={},{},64", level.size_bytes, level.ways);
        self.valgrind(
            "cachegrind",
            &[
                "--cache-sim=yes".into(),
                level("I1", l1i),
                level("D1", l1d),
                level("LL", last),
                format!("--cachegrind-out-file={}", out.display()),
            ],
        );
        let text = std::fs::read_to_string(out).unwrap();
        let line = |key| {
            text.lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap()
        };
        let events = "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw";
        assert_eq!(line("events: ").trim(), events);
        let counts: Vec<u64> = line("summary: ")
            .split_whitespace()
            .map(|count| count.parse().unwrap())
            .collect();
        let of = |first: usize| counts[first..first + 3].try_into().unwrap();
        Counted(of(0), of(3), of(6))
    }

    /// Returns the program's accesses from lackey as a trace: one code block for each instruction.
    pub fn trace(&self) -> Trace {
        self.valgrind("lackey", &["--trace-mem=yes".into()]);
        let text = std::fs::read_to_string(self.file("log")).unwrap();
        let path = self.file("walk.trace");
        lackey::write(&text, &path, None, &[Kind::Load, Kind::Store]).unwrap();
        Trace::open(&path).unwrap()
    }
}
