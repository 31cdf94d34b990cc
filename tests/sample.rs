//! `corehop sample`: the traces inside the executable. The second one supports replays of several
//! connections.

use crate::conforming;
use corehop_traces::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NAMES: [&str; 2] = ["mariadb-tpcc", "mariadb-tpcc-4"];
const MOST_BYTES: u64 = 4 << 20;

fn corehop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(arguments).output().expect("corehop starts")
}

/// Returns a sample in this folder, as the command writes it.
fn written(name: &str, folder: &Path) -> PathBuf {
    let path = folder.join(name);
    let output = corehop(&["sample", name, "-o", path.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    path
}

#[test]
fn every_sample_is_written_as_the_repository_has_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces/samples");
        let kept = std::fs::read(kept.join(format!("{name}.trace"))).unwrap();
        assert!(kept.len() as u64 <= MOST_BYTES, "{name}: {}", kept.len());
        assert_eq!(
            std::fs::read(written(name, folder.path())).unwrap(),
            kept,
            "{name}"
        );
    }
}

#[test]
fn the_second_sample_has_four_connections_a_thread_each() {
    let folder = tempfile::tempdir().unwrap();
    let trace = Trace::open(&written("mariadb-tpcc-4", folder.path())).unwrap();
    let (mut requests, mut threads) = (BTreeMap::new(), BTreeMap::new());
    for request in trace.requests().iter().filter(|request| request.complete) {
        let connection = request.connection.expect("a connection");
        *requests.entry(connection).or_insert(0) += 1;
        let its = threads.entry(connection).or_insert_with(BTreeSet::new);
        its.insert(request.thread);
    }
    assert_eq!(requests.len(), 4, "{requests:?}");
    assert!(requests.values().all(|&count| count >= 30), "{requests:?}");
    let serving: Vec<_> = requests.keys().map(|each| &threads[each]).collect();
    assert!(serving.iter().all(|its| its.len() == 1), "{threads:?}");
    let different: BTreeSet<_> = serving.into_iter().flatten().collect();
    assert_eq!(different.len(), 4, "{threads:?}");
}

#[test]
fn the_second_sample_is_sound_and_replays() {
    let folder = tempfile::tempdir().unwrap();
    let path = written("mariadb-tpcc-4", folder.path());
    let path = path.to_str().unwrap();
    assert!(corehop(&["check", path]).status.success());
    let output = corehop(&["replay", "--json", "--baseline", "thread-per-core", path]);
    assert!(output.status.success(), "{output:?}");
    let told = conforming::read(&["replay"], &output.stdout);
    let l2 = &told["counters"]["l2"];
    let [missed, lost] = ["misses", "coherence_misses"].map(|key| l2[key].as_u64().unwrap());
    // Connections write what others have read, even on separate cores.
    assert!(missed > lost && lost > 0, "{told}");
}

#[test]
fn what_cannot_be_written_says_why() {
    let unknown = corehop(&["sample", "postgres", "-o", "/dev/null"]);
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(NAMES.iter().all(|name| said.contains(name)), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.trace");
    std::fs::write(&path, "mine").unwrap();
    let name = path.to_str().unwrap();
    let refused = corehop(&["sample", "mariadb-tpcc-4", "-o", name]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(said.contains("--force") && said.contains(name), "{said}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}
