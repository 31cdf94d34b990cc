//! Creates shared input of several tests once.
//!
//! nextest runs each test in a separate process, so shared input is in a folder of the run. The
//! first process that needs the input creates it while others wait for a lock. `cargo test` has one
//! process for each program, and a folder for each process.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Returns the folder that nextest's processes share in this run, or the folder of this process.
/// `make test` removes those of earlier runs.
fn folder_of_run() -> PathBuf {
    static OWN: OnceLock<TempDir> = OnceLock::new();
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made");
    let own = || {
        std::fs::create_dir_all(&made).unwrap();
        tempfile::tempdir_in(&made).unwrap()
    };
    match std::env::var("NEXTEST_RUN_ID") {
        Ok(run) => made.join(run),
        Err(_) => OWN.get_or_init(own).path().into(),
    }
}

/// Returns the folder of this name, with the files that `make` creates there.
pub fn made_once(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let run = folder_of_run();
    std::fs::create_dir_all(&run).unwrap();
    let [folder, made] = [name.to_owned(), format!("{name}.made")].map(|name| run.join(name));
    let lock = File::create(run.join(format!("{name}.lock"))).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    if !made.exists() {
        // A failed attempt may have left files.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        make(&folder);
        File::create(made).unwrap();
    }
    folder
}
