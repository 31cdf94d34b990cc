//! `corehop optimize` selects among several plans by a race, and reports starts that differ.
//!
//! The load prints prepared numbers, so each test knows the winner.

use crate::figures;
use crate::optimize::{folder, measure, said};
use serde_json::Value;

#[test]
fn rounds_of_the_race_count_for_the_winner_and_the_original_runs_once_in_each() {
    let folder = folder();
    // Three rounds of the original and both plans, the second in reverse order; then the original
    // and the second plan.
    let numbers = "100 101 120 121 100 100 100 99 119 120 100 100 121 119 100 100 120 121 100";
    let more = ["--plans", "2", "--json"];
    let output = measure(folder.path(), numbers, &more);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let figures = figures::of("optimize", &output);
    let tried = figures["tried"].as_array().unwrap();
    assert_eq!(tried[0]["raced"]["rounds"], 3, "{figures}");
    assert_eq!(tried[1]["raced"]["rounds"], 3, "{figures}");
    assert_eq!(figures["best"], 1);
    assert_eq!(figures["chosen_by"], "separated");
    assert_eq!(figures["original"], Value::from(vec![100.0; 8]));
    let patched = [120.0, 121.0, 119.0, 120.0, 121.0, 119.0, 120.0, 121.0];
    assert_eq!(figures["patched"], Value::from(patched.to_vec()));
    let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap();
    assert_eq!(calls.lines().count(), 3 * 3 + 5 * 2);
    let told = said(&output);
    let line = told.lines().find(|line| line.starts_with("round 2 of"));
    assert!(line.unwrap().contains("), split 2 ("), "{told}");
    assert!(line.unwrap().ends_with(", selecting the best"), "{told}");
}

#[test]
fn rounds_before_an_error_are_kept_in_the_race_and_after_it_and_are_no_gain() {
    // The load prints no throughput in the third round, or in the fifth; the original and both
    // plans run in three rounds, then the original and the second plan.
    let of_race = "100 101 120 121 100 100";
    let later = "100 101 120 121 100 100 100 99 119 120 100";
    for (numbers, rounds) in [(of_race, 2), (later, 4)] {
        let folder = folder();
        let output = measure(folder.path(), numbers, &["--plans", "2", "--json"]);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        let figures = figures::of("optimize", &output);
        assert_eq!(figures["original"].as_array().unwrap().len(), rounds);
        assert_eq!(figures["best"], 1);
        assert_eq!(figures["gain"], false, "{figures}");
        assert_eq!(figures["answer"], "open");
        let early = figures["ended_early"].as_str().unwrap();
        assert!(early.contains("the output has no match"), "{early}");
        assert!(figures["why_not"].as_str().unwrap().ends_with(early));
        let result = folder.path().join("corehop-optimize/result.json");
        let kept: Value = serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap();
        assert_eq!(kept, figures);
        let kept = "the rounds before it are kept: corehop-optimize/result.json, ";
        assert!(said(&output).contains(kept), "{}", said(&output));
    }
}

#[test]
fn a_plan_that_was_lucky_in_two_rounds_loses_the_race_against_a_steady_one() {
    let folder = folder();
    // Six rounds of the original and both plans, in alternating order.
    let numbers = "100 170 140 141 166 100 100 100 140 142 101 101 100 99 141 140 102 100";
    let more = ["--plans", "2", "--max-rounds", "6", "--json"];
    let output = measure(folder.path(), numbers, &more);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let figures = figures::of("optimize", &output);
    assert_eq!(figures["best"], 1, "{figures}");
    assert_eq!(figures["chosen_by"], "lower-end");
    assert_eq!(figures["tried"][0]["raced"]["rounds"], 6);
    assert_eq!(figures["original"].as_array().unwrap().len(), 6);
    assert_eq!(figures["groups"], Value::Null);
}

#[test]
fn a_plan_that_is_fast_in_half_of_its_starts_is_reported_with_both_groups() {
    let folder = folder();
    // Original and patched, then patched and original.
    let numbers = "100 101 101 100 100 100 102 100 100 151 151 100 100 150 152 100";
    let more = ["--plans", "1", "--max-rounds", "8"];
    let output = measure(folder.path(), numbers, &[&more[..], &["--json"]].concat());
    let figures = figures::of("optimize", &output);
    assert_eq!(figures["chosen_by"], "only");
    let runs = [0, 1].map(|group| figures["groups"][group]["runs"].as_u64());
    assert_eq!(runs, [Some(4), Some(4)], "{figures}");
    let expected = "starts differ: 4 of 8 ran at 1.01 times the original's speed, 4 at 1.51";
    let page = folder.path().join("corehop-optimize/report.html");
    let page = std::fs::read_to_string(page).unwrap();
    let (head, _) = page.split_once("</header>").unwrap();
    assert!(head.contains("Measured on this machine: 1.2"), "{head}");
    assert!(
        head.contains(&expected.replace('\'', "&#39;")) || head.contains(expected),
        "{head}"
    );

    std::fs::remove_file(folder.path().join("calls")).unwrap();
    let told = measure(folder.path(), numbers, &[&more[..], &["--force"]].concat());
    let both = said(&told) + &String::from_utf8_lossy(&told.stdout);
    assert!(both.contains(expected), "{both}");
}
