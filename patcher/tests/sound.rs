//! Every patched file passes verification, and every damaged one fails.

use crate::workshop::{build, patched, plan, plan_of_all_imports};
use corehop_patcher::{Analysis, patch, verify};
use corehop_plan::{Argument, By, Destination, Mode};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const BINARIES: [&str; 3] = [
    "/usr/bin/redis-server",
    "/usr/bin/memcached",
    "/usr/sbin/nginx",
];

static ANALYSES: LazyLock<Vec<Analysis>> = LazyLock::new(|| {
    let of = |binary: &&str| Analysis::of(Path::new(binary)).unwrap();
    BINARIES.iter().map(of).collect()
});

static SAFE: LazyLock<Vec<Vec<bool>>> = LazyLock::new(|| {
    let safe = |analysis: &Analysis| {
        let functions = analysis.functions().iter();
        let safe = functions.map(|f| analysis.unsafe_reason(f.offset).is_none());
        safe.collect()
    };
    ANALYSES.iter().map(safe).collect()
});

/// A patched program with all its functions hooked, at their ends where possible and some by an
/// argument, and the folder that holds it.
static PATCHED: LazyLock<(tempfile::TempDir, PathBuf, Vec<u8>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let binary = build(folder.path(), "places", &[], &["places.cpp"]);
    let mut plan = plan_of_all_imports(&binary, 3);
    for (function, argument) in plan.functions.iter_mut().step_by(2).zip(Argument::ALL) {
        function.to = Destination::By(argument.into());
    }
    let output = patched(&binary, &plan, folder.path()).output;
    let bytes = std::fs::read(&output).unwrap();
    (folder, output, bytes)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_plan_over_safe_functions_gives_a_file_that_verifies(
        which in 0..BINARIES.len(),
        cores in 1u32..6,
        chosen in proptest::collection::vec((any::<prop::sample::Index>(), 0u32..6), 1..60),
        goes_back in any::<u64>(),
        by_argument in any::<u64>(),
    ) {
        let binary = Path::new(BINARIES[which]);
        let safe = &SAFE[which];
        let chosen: std::collections::BTreeMap<usize, u32> =
            chosen.iter().map(|(i, core)| (i.index(safe.len()), core % cores)).collect();
        let mut plan = plan(binary, cores, |index, _| {
            chosen.get(&index).copied().filter(|_| safe[index])
        });
        for (index, function) in plan.functions.iter_mut().enumerate() {
            let may = ANALYSES[which].return_reason(function.offset).is_none();
            if may && goes_back >> index & 1 == 1 {
                function.mode = Mode::Call;
            }
            if by_argument >> index & 1 == 1 {
                let (argument, after) = (Argument::ALL[index % 6], index as u32 % 3);
                function.to = Destination::By(By { argument, after });
            }
        }
        prop_assume!(!plan.functions.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("patched");
        let before = std::fs::read(binary).unwrap();
        let done = patch(binary, &plan, &output, false).unwrap();
        prop_assert_eq!(done.hooks.len(), plan.functions.len());
        let found = verify(&output, Some(binary)).unwrap();
        prop_assert_eq!(found.findings, Vec::<String>::new());
        prop_assert_eq!(before, std::fs::read(binary).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_patched_file_with_any_bit_changed_does_not_verify(
        place in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let (_, output, bytes) = &*PATCHED;
        let mut bytes = bytes.clone();
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let folder = tempfile::tempdir().unwrap();
        let damaged = folder.path().join("damaged");
        std::fs::write(&damaged, bytes).unwrap();
        let runtime = output.with_file_name(corehop_runtime::NAME);
        std::fs::copy(runtime, folder.path().join(corehop_runtime::NAME)).unwrap();
        // An error is as good as a finding: in both cases the file does not pass.
        if let Ok(found) = verify(&damaged, None) {
            prop_assert!(!found.findings.is_empty(), "byte {:#x}", place);
        }
    }

    #[test]
    fn a_patched_file_cut_anywhere_does_not_verify(cut in any::<prop::sample::Index>()) {
        let (_, _, bytes) = &*PATCHED;
        let folder = tempfile::tempdir().unwrap();
        let damaged = folder.path().join("damaged");
        std::fs::write(&damaged, &bytes[..cut.index(bytes.len())]).unwrap();
        if let Ok(found) = verify(&damaged, None) {
            prop_assert!(!found.findings.is_empty());
        }
    }
}
