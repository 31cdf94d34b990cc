//! The classes of every function of random servers equal those of an oracle with sets of lines. It
//! keeps all accesses and applies the definitions to each line, one function at a time.

use crate::made_up::{Action, FUNCTIONS, Made, Served, functions, record};
use corehop_lab::characterize::Subject;
use corehop_lab::characterize::classes::{Class, FunctionClasses, Sum, WorkingSet};
use corehop_partitioner::progress::Silent;
use corehop_traces::Kind;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        2 => (0..FUNCTIONS).prop_map(Action::Call),
        2 => Just(Action::Return),
        3 => (0u64..12).prop_map(Action::Load),
        2 => (0u64..12).prop_map(Action::Store),
    ];
    vec(action, 0..40)
}

fn requests() -> impl Strategy<Value = Vec<Served>> {
    let served = (option::weighted(0.9, 1u64..4), 0usize..3, actions());
    let served = served.prop_map(|(connection, thread, actions)| Served {
        connection,
        thread,
        actions,
    });
    vec(served, 1..8)
}

fn is_of(made: &Made, working_set: WorkingSet) -> bool {
    (made.kind == Kind::Fetch) == (working_set == WorkingSet::Code)
}

/// Returns a connection's number if all requests have one, otherwise a thread's.
fn session(requests: &[Served], made: &Made) -> u64 {
    let of = &requests[made.request];
    match requests.iter().all(|of| of.connection.is_some()) {
        true => of.connection.unwrap_or_default(),
        false => of.thread as u64,
    }
}

fn stores<'m>(made: impl Iterator<Item = &'m Made>) -> u64 {
    made.filter(|made| made.kind == Kind::Store).count() as u64
}

/// Computes one class of one function by the definitions of research/characterize.md.
fn class(
    (requests, all): (&[Served], &[Made]),
    function: u32,
    working_set: WorkingSet,
    [phase_global, session_global]: [bool; 2],
) -> Class {
    let all: Vec<&Made> = all.iter().filter(|made| is_of(made, working_set)).collect();
    let is_within = |made: &&&Made| made.within.contains(&function);
    let lines: BTreeSet<u64> = all.iter().filter(is_within).map(|made| made.line).collect();
    let mut class = Class::default();
    for line in lines {
        let of_line = || all.iter().filter(|made| made.line == line);
        let sessions: BTreeSet<u64> = of_line().map(|made| session(requests, made)).collect();
        let is_phase_global = of_line().any(|made| !is_within(&made));
        if (is_phase_global, sessions.len() > 1) != (phase_global, session_global) {
            continue;
        }
        let own: Vec<&&Made> = of_line().filter(is_within).collect();
        class.lines += 1;
        class.accesses += own.len() as u64;
        class.stores += stores(own.iter().map(|made| **made));
        class.accesses_of_others += (of_line().count() - own.len()) as u64;
        class.stores_of_others += stores(of_line().filter(|made| !is_within(made)).copied());
    }
    class
}

fn sum(all: &[Made], working_set: WorkingSet) -> Sum {
    let all: Vec<&Made> = all.iter().filter(|made| is_of(made, working_set)).collect();
    let lines: BTreeSet<u64> = all.iter().map(|made| made.line).collect();
    Sum {
        lines: lines.len() as u64,
        accesses: all.len() as u64,
        stores: stores(all.iter().copied()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    })]
    #[test]
    fn every_class_of_every_function_has_the_lines_and_accesses_that_sets_give_it(
        requests in requests(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (trace, made) = record(&folder.path().join("made-up.trace"), &requests);
        let subject = Subject::new(&trace, functions()).unwrap();
        let found = subject.characterise(&Silent).unwrap();
        prop_assert_eq!(found.totals.data, sum(&made, WorkingSet::Data));
        prop_assert_eq!(found.totals.code, sum(&made, WorkingSet::Code));
        for (function, classes) in (0..).zip(&found.classes) {
            let classes: &FunctionClasses = classes;
            for working_set in [WorkingSet::Data, WorkingSet::Code] {
                for of in [[false, false], [false, true], [true, false], [true, true]] {
                    prop_assert_eq!(
                        classes.of(working_set).of(of[0], of[1]),
                        class((&requests, &made), function, working_set, of),
                        "f{} {:?} {:?}", function, working_set, of
                    );
                }
            }
        }
    }
}
