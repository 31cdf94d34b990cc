//! Checks that a system call reads back after the executions that preceded it, whatever other
//! threads do and wherever chunks end.

use corehop_traces::{
    CodeBlock, EndReason, Header, SystemCall, ThreadId, Trace, Writer, WriterOptions, check, copy,
};
use proptest::prelude::*;
use std::path::Path;

/// A thread's next action.
#[derive(Clone, Copy, Debug)]
enum Step {
    Execute,
    Begin(i32),
    Return(i64),
    Request,
    EndRequest,
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Execute),
        2 => (-1..400).prop_map(Step::Begin),
        2 => prop_oneof![-4095..10_i64, Just(i64::MIN), Just(i64::MAX)].prop_map(Step::Return),
        1 => Just(Step::Request),
        1 => Just(Step::EndRequest),
        1 => Just(Step::Flush),
    ]
}

fn write(path: &Path, steps: &[(bool, Step)], executions_per_chunk: usize) {
    let options = WriterOptions {
        executions_per_chunk,
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(path, &Header::default(), &options).unwrap();
    let block = writer.code_block(&CodeBlock::new(0x1000, [4]), None);
    let block = block.unwrap();
    let threads = [1, 2].map(|number| writer.thread(1, number).unwrap());
    for (&(second, step), stamp) in steps.iter().zip(1..) {
        let thread = threads[usize::from(second)];
        match step {
            Step::Execute => {
                writer.stamp(thread, stamp).unwrap();
                writer.execution(thread, block).unwrap();
            }
            Step::Begin(number) => writer.system_call_begins(thread, number).unwrap(),
            Step::Return(result) => writer.system_call_returns(thread, result).unwrap(),
            Step::Request => writer.numbered_request(thread, stamp).unwrap(),
            Step::EndRequest => writer.end_request(thread).unwrap(),
            Step::Flush => writer.flush().unwrap(),
        }
    }
    writer.finish(EndReason::ServerExited).unwrap();
}

/// Returns the calls of each thread, computed step by step: a call returns if no other event of its
/// thread except a flush precedes the return.
fn expected(steps: &[(bool, Step)]) -> [Vec<SystemCall>; 2] {
    [false, true].map(|second| {
        let own = steps.iter().filter(|(other, _)| *other == second);
        let (mut executions, mut open) = (0, false);
        let mut calls: Vec<SystemCall> = Vec::new();
        for (_, step) in own {
            match *step {
                Step::Flush => {}
                Step::Begin(number) => {
                    let (after, result) = (executions, None);
                    calls.push(SystemCall {
                        after,
                        number,
                        result,
                    });
                    open = true;
                }
                Step::Return(result) => {
                    if std::mem::take(&mut open) {
                        calls.last_mut().unwrap().result = Some(result);
                    }
                }
                Step::Execute => {
                    executions += 1;
                    open = false;
                }
                Step::Request | Step::EndRequest => open = false,
            }
        }
        calls
    })
}

fn calls_of(trace: &Trace) -> [&[SystemCall]; 2] {
    [0, 1].map(|thread| trace.system_calls(ThreadId(thread)))
}

proptest! {
    #[test]
    fn every_system_call_reads_back_where_it_was_made(
        steps in prop::collection::vec((any::<bool>(), step()), 0..200),
        executions_per_chunk in 1..20_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        write(&path, &steps, executions_per_chunk);
        let trace = Trace::open(&path).unwrap();
        let expected = expected(&steps);
        prop_assert_eq!(calls_of(&trace), [&expected[0][..], &expected[1][..]]);
        prop_assert!(check(&path).unwrap().sound());
    }
}

/// A call in a request, one between two requests, and one before any execution.
const STEPS: [(bool, Step); 10] = [
    (false, Step::Begin(39)),
    (false, Step::Request),
    (false, Step::Execute),
    (false, Step::Begin(0)),
    (false, Step::Return(i64::MIN)),
    (false, Step::EndRequest),
    (false, Step::Execute),
    (false, Step::Begin(1)),
    (false, Step::Request),
    (false, Step::Execute),
];

#[test]
fn a_copy_has_the_system_calls_of_the_executions_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    write(&first, &STEPS, 100);
    let original = Trace::open(&first).unwrap();
    let call = |after, number, result| SystemCall {
        after,
        number,
        result,
    };
    let (read, write) = (call(1, 0, Some(i64::MIN)), call(2, 1, None));
    assert_eq!(calls_of(&original)[0], [call(0, 39, None), read, write]);
    copy(&original, None, &second, &WriterOptions::default()).unwrap();
    assert_eq!(calls_of(&Trace::open(&second).unwrap())[0], [read, write]);
    let ids = [corehop_traces::RequestId(0)];
    let third = folder.path().join("third");
    copy(&original, Some(&ids), &third, &WriterOptions::default()).unwrap();
    assert_eq!(calls_of(&Trace::open(&third).unwrap())[0], [read]);
}

#[test]
fn a_trace_without_system_calls_has_no_columns_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let columns = |steps: &[(bool, Step)]| {
        write(&path, steps, 100);
        let columns = Trace::open(&path).unwrap().column_sizes();
        let own = columns
            .iter()
            .filter(|c| c.column.starts_with("systemCall"));
        let values = own.map(|c| (c.column, c.values_bytes));
        values.collect::<Vec<_>>()
    };
    assert_eq!(columns(&[(false, Step::Execute)]), []);
    let of_three = [
        ("systemCallNumbers", 12),
        ("systemCallResults", 24),
        ("systemCallsAfter", 12),
        ("systemCallsReturned", 3),
    ];
    assert_eq!(columns(&STEPS), of_three);
}
