//! Checks that calls in traces of made-up programs end where expected. The programs call, make tail
//! calls, return, throw past callers, and do what only looks like a call. They are already in calls
//! when their recording begins, or resumes after a gap.

use crate::callers::{Action, FUNCTIONS, STACK, THREADS, record};
use corehop_traces::{Call, Calls, ThreadId, Trace};
use proptest::collection::vec;
use proptest::prelude::*;

fn actions() -> impl Strategy<Value = Vec<(usize, Action)>> {
    let elsewhere = prop_oneof![0u64..4096, STACK..STACK + 4096];
    let action = prop_oneof![
        6 => (0..FUNCTIONS, 0u64..3, any::<bool>())
            .prop_map(|(function, words, by_table)| Action::Call(function, words, by_table)),
        2 => (0..FUNCTIONS).prop_map(Action::Jump),
        6 => any::<bool>().prop_map(Action::Return),
        1 => (0usize..4).prop_map(Action::Throw),
        1 => elsewhere.clone().prop_map(Action::StoreAtEnd),
        1 => elsewhere.clone().prop_map(Action::Repeat),
        1 => elsewhere.prop_map(Action::JumpByTable),
        1 => (0u32..3, any::<bool>()).prop_map(|(calls, own)| Action::Signal(calls, own)),
        1 => (0usize..4, 0..FUNCTIONS).prop_map(|(returns, f)| Action::Gap(returns, f)),
    ];
    vec((0..THREADS, action), 0..100)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(500)
    })]
    #[test]
    fn calls_begin_and_end_as_the_program_made_them(
        actions in actions(),
        asked in vec(any::<bool>(), FUNCTIONS as usize),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made-up.trace");
        let made = record(&path, &actions).unwrap();
        let trace = Trace::open(&path).unwrap();
        let found = Calls::of(&trace, &asked).unwrap();
        for (thread, mut calls) in (0..).map(ThreadId).zip(made) {
            calls.retain(|call| asked[call.function.index()]);
            prop_assert_eq!(found.of_thread(thread), &calls[..]);
            for call in calls {
                prop_assert_eq!(found.begun_by(thread, call.begins), Some(&call));
            }
        }
        prop_assert_eq!(found.of_thread(ThreadId::from_index(THREADS)), &[]);
    }
}

/// Returns function, beginning and end of the calls of a thread with these actions.
fn found(actions: impl IntoIterator<Item = Action>) -> Vec<(u32, u64, Option<u64>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made-up.trace");
    let actions: Vec<_> = actions.into_iter().map(|action| (0, action)).collect();
    record(&path, &actions).unwrap();
    let found = Calls::of(&Trace::open(&path).unwrap(), &[true; 4]).unwrap();
    let found = found.of_thread(ThreadId(0)).iter();
    found
        .map(|call| (call.function.0, call.begins, call.ends))
        .collect()
}

#[test]
fn a_signal_handler_begins_and_ends_no_calls() {
    let call = |function| Action::Call(function, 1, false);
    for own_stack in [false, true] {
        let found = found([
            call(0),
            Action::Signal(2, own_stack),
            Action::Return(true),
            call(1),
        ]);
        // The three nested handlers are eighteen executions.
        assert_eq!(found, [(0, 1, Some(21)), (1, 22, None)]);
    }
}

#[test]
fn a_handler_does_not_end_what_the_thread_was_called_into_unseen() {
    let found = found([
        Action::Jump(0),
        Action::Signal(0, false),
        Action::Return(true),
        Action::Call(1, 0, false),
    ]);
    assert_eq!(found, [(0, 0, Some(5)), (1, 6, None)]);
}

#[test]
fn a_function_that_another_jumps_to_ends_with_the_call_of_that() {
    let call = |function| Action::Call(function, 1, false);
    let found = found([
        call(0),
        call(1),
        Action::Jump(2),
        Action::Return(true),
        call(3),
    ]);
    // Each call is two executions; the jump and the return are one each.
    let expected = [(0, 1, None), (1, 3, Some(6)), (2, 4, Some(6)), (3, 7, None)];
    assert_eq!(found, expected);
}

#[test]
fn what_a_thread_is_in_at_first_ends_with_the_first_return_from_no_call_of_the_trace() {
    let call = Action::Call(2, 1, false);
    let table = STACK - 8;
    let found = found([
        Action::Jump(0),
        Action::Jump(1),
        call.clone(),
        Action::Return(true),
        // It loads from the stack but is not a return, because it is longer than one byte.
        Action::JumpByTable(table),
        Action::Return(true),
        call,
        Action::Return(true),
    ]);
    let expected = [
        (0, 0, Some(7)),
        (1, 1, Some(7)),
        (2, 3, Some(5)),
        (2, 8, None),
    ];
    assert_eq!(found, expected);
}

#[test]
fn behind_a_gap_a_request_ends_with_its_own_return_and_what_encloses_it_with_its_own() {
    let found = found([
        Action::Call(3, 1, false),
        Action::Gap(0, 0),
        Action::Return(true),
        Action::Gap(0, 1),
        Action::Return(true),
        Action::Return(true),
        Action::Call(2, 1, false),
    ]);
    // The first call is open across both gaps.
    let expected = [
        (3, 1, Some(7)),
        (0, 2, Some(4)),
        (1, 4, Some(6)),
        (2, 8, None),
    ];
    assert_eq!(found, expected);
}

#[test]
fn of_the_bundled_samples_entries_all_but_those_at_its_edges_are_seen_to_return() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/mariadb-tpcc.trace");
    let trace = Trace::open(path.as_ref()).unwrap();
    let calls = Calls::of(&trace, &vec![true; trace.functions().len()]).unwrap();
    let threads = (0..trace.threads().len()).map(ThreadId::from_index);
    let calls: Vec<Call> = threads.flat_map(|t| calls.of_thread(t).to_vec()).collect();
    let open = calls.iter().filter(|call| call.ends.is_none());
    let name = |call: &Call| &*trace.functions()[call.function.index()].name;
    let open: Vec<&str> = open.map(name).collect();
    assert_eq!((calls.len(), open.len()), (780_723, 38));
    // The last call of the connection's thread, and the calls that the others wait in.
    let short = open.iter().map(|name| name.split('(').next().unwrap());
    let short: Vec<_> = short.take(3).collect();
    assert_eq!(short, ["do_command", "__poll", "pthread_cond_timedwait"]);
}
