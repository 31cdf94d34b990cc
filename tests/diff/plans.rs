//! Compares two plans: functions of every kind in one plan only, or in both with different keys.

use super::{assert_same, differing, differing_json};
use serde_json::{Value, json};
use tempfile::TempDir;

const HEAD: &str = "version = 2\nmachine = 'tiny'\ntrace = 'bank.trace'\ncores = 4\nseed = 1\n\
                    [request]\nmodule = '/usr/bin/server'\nbuild_id = '0a1b'\noffset = 0\n\
                    symbol = 'parse'\n";

/// Functions of build 0a1b: symbol, offset, and the other keys.
type Functions<'a> = &'a [(&'a str, u32, &'a str)];

fn text(functions: Functions<'_>) -> String {
    let mut text = HEAD.to_owned();
    for (symbol, offset, keys) in functions {
        text += &format!(
            "[[function]]\nmodule = '/usr/bin/server'\nbuild_id = '0a1b'\noffset = {offset}\n\
             symbol = '{symbol}'\n{keys}\n"
        );
    }
    text
}

fn folder(a: &str, b: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), a).unwrap();
    std::fs::write(folder.path().join("b.toml"), b).unwrap();
    folder
}

const WORDS: [&str; 2] = ["a.toml", "b.toml"];

const ENTER: &str = "core = 1\nmode = 'enter'";
const CALL: &str = "core = 1\nmode = 'call'";
const BY: &str = "by = 'argument 1'\nmode = 'enter'";
const BY_AFTER: &str = "by = 'argument 2'\nafter = 7\nmode = 'enter'";
const FIRST_CALL: &str = "core = 1\ncall = 1\nmode = 'enter'";
const THIRD_CALL: &str = "core = 2\ncall = 3\nmode = 'enter'";

/// Every kind of function.
const ALL: Functions<'_> = &[
    ("parse", 0, ENTER),
    ("execute", 64, CALL),
    ("find", 128, BY),
    ("scan", 192, BY_AFTER),
    ("log", 256, FIRST_CALL),
    ("log", 256, THIRD_CALL),
];

fn keys(of: &Value) -> Vec<(String, Value, Value)> {
    let all = of.as_array().unwrap().iter();
    let key = |of: &Value| {
        (
            of["name"].as_str().unwrap().into(),
            of["a"].clone(),
            of["b"].clone(),
        )
    };
    all.map(key).collect()
}

#[test]
fn a_plan_equals_itself_whatever_the_order_of_its_functions_is() {
    let reversed: Vec<_> = ALL.iter().rev().copied().collect();
    let folder = folder(&text(ALL), &text(&reversed));
    assert_same(folder.path(), &["a.toml", "a.toml"]);
    assert_same(folder.path(), &WORDS);
}

#[test]
fn each_kind_of_function_is_told_where_one_plan_lacks_it() {
    for (at, (symbol, _, _)) in ALL.iter().enumerate() {
        let mut fewer = ALL.to_vec();
        fewer.remove(at);
        let folder = folder(&text(ALL), &text(&fewer));
        for (words, only, other) in [
            (WORDS, "only_a", "only_b"),
            (["b.toml", "a.toml"], "only_b", "only_a"),
        ] {
            let told = differing_json(folder.path(), &words);
            let migrations = &told["migrations"];
            assert_eq!(told["kind"], "plan");
            assert_eq!(migrations["same"], 5, "{symbol}");
            assert_eq!(migrations[only][0]["symbol"], *symbol);
            assert_eq!(migrations[only].as_array().unwrap().len(), 1);
            assert_eq!(migrations[other], json!([]));
            assert_eq!(migrations["changed"], json!([]));
        }
    }
}

#[test]
fn keys_that_differ_are_told_with_both_values() {
    let null = Value::Null;
    let of = |name: &str, a: Value, b: Value| (name.to_owned(), a, b);
    for (before, after, changed) in [
        (
            ENTER,
            "core = 2\nmode = 'enter'",
            vec![of("core", "1".into(), "2".into())],
        ),
        (ENTER, CALL, vec![of("mode", "enter".into(), "call".into())]),
        (
            ENTER,
            BY,
            vec![
                of("core", "1".into(), null.clone()),
                of("by", null.clone(), "argument 1".into()),
                of("after", null.clone(), "0".into()),
            ],
        ),
        (
            BY,
            BY_AFTER,
            vec![
                of("by", "argument 1".into(), "argument 2".into()),
                of("after", "0".into(), "7".into()),
            ],
        ),
        (
            ENTER,
            FIRST_CALL,
            vec![of("call", null.clone(), "1".into())],
        ),
        (
            FIRST_CALL,
            THIRD_CALL,
            vec![
                of("core", "1".into(), "2".into()),
                of("call", "1".into(), "3".into()),
            ],
        ),
    ] {
        let [a, b] = [before, after].map(|keys| text(&[("find", 64, keys)]));
        let folder = folder(&a, &b);
        let told = differing_json(folder.path(), &WORDS);
        let migrations = &told["migrations"];
        assert_eq!(keys(&migrations["changed"][0]["keys"]), changed);
        assert_eq!(migrations["only_a"], json!([]));
    }
}

#[test]
fn of_several_calls_of_a_function_the_same_ones_pair() {
    let before: Functions<'_> = &[("log", 256, FIRST_CALL), ("log", 256, THIRD_CALL)];
    let third = "core = 0\ncall = 3\nmode = 'enter'";
    let fifth = "core = 3\ncall = 5\nmode = 'enter'";
    let after: Functions<'_> = &[
        ("log", 256, fifth),
        ("log", 256, third),
        ("log", 256, FIRST_CALL),
    ];
    let folder = folder(&text(before), &text(after));
    let told = differing_json(folder.path(), &WORDS);
    let migrations = &told["migrations"];
    assert_eq!(migrations["same"], 1);
    let changed = keys(&migrations["changed"][0]["keys"]);
    assert_eq!(changed, [("core".to_owned(), "2".into(), "0".into())]);
    assert_eq!(migrations["only_b"][0]["call"], 5);
}

#[test]
fn a_plan_for_another_build_has_the_same_functions_elsewhere() {
    let other = text(ALL)
        .replace("0a1b", "0c0d")
        .replace("offset = 64", "offset = 96");
    let folder = folder(&text(ALL), &other);
    let told = differing_json(folder.path(), &WORDS);
    let migrations = &told["migrations"];
    assert_eq!(migrations["only_a"], json!([]));
    assert_eq!(migrations["only_b"], json!([]));
    let changed = migrations["changed"].as_array().unwrap();
    assert_eq!(changed.len(), ALL.len());
    let names: Vec<String> = keys(&changed[1]["keys"])
        .into_iter()
        .map(|of| of.0)
        .collect();
    assert_eq!(names, ["build_id", "offset"]);
    assert_eq!(told["settings"][0]["name"], "request");
}

#[test]
fn the_head_and_what_was_expected_are_compared() {
    let expected = "[expected]\nhops_per_request = 2.5\n\
                    [expected.searched]\nrequests = 10\nbaseline_fetch_misses = 100\n\
                    baseline_data_misses = 200\nsplit_fetch_misses = 10\nsplit_data_misses = 20\n\
                    [expected.held_out]\nrequests = 0\nbaseline_fetch_misses = 0\n\
                    baseline_data_misses = 0\nsplit_fetch_misses = 0\nsplit_data_misses = 0\n";
    let plain = text(&ALL[..2]);
    let refused = plain.replace("seed = 1\n", "seed = 9\ncarriers_refuse = 'it says so'\n");
    let better = expected.replace("split_fetch_misses = 10", "split_fetch_misses = 5");
    let [a, b] = [(plain, expected), (refused, &*better)].map(|(plan, expected)| plan + expected);
    let folder = folder(&a, &b);
    let told = differing_json(folder.path(), &WORDS);
    let settings = keys(&told["settings"]);
    let refusal = ("carriers refuse".into(), Value::Null, "it says so".into());
    assert_eq!(settings, [("seed".into(), "1".into(), "9".into()), refusal]);
    let figures = keys(&told["figures"]);
    let split = figures
        .iter()
        .find(|of| of.0 == "searched: L2 misses, split");
    assert_eq!(
        split.map(|of| (&of.1, &of.2)),
        Some((&json!(3.0), &json!(2.5)))
    );
    insta::assert_snapshot!(differing(folder.path(), &WORDS));
}
