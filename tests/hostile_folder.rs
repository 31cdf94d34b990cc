//! Files in the working directory are never executed when a server's functions are read there.

use crate::conforming;
use crate::copied;
use corehop_recorder::tools;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Modules that Python, pyelftools, or the symbolizer import, or would import if they existed.
const MODULES: [&str; 9] = [
    "json.py",
    "argparse.py",
    "ctypes.py",
    "sitecustomize.py",
    "usercustomize.py",
    "encodings/__init__.py",
    "elftools/__init__.py",
    "corehop_symbolizer/__init__.py",
    "corehop_symbolizer/__main__.py",
];

const PROGRAMS: [&str; 2] = ["python3", "corehop-symbolizer"];

/// A folder full of files that must not run, and the file that any of them would create.
struct Hostile {
    folder: TempDir,
    mark: PathBuf,
}

fn program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

impl Hostile {
    fn new() -> Hostile {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        for module in MODULES {
            let path = folder.path().join(module);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = format!("open({mark:?}, 'a').write(__file__ + ' ')\n");
            std::fs::write(path, text).unwrap();
        }
        for name in PROGRAMS {
            let text = format!("#!/bin/sh\necho $0 >>{mark:?}\n");
            program(&folder.path().join(name), &text);
        }
        Hostile { folder, mark }
    }

    /// Runs the command there, in each environment that could mislead Python.
    fn run(&self, corehop: &Installed, arguments: &[&str], judge: impl Fn(Output)) {
        let here = self.folder.path().to_str().unwrap();
        let startup = format!("{here}/json.py");
        let environments: [&[(&str, &str)]; 5] = [
            &[],
            &[("PYTHONPATH", ":")],
            &[("PYTHONPATH", here), ("PYTHONSTARTUP", &startup)],
            &[("PYTHONHOME", here)],
            &[("HOME", here), ("PYTHONUSERBASE", here)],
        ];
        for environment in environments {
            let mut command = corehop.command();
            let command = command.args(arguments).current_dir(here);
            let output = command.envs(environment.iter().copied()).output();
            let ran = std::fs::read_to_string(&self.mark).unwrap_or_default();
            assert_eq!(ran, "", "{environment:?}");
            judge(output.unwrap());
        }
    }
}

/// The command in the checkout, or a copy far from the checkout.
struct Installed {
    corehop: PathBuf,
    programs: TempDir,
}

impl Installed {
    fn new(corehop: &Path) -> Installed {
        let programs = tempfile::tempdir().unwrap();
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = checkout.join(".venv/bin/python");
        let text = format!("#!/bin/sh\nexec {python:?} \"$@\"\n");
        program(&programs.path().join("python3"), &text);
        let corehop = corehop.to_owned();
        Installed { corehop, programs }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.corehop);
        // An empty part of PATH means the working directory, as a dot does.
        let path = format!(":.:{}:/usr/bin:/bin", self.programs.path().display());
        let built = Path::new(env!("CARGO_BIN_EXE_corehop")).parent().unwrap();
        let plugin = built.join("libcorehop_qemu_plugin.so");
        command.env("PATH", path).env("COREHOP_QEMU_PLUGIN", plugin);
        // A home in the folder has no QEMU of `make qemu`.
        command.env("COREHOP_QEMU", tools::qemu().unwrap().path);
        command.env_remove("COREHOP_SYMBOLIZER");
        command
    }
}

fn nothing_is_run_from_there(corehop: &Path) {
    let hostile = Hostile::new();
    let corehop = Installed::new(corehop);
    hostile.run(&corehop, &["doctor", "--json"], |output| {
        let told = conforming::read(&["doctor"], &output.stdout);
        let checks = told["checks"].as_array().unwrap();
        let symbolizer = checks.iter().find(|check| check["name"] == "symbolizer");
        assert_eq!(symbolizer.unwrap()["state"], "ok", "{symbolizer:?}");
    });
    let record = [
        "record",
        "-o",
        "t",
        "--request-at",
        "nowhere",
        "--",
        "/bin/true",
    ];
    hostile.run(&corehop, &record, |output| {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("nowhere"), "{said}");
        assert_eq!(output.status.code(), Some(3), "{said}");
    });
}

#[test]
fn the_symbolizer_of_the_checkout_runs_nothing_of_the_working_directory() {
    nothing_is_run_from_there(Path::new(env!("CARGO_BIN_EXE_corehop")));
}

#[test]
fn the_carried_symbolizer_runs_nothing_of_the_working_directory() {
    let elsewhere = tempfile::tempdir().unwrap();
    let corehop = elsewhere.path().join("corehop");
    copied::corehop(&corehop);
    nothing_is_run_from_there(&corehop);
}
