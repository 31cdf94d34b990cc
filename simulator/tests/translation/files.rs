//! Valid and invalid descriptions of address translation in machine files.

use corehop_simulator::{Error, Machine, PageSizes, Replayer, Split, TlbUse, WalkStart};

fn read(translation: &str) -> Result<Machine, String> {
    super::machine(translation).map_err(|error| error.to_string())
}

const FIRST: &str = "\
[[translation.tlb]]
level = 1
page_sizes = [\"4K\"]
entries = 8
";

#[track_caller]
fn refused(translation: &str, part: &str) {
    let message = read(translation).unwrap_err();
    assert!(message.contains(part), "{message}");
}

#[test]
fn what_is_left_out_is_the_default() {
    let translation = read(FIRST).unwrap().translation.unwrap();
    assert_eq!(translation.walks, WalkStart::L1d);
    assert_eq!(translation.tlbs[0].of, TlbUse::All);
    assert_eq!(translation.tlbs[0].ways(), 8);
    assert!(translation.walk_caches.is_empty());
    assert_eq!(read("").unwrap().translation, None);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let second = FIRST.replace("level = 1", "level = 2");
    refused(
        "[translation]\n",
        "no TLB of level 1 holds pages of 4K for fetches",
    );
    refused(&second, "no TLB of level 1");
    refused(
        &FIRST.replace("level = 1", "level = 3"),
        "TLBs have level 1 or 2",
    );
    refused(&FIRST.replace("\"4K\"", ""), "page_sizes is empty");
    refused(&FIRST.replace("\"4K\"", "\"8K\""), "8K");
    refused(
        &format!("{FIRST}{FIRST}"),
        "two TLBs of level 1 hold pages of 4K",
    );
    refused(
        &FIRST.replace("\"4K\"", "\"4K\", \"4K\""),
        "two TLBs of level 1",
    );
    refused(&FIRST.replace("= 8", "= 0"), "entries = 0, ways = 0");
    refused(&format!("{FIRST}ways = 3\n"), "entries = 8, ways = 3");
    refused(&format!("{FIRST}ways = 0\n"), "ways = 0");
    refused(
        &FIRST.replace("= 8", "= 100_000_000"),
        "1 to 1048576 entries",
    );
    refused(&FIRST.replace("= 8", "= 8192"), "at most 1024 ways");
    refused(&format!("{FIRST}of = \"data\"\n"), "4K for fetches");
    refused(&format!("[translation]\nwalks = \"l4\"\n{FIRST}"), "l4");
    let cache = "[[translation.walk_cache]]\nlevel = 2\nentries = 4\n";
    assert!(read(&format!("{FIRST}{cache}")).is_ok());
    refused(
        &format!("{FIRST}{cache}{cache}"),
        "level = 2: give one cache",
    );
    let own = cache.replace("level = 2", "level = 1");
    refused(&format!("{FIRST}{own}"), "level = 1: give one cache");
}

#[test]
fn a_machine_that_does_not_say_how_cannot_translate() {
    let machine = read("").unwrap();
    let split = Split::default();
    let replayer = Replayer::new(&machine, &split).unwrap();
    let translated = replayer.with_translation(&PageSizes::default());
    assert!(matches!(translated, Err(Error::NoTranslation { .. })));
}

#[test]
fn every_bundled_machine_says_how_it_translates() {
    for name in Machine::bundled() {
        let machine = Machine::named_or_path(name).unwrap();
        assert!(machine.translation.is_some(), "{name}");
    }
}
