//! Checkpoints: saved costs are found again, only for the same search, and damage is reported.

use corehop_partitioner::checkpoint::{Checkpoint, Costs, Error, Subject};
use corehop_partitioner::evaluate::GROUPS;
use corehop_traces::{FunctionId, RequestId};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;

fn subject(seed: u32) -> Subject {
    Subject {
        value: format!("machine {seed}"),
        functions: [3, 1, seed].map(FunctionId).into(),
        requests: [seed, 8].map(RequestId).into(),
        rounds: 2,
    }
}

fn open(path: &Path, requests: &str) -> Result<Checkpoint, Error> {
    let identity = [("trace", "of 9 bytes"), ("requests", requests)];
    let identity = identity.map(|(what, value)| (what.to_owned(), value.to_owned()));
    Checkpoint::open(path, identity.into())
}

fn costs() -> impl Strategy<Value = Costs> {
    let sets = vec((any::<u128>(), any::<[u64; GROUPS]>()), 0..20);
    let set_partition = vec((any::<u128>(), any::<u64>()), 0..20);
    (sets, vec(set_partition, 0..5)).prop_map(|(sets, set_partitions)| Costs {
        sets,
        set_partitions,
    })
}

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(count)
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn what_is_kept_is_found_again_of_each_subject(first in costs(), second in costs()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search.checkpoint");
        let kept = open(&path, "all").unwrap();
        kept.keep(&subject(1), Costs::default());
        kept.keep(&subject(2), second.clone());
        kept.keep(&subject(1), first.clone());
        kept.finish().unwrap();
        let found = open(&path, "all").unwrap();
        prop_assert_eq!(found.costs(&subject(1)), Some(first));
        prop_assert_eq!(found.costs(&subject(2)), Some(second));
        prop_assert_eq!(found.costs(&subject(3)), None);
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn damage_is_refused_and_left_as_it_is(
        costs in costs(), at in any::<prop::sample::Index>(), flipped in 1u8..,
        cut in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search.checkpoint");
        let kept = open(&path, "all").unwrap();
        kept.keep(&subject(1), costs);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        match cut {
            true => bytes.truncate(at),
            false => bytes[at] ^= flipped,
        }
        std::fs::write(&path, &bytes).unwrap();
        let said = open(&path, "all").unwrap_err().to_string();
        prop_assert!(said.contains("checkpoint"), "{}", said);
        prop_assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn another_search_is_refused_by_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.checkpoint");
    open(&path, "10 drawn by seed 1").unwrap();
    let said = open(&path, "10 drawn by seed 2").unwrap_err().to_string();
    let expected = "(requests: 10 drawn by seed 1 there, 10 drawn by seed 2 here)";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_before_the_search() {
    let said = open(Path::new("/nowhere/search.checkpoint"), "all").unwrap_err();
    assert!(matches!(said, Error::Output(_)), "{said}");
}

/// A resumed search reads the checkpoint; reading something other than a file could block.
#[test]
fn only_a_file_can_be_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    let said = open(&path, "all").unwrap_err();
    assert!(matches!(said, Error::Output(_)), "{said}");
    let expected = "null is a device or pipe, but must be a file";
    assert!(said.to_string().ends_with(expected), "{said}");
    assert_eq!(std::fs::read_link(&path).unwrap(), Path::new("/dev/null"));
}
