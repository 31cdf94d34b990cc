//! The output and files of a search, and its refusals.

use crate::partition::{SAMPLE, SHORT, beginning, json, partition, refused, searched};
use serde_json::Value;
use std::path::Path;

#[test]
fn scripts_find_every_documented_key() {
    let found = searched(&[]);
    let keys = [
        "machine",
        "trace",
        "cores",
        "seed",
        "candidates",
        "groups",
        "splits_evaluated",
        "seconds",
        "verdict",
        "searched",
        "held_out",
        "hops_per_request",
        "returns",
        "plan",
    ];
    for key in keys {
        assert!(!found[key].is_null(), "{key} is missing");
    }
    for part in ["searched", "held_out"] {
        for side in ["baseline", "split"] {
            let counters = &found[part][side];
            let [l1i, l1d, l2] = ["l1i", "l1d", "l2"].map(|level| &counters[level]);
            let missed = l1i["misses"].as_u64().unwrap() + l1d["misses"].as_u64().unwrap();
            assert_eq!(l2["accesses"], missed);
            assert_eq!(counters["l3"]["accesses"], l2["misses"]);
            let kinds = ["fetch_misses", "data_misses"].map(|kind| l2[kind].as_u64().unwrap());
            assert_eq!(l2["misses"], kinds.iter().sum::<u64>());
        }
    }
    assert_eq!(found["searched"]["requests"], 3);
    assert_eq!(found["plan"].as_array().unwrap().len(), 2);
}

#[test]
fn the_number_of_host_threads_changes_nothing_but_the_time() {
    let on = |threads| {
        let mut found = json(&["--threads", threads]);
        found["seconds"].take();
        found
    };
    assert_eq!(on("1"), on("3"));
}

#[test]
fn hops_back_are_tried_and_taken_only_where_they_pay() {
    let found = json(&["--strategy", "local", "--returns", "auto"]);
    let returns = &found["returns"];
    assert_eq!(
        (&returns["tried"], &returns["rounds"]),
        (&4.into(), &2.into())
    );
    let misses = |of: &Value| of["counters"]["l2"]["misses"].as_u64().unwrap();
    let alone = returns["alone"].as_array().unwrap();
    let planned = found["plan"].as_array().unwrap();
    assert_eq!((alone.len(), planned.len()), (2, 2));
    for (variant, function) in alone.iter().zip(planned) {
        assert_eq!(
            variant["functions"],
            serde_json::json!([function["symbol"]])
        );
        assert!(misses(&returns["best"]) <= misses(variant));
    }
    let back = planned.iter().filter(|function| function["mode"] == "call");
    let back: Vec<&Value> = back.map(|function| &function["symbol"]).collect();
    assert_eq!(serde_json::json!(back), returns["best"]["functions"]);
    assert_eq!(returns["taken"], !back.is_empty());
    assert_eq!(
        returns["best_held_out"]["counters"],
        found["held_out"]["split"]
    );
}

#[test]
fn hops_back_are_not_looked_at_when_never_wanted() {
    let found = searched(&["--strategy", "local", "--returns", "never"]);
    assert!(found["returns"].is_null());
}

#[test]
fn a_split_found_on_three_requests_misses_less_on_others() {
    let held_out = &searched(&[])["held_out"];
    let misses = |side: &str| held_out[side]["l2"]["misses"].as_u64().unwrap();
    assert!(misses("split") < misses("baseline"), "{held_out}");
}

#[test]
fn the_plan_is_kept_where_it_was_asked_for_and_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("split.toml");
    let named = ["--resamples", "1", "-o", path.to_str().unwrap()];
    assert!(partition(&[&SHORT[..], &named].concat()).status.success());
    let plan = corehop_plan::read(&path).unwrap();
    assert_eq!((plan.cores, plan.functions.len()), (2, 2));
    let (code, said) = refused(&[&SHORT[..], &named].concat());
    assert_eq!(code, 4);
    assert!(said.contains("split.toml exists already"), "{said}");
    assert_eq!(corehop_plan::read(&path).unwrap(), plan);
}

#[test]
fn a_plan_on_standard_output_stands_alone_and_the_report_beside_it_says_how_it_was_found() {
    let output = partition(&[&SHORT[..], &["-o", "-", "--verbose"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let plan = corehop_plan::parse(&text, Path::new("-")).unwrap();
    assert_eq!(plan.functions.len(), 2);
    let report = String::from_utf8(output.stderr).unwrap();
    let of = |label| report.lines().filter(move |line| line.starts_with(label));
    let [strategy] = of("strategy").collect::<Vec<_>>()[..] else {
        panic!("{report}");
    };
    assert!(strategy.contains(" exhaustive: "), "{strategy}");
    assert!(strategy.ends_with(" splits can all be tried"), "{strategy}");
    assert_eq!(of("verdict").count(), 1, "{report}");
}

#[test]
fn cores_that_make_no_split_are_refused() {
    for (cores, why) in [
        ("0", "at least 2 cores"),
        ("1", "at least 2 cores"),
        ("9", "has 8"),
    ] {
        let (code, said) = refused(&["--cores", cores]);
        assert_eq!(code, 2);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn what_is_missing_is_named_before_anything_is_searched() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.trace");
    std::fs::write(&empty, "").unwrap();
    let empty = empty.to_str().unwrap();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--cores", "2", "nowhere.trace"], 3, "nowhere.trace"),
        (&["--cores", "2", empty], 3, "the file is empty"),
        (
            &["--cores", "2", "--machine", "abacus"],
            3,
            "unknown machine 'abacus'",
        ),
        (
            &["--cores", "2", "-o", "/nowhere/split.toml"],
            4,
            "/nowhere/split.toml: cannot write",
        ),
        (
            &["--cores", "2", "--requests", "100000"],
            3,
            "bundled sample (mariadb-tpcc): cannot search on 100000 requests: the trace has 250",
        ),
        (
            &["--cores", "2", "--requests", "100000", SAMPLE],
            3,
            "/mariadb-tpcc.trace: cannot search on 100000 requests: the trace has 250",
        ),
    ];
    for (arguments, code, why) in cases {
        let (found, said) = refused(arguments);
        assert_eq!(found, code, "{said}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn other_draws_say_how_far_verdicts_lie_apart() {
    let found = json(&["--resamples", "2"]);
    let draws = found["draws"].as_array().unwrap();
    let seeds: Vec<&Value> = draws.iter().map(|draw| &draw["seed"]).collect();
    assert_eq!(seeds, [1, 2]);
    let misses = |side: &str| found["held_out"][side]["l2"]["misses"].as_f64().unwrap();
    assert_eq!(draws[0]["ratio"], misses("split") / misses("baseline"));
    let ratios = [0, 1].map(|draw: usize| draws[draw]["ratio"].as_f64().unwrap());
    let of_plan = [0, 1].map(|draw: usize| draws[draw]["plan_ratio"].as_f64().unwrap());
    assert_eq!(of_plan[0], ratios[0]);
    // The second sample is evaluated on other requests, so the plan has another ratio there.
    assert_ne!(of_plan[1], of_plan[0]);
    let most = ratios[0].max(ratios[1]).max(of_plan[1]);
    assert_eq!(found["draws_together"]["most"], most);
    assert_eq!(
        found["draws_together"]["mean"],
        (of_plan[0] + of_plan[1]) / 2.0
    );
    assert_eq!(found["against"], Value::Null);
}

#[test]
fn the_plan_of_a_search_without_time_is_judged_on_other_draws_all_the_same() {
    let found = json(&["--resamples", "3", "--time-limit", "0"]);
    assert_eq!(found["stopped"], true);
    let draws = found["draws"].as_array().unwrap();
    let ratios: Vec<bool> = draws.iter().map(|draw| draw["ratio"].is_null()).collect();
    assert_eq!(ratios, [false, true, true]);
    assert!(
        draws.iter().all(|draw| draw["plan_ratio"].is_f64()),
        "{draws:?}"
    );
    let text = partition(&[&SHORT[..], &["--time-limit", "0", "--verbose"]].concat()).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("no time to search on those"), "{text}");
}

#[test]
fn a_proof_names_what_it_is_of_where_that_is_not_the_objective() {
    let said = |objective| {
        let asked = [
            "--resamples",
            "1",
            "--returns",
            "never",
            "--objective",
            objective,
        ];
        let output = partition(&[&SHORT[..], &asked].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let cycles = said("cycles");
    let line = "proven optimal, by cycles without the L3's misses\n";
    assert!(cycles.contains(line), "{cycles}");
    let misses = said("l2");
    assert!(misses.contains(" proven optimal\n"), "{misses}");
}

#[test]
fn the_runner_up_and_what_a_hop_may_cost_are_told() {
    let found = searched(&[]);
    let ranks = found["ranks"].as_array().unwrap();
    let in_full: Vec<u64> = ranks
        .iter()
        .map(|r| r["in_full"].as_u64().unwrap())
        .collect();
    assert_eq!(in_full.len(), 5);
    assert!(in_full.is_sorted(), "{in_full:?}");
    assert_eq!(found["runner_up"]["in_full"], in_full[1]);
    assert!(found["runner_up"]["held_out"]["split"]["cycles"].is_u64());
    // With hops at their break-even cost, the split takes as long as one core.
    let held_out = &found["held_out"];
    let of = |value: &Value| value.as_f64().unwrap();
    let hops = (of(&found["hops_per_request"]) * of(&held_out["requests"])).round();
    let saved_a_hop = of(&found["break_even_hop_cycles"]) - of(&found["hop_cost_cycles"]);
    let cycles = |side: &str| of(&held_out[side]["cycles"]);
    let difference = cycles("split") + hops * saved_a_hop - cycles("baseline");
    assert!(difference.abs() < 1.0, "{difference}");
}

#[test]
fn a_plan_that_does_not_pay_is_written_only_anyway() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("split.toml");
    let roomy = ["--machine", "xeon-8480", "-o", path.to_str().unwrap()];
    let roomy = [&SHORT[..], &["--resamples", "1", beginning()], &roomy].concat();
    let output = partition(&roomy);
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("no plan was written: no speedup found"),
        "{said}"
    );
    let result = String::from_utf8(output.stdout).unwrap();
    let unwritten = "plan        not written: no speedup found\n";
    assert!(result.contains(unwritten), "{result}");
    assert!(!path.exists());
    let anyway = partition(&[&roomy[..], &["--ignore-verdict"]].concat());
    assert!(anyway.status.success(), "{anyway:?}");
    assert!(path.exists());
    let again = |how| partition(&[&roomy[..], &[how]].concat()).status.code();
    assert_eq!(
        (again("--ignore-verdict"), again("--force")),
        (Some(4), Some(0))
    );
}

#[test]
fn a_sweep_says_on_which_machines_splitting_pays() {
    let sweep = ["--sweep", "--machine", "xeon-e5-2620-v4,xeon-8480"];
    let sweep = [&SHORT[..], &sweep].concat();
    let text = String::from_utf8(partition(&sweep).stdout).unwrap();
    let verdicts: Vec<&str> = text.lines().filter(|l| !l.starts_with(' ')).collect();
    let [_, _, _, pays, _, _, does_not] = verdicts[..] else {
        panic!("{text}");
    };
    assert!(pays.starts_with("fewest L2 misses on 2 cores"), "{text}");
    assert_eq!(does_not, "no speedup found on any number of cores");
    let weights = ["--sweep", "--machine", "xeon-8480=2,graviton3"];
    let (code, said) = refused(&[&SHORT[..], &weights].concat());
    assert_eq!(code, 2);
    assert!(said.contains("weights have no effect"), "{said}");
}

#[test]
fn several_machines_are_weighed_against_each_other() {
    let machines = [
        "--machine",
        "xeon-e5-2620-v4=3,xeon-8480",
        "--resamples",
        "1",
    ];
    let found = json(&machines);
    let ratios = found["machines"].as_array().unwrap().iter().map(|of| {
        let misses = |side: &str| of["held_out"][side]["l2"]["misses"].as_f64().unwrap();
        assert_eq!(of["ratio"], misses("split") / misses("baseline"));
        (
            of["weight"].as_f64().unwrap(),
            misses("split") / misses("baseline"),
        )
    });
    let [(3.0, small), (1.0, large)] = ratios.collect::<Vec<_>>()[..] else {
        panic!("{found}");
    };
    assert!(small < large, "{small} and {large}");
    let mean = found["draws"][0]["ratio"].as_f64().unwrap();
    assert!((mean - (3.0 * small + large) / 4.0).abs() < 1e-12, "{mean}");
    assert_eq!(found["machine"], "xeon-e5-2620-v4=3,xeon-8480=1");
    assert_eq!(found["returns"], Value::Null);
    // The values of the ranking are shares of one core's, too.
    let alone = found["ranks"][0]["alone"].as_f64().unwrap();
    assert!(alone < 10.0, "{alone}");
    let back = ["--returns", "auto", "--machine", "xeon-8480,graviton3"];
    let (code, said) = refused(&[&SHORT[..], &back].concat());
    assert_eq!(code, 2);
    assert!(said.contains("chosen for one machine"), "{said}");
}
