//! The implementations from which a resolver chooses are found.

use crate::workshop::build;
use corehop_patcher::{Analysis, implementations};

#[test]
fn a_resolver_tells_the_implementations_and_no_other_function_does() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: [(&[&str], &[&str]); 3] = [
        (&["-shared", "-fPIC"], &["library.cpp"]),
        (&["-shared", "-fPIC", "-O0"], &["library.cpp"]),
        (
            &["-static", "-no-pie", "-DLINKED"],
            &["across.cpp", "library.cpp"],
        ),
    ];
    for (flags, sources) in kinds {
        let library = build(folder.path(), "library.so", flags, sources);
        let analysis = Analysis::of(&library).unwrap();
        let named = |offset: u64| {
            let found = analysis.functions().iter().find(|f| f.offset == offset);
            found.unwrap().symbol.clone().unwrap()
        };
        let mut resolvers = 0;
        for function in analysis.functions() {
            let Some(found) = implementations(&library, function.offset).unwrap() else {
                continue;
            };
            let symbol = function.symbol.as_deref().unwrap();
            if !symbol.starts_with("library_cho") {
                // In a static program, libc has its own.
                assert!(flags.contains(&"-static"), "{symbol}");
                continue;
            }
            resolvers += 1;
            let mut names: Vec<String> = found.into_iter().map(named).collect();
            names.sort();
            assert_eq!(names, ["_ZL7one_wayi", "_ZL9other_wayi"]);
        }
        assert_eq!(resolvers, 1);
    }
}

#[test]
fn what_is_no_elf_file_has_no_resolver() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    assert!(implementations(&path, 0).is_err());
    std::fs::write(&path, "text").unwrap();
    assert!(implementations(&path, 0).is_err());
}
