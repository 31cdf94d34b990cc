//! Functions all of whose returns can be hooked: each rule on a function made for it, and the
//! shares of real servers.

use crate::workshop::{build, patched, plan_of};
use corehop_patcher::Analysis;
use corehop_plan::Mode;
use std::path::Path;

fn reason(analysis: &Analysis, symbol: &str) -> Option<String> {
    let named = |f: &&corehop_patcher::Function| f.symbol.as_deref() == Some(symbol);
    let function = analysis.functions().iter().find(named).expect(symbol);
    assert_eq!(analysis.entry_reason(function.offset), None, "{symbol}");
    analysis.return_reason(function.offset)
}

#[test]
fn each_function_is_judged_by_all_its_ways_out() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [["-pie"], ["-no-pie"]] {
        let binary = build(folder.path(), "exits", &flags, &["exits.s"]);
        let analysis = Analysis::of(&binary).unwrap();
        let safe = |symbol| assert_eq!(reason(&analysis, symbol), None, "{symbol}");
        safe("ends_plainly");
        safe("ends_in_padding");
        safe("is_nearly_nothing");
        safe("jumps_to_another");
        safe("has_a_midst");
        safe("has_a_table");
        let refused = |symbol, part: &str| {
            let reason = reason(&analysis, symbol).unwrap_or_else(|| panic!("{symbol} is safe"));
            assert!(reason.contains(part), "{symbol}: {reason}");
        };
        refused("shares_its_return", "no room at its return");
        refused("jumps_to_one_without_room", "no room at its return");
        refused("jumps_to_another_file", "a tail call into another file");
        refused("jumps_where_a_pointer_says", "is an indirect tail call");
        refused("jumps_into_the_midst", "the middle of another function");
        refused("returns_to_what_it_pushed", "no unwind information shows");
        refused("has_no_unwind_information", "no unwind information shows");
    }
}

#[test]
fn every_return_is_hooked_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let binary = build(folder.path(), "exits", &["-pie"], &["exits.s"]);
    let returns = |symbols: &[&str]| {
        let named: Vec<(&str, u32)> = symbols.iter().map(|&symbol| (symbol, 0)).collect();
        let mut plan = plan_of(&binary, 1, &named);
        plan.functions.iter_mut().for_each(|f| f.mode = Mode::Call);
        let patched = patched(&binary, &plan, folder.path());
        std::fs::remove_file(patched.output).unwrap();
        patched.returns
    };
    assert_eq!(
        returns(&["is_nearly_nothing"]),
        0,
        "its entry's hook does it"
    );
    assert_eq!(returns(&["ends_plainly"]), 1);
    assert_eq!(returns(&["jumps_to_another"]), 1, "the other's");
    assert_eq!(
        returns(&["jumps_to_another", "ends_plainly"]),
        1,
        "the same"
    );
    assert_eq!(returns(&["has_a_table"]), 2, "its own and its fragment's");
}

/// What no analysis of one file can see: how a function ends that another file has, or a pointer
/// names. How many functions end so depends on the program and its compiler.
const UNSEEN: [&str; 3] = [
    "is a tail call into another file",
    "is an indirect tail call",
    "it lies in another file",
];

#[test]
fn of_real_servers_functions_whose_ends_are_seen_92_in_100_can_be_hooked_there() {
    for binary in [
        "/usr/bin/redis-server",
        "/usr/bin/memcached",
        "/usr/sbin/nginx",
        "/usr/sbin/mariadbd",
        "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
    ] {
        let analysis = Analysis::of(Path::new(binary)).unwrap();
        let safe = |f: &&corehop_patcher::Function| analysis.entry_reason(f.offset).is_none();
        let entries = analysis.functions().iter().filter(safe);
        let reasons: Vec<Option<String>> =
            entries.map(|f| analysis.return_reason(f.offset)).collect();
        let known = reasons.iter().filter(|reason| reason.is_none()).count();
        let is_unseen = |reason: &&String| UNSEEN.iter().any(|part| reason.contains(part));
        let unseen = reasons.iter().flatten().filter(is_unseen).count();
        let all = reasons.len();
        let counts = format!("{binary}: {known} of {all}, {unseen} unseen");
        println!("{counts}");
        assert!(known * 100 >= (all - unseen) * 92, "{counts}");
        assert!(known * 10 >= all * 7, "{counts}");
    }
}
