//! Which entries may be patched: each rule on a function made for it, and the shares of real
//! servers.

use corehop_patcher::{Analysis, Refusal};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The fixture's bytes, built once.
static ENTRIES: LazyLock<Vec<u8>> = LazyLock::new(|| build(&["-pie"]));

fn build(flags: &[&str]) -> Vec<u8> {
    build_from("entries.s", flags)
}

fn build_from(source: &str, flags: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("program");
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"));
    let status = Command::new("cc")
        .args(flags)
        .args(["-o"])
        .arg(&output)
        .arg(fixtures.join(source))
        .status();
    assert!(status.unwrap().success());
    std::fs::read(output).unwrap()
}

/// Beyond the last address, no limit can be relied on.
#[test]
fn a_size_that_reaches_beyond_every_address_is_survived() {
    let analysis = Analysis::from_bytes(build_from("sizes.s", &["-pie"]), Path::new("sizes"));
    let analysis = analysis.unwrap();
    let is_main = |f: &&corehop_patcher::Function| f.symbol.as_deref() == Some("main");
    let main = analysis.functions().iter().find(is_main).expect("main");
    assert_eq!(main.size_bytes, u64::MAX);
    analysis.unsafe_reason(main.offset);
}

fn reason(analysis: &Analysis, symbol: &str) -> Option<String> {
    let named = |f: &&corehop_patcher::Function| f.symbol.as_deref() == Some(symbol);
    let function = analysis.functions().iter().find(named).expect(symbol);
    analysis.unsafe_reason(function.offset)
}

#[test]
fn each_entry_is_judged_by_what_leads_into_it() {
    let packed = "-Wl,-z,pack-relative-relocs";
    let shapes: [(&[&str], &str); 3] = [
        (&["-pie"], "relocation"),
        (&["-pie", packed], "relocation"),
        (&["-no-pie"], "data word"),
    ];
    for (flags, how_pointed) in shapes {
        let analysis = Analysis::from_bytes(build(flags), Path::new("entries")).unwrap();
        let safe = |symbol| assert_eq!(reason(&analysis, symbol), None, "{symbol}");
        safe("plain");
        safe("behind_endbr");
        safe("short_and_padded");
        safe("neighbour");
        safe("loops_to_entry");
        safe("calls_last");
        let refused = |symbol, part: &str| {
            let reason = reason(&analysis, symbol).unwrap_or_else(|| panic!("{symbol} is safe"));
            assert!(reason.contains(part), "{symbol}: {reason}");
        };
        refused("short_and_crowded", "other code begins");
        refused("runs_on", "falls through to the code");
        refused("loops_behind_entry", "branches to");
        refused("calls_too_early", "returns into the jump");
        refused("calls_by_stack", "depends on the stack pointer");
        refused("has_a_table", "jump table entry");
        refused("is_pointed_into", how_pointed);
        refused("has_its_label_taken", "takes address");
    }
}

#[test]
fn an_address_that_is_no_entry_is_refused() {
    let analysis = Analysis::from_bytes(ENTRIES.clone(), Path::new("entries")).unwrap();
    let plain = analysis
        .functions()
        .iter()
        .find(|f| f.symbol.as_deref() == Some("plain"));
    let inside = plain.unwrap().offset + 1;
    assert_eq!(
        analysis.unsafe_reason(inside).as_deref(),
        Some("not the entry of a function in this file")
    );
    assert!(analysis.unsafe_reason(u64::MAX).is_some());
}

#[test]
fn a_static_program_is_refused_as_a_whole_and_a_library_is_not() {
    let analysis = |flags: &[&str]| Analysis::from_bytes(build(flags), Path::new("x")).unwrap();
    for (flag, expected) in [
        ("-static", Refusal::Static),
        ("-static-pie", Refusal::StaticPie),
    ] {
        assert_eq!(analysis(&[flag]).refusal(), Some(expected));
    }
    let library = analysis(&["-shared", "-Wl,-z,notext"]);
    assert_eq!((library.refusal(), library.is_library()), (None, true));
    assert!(!analysis(&["-pie"]).is_library());
    assert!(!analysis(&["-no-pie"]).is_library());
}

#[test]
fn a_program_of_another_libc_is_refused() {
    let musl = build(&["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"]);
    let analysis = Analysis::from_bytes(musl, Path::new("x")).unwrap();
    assert_eq!(analysis.refusal(), Some(Refusal::OtherLibc));
}

#[test]
fn what_the_runtime_itself_needs_is_refused() {
    for part in ["libc.so.6", "ld-linux-x86-64.so.2"] {
        let path = Path::new("/lib/x86_64-linux-gnu").join(part);
        let analysis = Analysis::of(&path).unwrap();
        let expected = Some(Refusal::NeededByTheRuntime);
        assert_eq!(analysis.refusal(), expected, "{part}");
    }
}

#[test]
fn of_real_servers_99_in_100_entries_may_be_patched_and_of_sqlite_too() {
    for (binary, least) in [
        ("/usr/bin/redis-server", 4000),
        ("/usr/bin/memcached", 300),
        ("/usr/sbin/nginx", 1500),
        ("/usr/sbin/mariadbd", 30_000),
        ("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", 2500),
    ] {
        let analysis = Analysis::of(&PathBuf::from(binary)).unwrap();
        let functions = analysis.functions();
        let safe = functions
            .iter()
            .filter(|f| analysis.entry_reason(f.offset).is_none());
        let (safe, all) = (safe.count(), functions.len());
        println!("{binary}: {safe} of {all}");
        assert!(safe * 100 >= all * 99, "{binary}: {safe} of {all}");
        assert!(all > least, "{binary}: {all}");
        assert_eq!(analysis.refusal(), None, "{binary}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn damage_is_an_error_or_a_refusal_but_never_a_panic(
        cut in any::<prop::sample::Index>(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        header_flips in proptest::collection::vec((0usize..1024, any::<u8>()), 0..4),
        whole in any::<bool>(),
    ) {
        let mut bytes = ENTRIES.clone();
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        for (place, value) in header_flips {
            bytes[place] = value;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(analysis) = Analysis::from_bytes(bytes, Path::new("damaged")) {
            for function in analysis.functions() {
                analysis.unsafe_reason(function.offset);
            }
        }
    }
}
