//! A plan survives writing and reading, and an invalid one is rejected with the violated rule.

use corehop_plan::{
    Argument, By, Comparison, Destination, Expected, KthCall, Mode, Plan, PlannedFunction, Request,
    parse, render,
};
use proptest::prelude::*;
use std::path::Path;

fn example() -> Plan {
    Plan {
        version: 1,
        machine: "xeon-e5-2620-v4".into(),
        trace: "bank.trace".into(),
        cores: 2,
        seed: 7,
        carriers_refuse: None,
        request: Some(Request {
            module: "/usr/sbin/mariadbd".into(),
            build_id: "0a1b".into(),
            offset: 0x5f_3a10,
            symbol: "dispatch_command".into(),
        }),
        expected: Some(Expected {
            hops_per_request: 2.5,
            searched: comparison(10),
            held_out: comparison(20),
        }),
        functions: vec![function(0x5f_3a10, 0), function(0x60_0000, 1)],
    }
}

fn comparison(requests: u64) -> Comparison {
    Comparison {
        requests,
        baseline_fetch_misses: 600,
        baseline_data_misses: 400,
        split_fetch_misses: 300,
        split_data_misses: 200,
    }
}

fn function(offset: u64, core: u32) -> PlannedFunction {
    PlannedFunction {
        module: "/usr/sbin/mariadbd".into(),
        build_id: "0a1b".into(),
        offset,
        symbol: format!("f{offset:x}"),
        to: Destination::Core(core),
        mode: if core == 1 { Mode::Call } else { Mode::Enter },
    }
}

/// Returns the example, with its second function by the first argument.
fn by_argument() -> Plan {
    let mut plan = Plan {
        version: 2,
        ..example()
    };
    plan.functions[1].to = Destination::By(Argument::ALL[0].into());
    plan
}

fn refusal(text: &str) -> String {
    parse(text, Path::new("p.toml")).unwrap_err().to_string()
}

#[test]
fn a_person_can_read_it() {
    insta::assert_snapshot!(render(&example()));
}

/// A symbol may contain characters that clear a terminal, end its line or reverse the text.
#[test]
fn no_name_acts_on_who_reads_the_file() {
    let hostile = "\u{1b}[2J\"\r\n[[function]]\u{8}\u{9b}\u{202e}'\\\u{2028}";
    let mut plan = example();
    plan.machine = hostile.into();
    plan.trace = hostile.into();
    plan.functions[0].module = hostile.into();
    plan.functions[0].symbol = hostile.into();
    for text in plan
        .request
        .iter_mut()
        .flat_map(|r| [&mut r.module, &mut r.symbol])
    {
        *text = hostile.into();
    }
    let text = render(&plan);
    let lines = render(&example()).lines().count();
    assert_eq!(text.lines().count(), lines);
    assert!(
        !text.replace('\n', "").contains(corehop_plan::acts),
        "{text}"
    );
    assert_eq!(parse(&text, Path::new("hostile.toml")).unwrap(), plan);
}

#[test]
fn a_core_beyond_the_last_is_refused() {
    let text = render(&example()).replace("core = 1", "core = 2");
    let expected = "p.toml: line 44: function f600000 in /usr/sbin/mariadbd: \
                    core 2, but cores run from 0 to 1";
    assert_eq!(refusal(&text), expected);
}

#[test]
fn a_function_listed_twice_is_refused() {
    let text = render(&example()).replace("0x600000", "0x5f3a10");
    let expected = "p.toml: line 44: function f600000 in /usr/sbin/mariadbd: \
                    listed twice: keep one of the entries";
    assert_eq!(refusal(&text), expected);
}

#[test]
fn a_request_is_where_a_file_may_have_a_function() {
    let text = render(&example()).replacen("0a1b", "of today", 1);
    let expected = "p.toml: line 13: request dispatch_command in /usr/sbin/mariadbd: build_id \
                    'of today' is not hexadecimal: copy it from `file /usr/sbin/mariadbd`";
    assert_eq!(refusal(&text), expected);
    let text = render(&example()).replace("mode = \"call\"", "mode = \"count\"");
    let expected = "p.toml: line 44: function f600000 in /usr/sbin/mariadbd: \
                    mode \"count\" migrates no thread: name the function in [request] instead";
    assert_eq!(refusal(&text), expected);
}

#[test]
fn a_prediction_that_counts_nothing_is_refused() {
    for hops in ["nan", "inf", "-1.0"] {
        let text = render(&example());
        let line = text
            .lines()
            .find(|line| line.starts_with("hops_per_request"))
            .unwrap();
        let text = text.replace(line, &format!("hops_per_request = {hops}"));
        let told = refusal(&text);
        assert!(
            told.starts_with("p.toml: line 19: [expected]: hops_per_request = "),
            "{told}"
        );
        assert!(
            told.ends_with("search again, or leave out [expected]"),
            "{told}"
        );
    }
}

#[test]
fn why_carriers_refuse_is_read_back_and_fits_a_line() {
    let reason = "it installs a seccomp filter";
    let plan = Plan {
        carriers_refuse: Some(reason.into()),
        ..example()
    };
    let text = render(&plan);
    assert!(text.contains(&format!("\ncarriers_refuse = \"{reason}\"\n")));
    assert!(text.contains("`auto` never begins"), "{text}");
    assert!(!render(&example()).contains("carriers_refuse"));
    assert_eq!(parse(&text, Path::new("p.toml")).unwrap(), plan);
    for wrong in ["", &"x".repeat(201), "two\\nlines"] {
        let said = refusal(&text.replace(reason, wrong));
        let expected = "p.toml: carriers_refuse: a reason has 1 to 200 bytes on one line";
        assert_eq!(said, expected);
    }
}

#[test]
fn a_newer_version_is_named_as_such() {
    let text = render(&example()).replace("version = 1", "version = 3\nnews = true");
    let expected = "p.toml: plan version 3, but this corehop reads versions 1 and 2: \
                    use the corehop that wrote it, or search again";
    assert_eq!(refusal(&text), expected);
}

#[test]
fn a_missing_key_is_named_with_its_place() {
    let text = render(&example()).replace("machine = ", "engine = ");
    let said = refusal(&text);
    assert!(said.contains("unknown field `engine`"), "{said}");
    assert!(said.contains("line 8"), "{said}");
}

#[test]
fn a_function_may_go_by_an_argument() {
    let text = render(&by_argument());
    assert!(
        text.contains("by = \"argument 1\"\nmode = \"call\"\n"),
        "{text}"
    );
    assert_eq!(parse(&text, Path::new("p.toml")).unwrap(), by_argument());
}

#[test]
fn objects_may_get_their_cores_after_some_calls() {
    let mut plan = by_argument();
    let by = |after| {
        let argument = Argument::ALL[0];
        Destination::By(By { argument, after })
    };
    plan.functions[1].to = by(7);
    let text = render(&plan);
    let expected = "by = \"argument 1\"\nafter = 7\nmode = \"call\"\n";
    assert!(text.contains(expected), "{text}");
    assert_eq!(parse(&text, Path::new("p.toml")).unwrap(), plan);
    let said = refusal(&text.replace("after = 7", "after = 3001"));
    let expected = "after = 3001, but at most 3000 calls can come before";
    assert!(said.contains(expected), "{said}");
    let said = refusal(&text.replace("by = \"argument 1\"", "core = 1"));
    let expected = "function f600000 has `after` without `by`: ";
    assert!(said.contains(expected), "{said}");
    let names = [0, 1, 7].map(|after| by(after).to_string());
    let expected = [
        "by argument 1",
        "by argument 1 after 1 call",
        "by argument 1 after 7 calls",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_function_may_go_at_one_call_of_a_request() {
    let mut plan = by_argument();
    plan.functions[1].to = Destination::At(KthCall { core: 1, call: 3 });
    assert_eq!(plan.functions[1].to.to_string(), "core 1 at call 3");
    let text = render(&plan);
    assert!(
        text.contains("core = 1\ncall = 3\nmode = \"call\"\n"),
        "{text}"
    );
    assert!(
        text.contains("`call` moves the thread at that call"),
        "{text}"
    );
    assert_eq!(parse(&text, Path::new("p.toml")).unwrap(), plan);
    let wrong = |from: &str, to: &str, expected: &str| {
        let said = refusal(&text.replace(from, to));
        assert!(said.contains(expected), "{said}");
    };
    wrong("call = 3", "call = 0", "call = 0, but calls of a request");
    wrong("call = 3", "call = 201", "numbered from 1 to 200");
    wrong(
        "core = 1\n",
        "core = 9\n",
        "core 9, but cores run from 0 to ",
    );
    wrong("version = 2", "version = 1", "`call` is of plan version 2");
    wrong(
        "core = 1\ncall",
        "by = \"argument 1\"\ncall",
        "has `call` without `core`",
    );
    let request = text.find("\n[request]\n").unwrap() + 1;
    let after = request + text[request..].find("\n[").unwrap();
    let without = format!("{}{}", &text[..request], &text[after..]);
    let said = refusal(&without);
    let expected = "name the function that each request enters in [request]";
    assert!(said.contains(expected), "{said}");
}

/// Returns the example at calls 1 and 64 of its first function, each on another core.
fn at_two_calls() -> Plan {
    let mut plan = by_argument();
    plan.functions[1] = plan.functions[0].clone();
    for (function, (core, call)) in plan.functions.iter_mut().zip([(0, 1), (1, 64)]) {
        function.to = Destination::At(KthCall { core, call });
    }
    plan
}

#[test]
fn a_function_may_go_at_several_calls_of_a_request() {
    let plan = at_two_calls();
    let text = render(&plan);
    assert!(text.contains("core = 0\ncall = 1\nmode"), "{text}");
    assert!(text.contains("core = 1\ncall = 64\nmode"), "{text}");
    assert_eq!(parse(&text, Path::new("p.toml")).unwrap(), plan);
    // The line of the second entry, counted as in an editor.
    let lines = text.lines().zip(1..).filter(|(l, _)| *l == "[[function]]");
    let line = lines.last().unwrap().1;
    let wrong = |from: &str, to: &str, rule: &str| {
        let text = text.replace(from, to);
        // The replacement may remove one line before it.
        let line = line - usize::from(to.is_empty() && from == "call = 1\n");
        let said = refusal(&text);
        let expected =
            format!("p.toml: line {line}: function f5f3a10 in /usr/sbin/mariadbd: {rule}");
        assert_eq!(said, expected);
    };
    wrong(
        "call = 64",
        "call = 1",
        "call = 1 is listed twice: keep one of the entries",
    );
    let both = "listed with `call` and without: keep the entries with `call`, or the one without";
    wrong("call = 64\n", "", both);
    wrong("core = 1\ncall = 64\n", "by = \"argument 1\"\n", both);
    wrong("call = 1\n", "", both);
    wrong(
        "call = 64\nmode = \"enter\"",
        "call = 64\nmode = \"call\"",
        "its calls have mode \"enter\" and \"call\": give all of them one mode",
    );
}

#[test]
fn the_case_of_a_build_id_makes_no_other_function() {
    let text = render(&at_two_calls()).replace("call = 64", "call = 1");
    let last = text.rfind("0a1b").unwrap();
    let said = refusal(&format!("{}0A1B{}", &text[..last], &text[last + 4..]));
    assert!(said.contains("call = 1 is listed twice"), "{said}");
}

#[test]
fn a_build_id_in_capitals_is_that_of_the_file() {
    let text = render(&at_two_calls());
    let read = parse(&text.replace("0a1b", "0A1B"), Path::new("p.toml")).unwrap();
    assert_eq!(render(&read), text);
}

#[test]
fn a_plan_that_an_older_corehop_would_read_has_no_function_by_argument() {
    let text = render(&by_argument()).replace("version = 2", "version = 1");
    let expected = "p.toml: line 48: function f600000 in /usr/sbin/mariadbd: \
                    `by` is of plan version 2: begin the plan with `version = 2`, by which a \
                    corehop that does not know it refuses the plan";
    assert!(text.contains("version = 1\n"), "{text}");
    assert_eq!(refusal(&text), expected);
}

#[test]
fn a_function_goes_to_a_core_or_by_an_argument() {
    let text = render(&by_argument());
    let both = text.replace("by = ", "core = 1\nby = ");
    let said = refusal(&both);
    assert!(said.contains("line "), "{said}");
    assert!(
        said.contains("f600000 has `core` and `by`: keep one"),
        "{said}"
    );
    let neither = text.replace("by = \"argument 1\"\n", "");
    let said = refusal(&neither);
    assert!(
        said.contains("f600000 has neither `core` nor `by`: add one"),
        "{said}"
    );
}

#[test]
fn only_arguments_in_registers_are_arguments() {
    for wrong in ["argument 0", "argument 7", "argument 01", "argument", "rdi"] {
        let said = refusal(&render(&by_argument()).replace("argument 1", wrong));
        let expected =
            format!("'{wrong}' is not a register argument: write \"argument 1\" to \"argument 6\"");
        assert!(said.contains(&expected), "{said}");
    }
}

proptest! {
    #[test]
    fn every_plan_survives(
        offsets in proptest::collection::btree_set(0u64..1 << 47, 0..9),
        cores in 1u32..9,
        seed in 0..=i64::MAX as u64,
        machine in "\\PC*",
        counts in any::<bool>(),
        by_argument in 0usize..9,
        after in 0u32..=3000,
        calls in proptest::collection::btree_set(1u32..=200, 0..5),
    ) {
        let mut functions: Vec<_> =
            offsets.iter().map(|&o| function(o, o as u32 % cores)).collect();
        for (function, argument) in functions.iter_mut().skip(by_argument).zip(Argument::ALL) {
            function.to = Destination::By(By { argument, after });
        }
        let at_calls = calls.iter().map(|&call| PlannedFunction {
            to: Destination::At(KthCall { core: call % cores, call }),
            ..function(1 << 47, 0)
        });
        functions.extend(at_calls);
        let request = example().request.filter(|_| counts || !calls.is_empty());
        let plan =
            Plan { version: 2, cores, seed, machine, request, functions, ..example() };
        prop_assert_eq!(parse(&render(&plan), Path::new("p.toml")).unwrap(), plan);
    }
}
