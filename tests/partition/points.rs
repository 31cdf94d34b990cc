//! Searches on listed requests of which only the last counts, and with hops at any code block.

use crate::conforming::read;
use crate::partition::{json, partition, refused, searched};
use serde_json::Value;

fn misses(of: &Value, side: &str) -> u64 {
    of["searched"][side]["l2"]["misses"].as_u64().unwrap()
}

fn named(more: &[&str]) -> Value {
    let only = [
        "--cores",
        "2",
        "--only",
        "167,168",
        "--json",
        "--resamples",
        "1",
    ];
    let output = partition(&[&only, more].concat());
    assert!(output.status.success(), "{output:?}");
    read(&["partition"], &output.stdout)
}

#[test]
fn only_the_last_of_the_requests_named_counts_if_asked() {
    let (both, last) = (named(&[]), named(&["--evaluate-last"]));
    assert_eq!(
        (&both["searched"]["requests"], &last["searched"]["requests"]),
        (&2.into(), &1.into())
    );
    assert!(misses(&last, "baseline") < misses(&both, "baseline"));
    assert!(misses(&last, "split") < misses(&last, "baseline"));
    assert!(last["held_out"].is_null());
    let verdict = last["verdict"].as_str().unwrap();
    assert!(
        verdict.ends_with("of request 168, which was searched"),
        "{verdict}"
    );
    let (code, said) = refused(&["--cores", "2", "--only", "168,4000000000"]);
    assert_eq!(
        (code, said.contains("--only 4000000000")),
        (2, true),
        "{said}"
    );
    let (code, said) = refused(&["--cores", "2", "--evaluate-last"]);
    assert_eq!(code, 2, "{said}");
}

#[test]
fn at_any_code_block_there_are_more_candidates_and_no_plan() {
    let local = ["--strategy", "local", "--returns", "never"];
    let entries = searched(&local);
    let blocks = json(&[&local[..], &["--points", "blocks"]].concat());
    let count = |of: &Value| of["candidates"].as_u64().unwrap();
    assert!(count(&blocks) > 2 * count(&entries));
    assert_eq!(misses(&blocks, "baseline"), misses(&entries, "baseline"));
    let refusals: [&[&str]; 3] = [
        &["-o", "plan.toml"],
        &["--delegate", "1"],
        &["--returns", "auto"],
    ];
    for more in refusals {
        let (code, said) = refused(&[&["--cores", "2", "--points", "blocks"], more].concat());
        assert_eq!(
            (code, said.contains("--points blocks")),
            (2, true),
            "{said}"
        );
    }
}
