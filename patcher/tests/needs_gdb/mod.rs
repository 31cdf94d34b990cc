//! gdb's backtraces reach the caller from each instruction of a hooked call.

use crate::unwinding::{built, plan};
use crate::workshop::{hops_by, patched, run};
use corehop_plan::Mode;
use std::path::Path;
use std::process::Command;

#[test]
fn gdb_steps_through_hooks_and_sees_who_called() {
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"));
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path(), &[]);
    for mode in [Mode::Enter, Mode::Call] {
        let place = tempfile::tempdir().unwrap();
        let program = patched(&program, &plan(&program, mode, false), place.path()).output;
        for backend in ["count", "carrier"] {
            let mut command = Command::new("gdb");
            command
                .args(["-quiet", "-nx", "-batch", "-x"])
                .arg(fixtures.join("unwinds.gdb.py"))
                .arg("--args")
                .arg(&program)
                .arg("2");
            hops_by(&mut command, backend);
            let seen = run(&mut command);
            let last: Vec<&str> = seen.output.lines().rev().take(2).collect();
            let expected = ["lost: []", "in hooks: yes"];
            assert_eq!(last, expected, "{mode:?} {backend}: {}", seen.errors);
        }
    }
}
