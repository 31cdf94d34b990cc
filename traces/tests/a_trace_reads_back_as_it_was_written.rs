//! Checks that a replay sees what a recorder writes.

use corehop_traces::{
    Access, CodeBlock, EndReason, Ending, Function, FunctionId, Header, Kind, Module, Note,
    Request, RequestId, ThreadId, Trace, Writer, WriterOptions,
};
use std::path::Path;

const FIRST: ThreadId = ThreadId(0);
const SECOND: ThreadId = ThreadId(1);

fn header() -> Header {
    Header {
        created_by: "corehop 0.1.0".into(),
        command: vec!["mariadbd".into(), "--port=3307".into()],
        request_at: "dispatch_command".into(),
        qemu_version: "7.2.9".into(),
        architecture: "x86_64".into(),
        has_address_spaces: true,
    }
}

/// Writes two threads with three requests; the last one of thread 1 is incomplete.
fn write_two_threads(path: &Path) -> corehop_traces::Summary {
    let mut writer = Writer::create(path, &header(), &WriterOptions::default()).unwrap();
    let module = Module {
        path: "/usr/sbin/mariadbd".into(),
        build_id: "0123456789abcdef".into(),
        load_bias: 0x4000_0000,
        start: 0x4000_1000,
        end: 0x4000_9000,
    };
    assert_eq!(writer.module(&module).unwrap(), 0);
    let function = Function {
        module: 0,
        offset: 0x1038,
        size_bytes: 40,
        symbol: "_Z8dispatchv".into(),
        name: "dispatch()".into(),
        unpatchable: None,
    };
    let entry = writer.function(&function).unwrap();
    assert_eq!(entry, FunctionId(0));
    assert_eq!(
        writer
            .code_block(&CodeBlock::new(0x4000_1038, [4, 8, 5]), Some(entry))
            .unwrap(),
        0
    );
    assert_eq!(
        writer
            .code_block(&CodeBlock::new(0x4000_1049, [2]), None)
            .unwrap(),
        1
    );
    assert_eq!(writer.thread(7, 7).unwrap(), FIRST);
    assert_eq!(writer.thread(7, 8).unwrap(), SECOND);
    writer.stamp(SECOND, 10).unwrap();
    writer.execution(SECOND, 1).unwrap();
    writer.stamp(FIRST, 11).unwrap();
    writer.request(FIRST).unwrap();
    writer.execution(FIRST, 0).unwrap();
    writer
        .data(FIRST, 0, Kind::Store, 8, 0x7fff_0000_1008)
        .unwrap();
    writer
        .data(FIRST, 2, Kind::Load, 4, 0x7fff_0000_103e)
        .unwrap();
    writer.execution(FIRST, 1).unwrap();
    writer.stamp(SECOND, 12).unwrap();
    writer.request(SECOND).unwrap();
    writer.execution(SECOND, 0).unwrap();
    writer.stamp(FIRST, 13).unwrap();
    writer.request(FIRST).unwrap();
    writer.execution(FIRST, 1).unwrap();
    writer.request(FIRST).unwrap();
    writer.finish(EndReason::RequestsReached).unwrap()
}

fn fetch(address: u64, size_bytes: u16) -> Access {
    Access {
        address,
        pc: address,
        size_bytes,
        kind: Kind::Fetch,
    }
}

#[test]
fn executions_come_in_the_order_of_their_stamps_with_all_their_accesses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.trace");
    let summary = write_two_threads(&path);
    assert_eq!(
        (summary.executions, summary.accesses, summary.requests),
        (5, 9, 3)
    );
    let trace = Trace::open(&path).unwrap();
    assert_eq!(summary.size_bytes, trace.size_bytes());
    let mut seen = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let place = (
            execution.thread,
            execution.request,
            execution.code_block,
            execution.entry,
        );
        seen.push((place, execution.accesses.to_vec()));
    }
    let tail = vec![fetch(0x4000_1049, 2)];
    let dispatch = vec![fetch(0x4000_1038, 8), fetch(0x4000_1040, 9)];
    let store = Access {
        address: 0x7fff_0000_1008,
        pc: 0x4000_1038,
        size_bytes: 8,
        kind: Kind::Store,
    };
    let load = Access {
        address: 0x7fff_0000_103e,
        pc: 0x4000_1044,
        size_bytes: 4,
        kind: Kind::Load,
    };
    let request = |index| Some(RequestId(index));
    let with_data = vec![dispatch[0], store, dispatch[1], load];
    assert_eq!(
        seen,
        [
            ((SECOND, None, 1, None), tail.clone()),
            ((FIRST, request(0), 0, Some(FunctionId(0))), with_data),
            ((FIRST, request(0), 1, None), tail.clone()),
            ((SECOND, request(1), 0, Some(FunctionId(0))), dispatch),
            ((FIRST, request(2), 1, None), tail),
        ]
    );
}

#[test]
fn the_program_the_threads_and_the_requests_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.trace");
    write_two_threads(&path);
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.header(), &header());
    assert_eq!(trace.modules()[0].path, "/usr/sbin/mariadbd");
    assert_eq!(trace.functions()[0].name, "dispatch()");
    let block = &trace.code_blocks()[0];
    let instructions = block.instructions.iter().map(|i| (i.offset, i.size_bytes));
    assert_eq!(block.start, 0x4000_1038);
    assert_eq!(instructions.collect::<Vec<_>>(), [(0, 4), (4, 8), (12, 5)]);
    assert_eq!(trace.threads()[1].os_thread_id, 8);
    assert_eq!(
        trace.ending(),
        &Ending::Finished(EndReason::RequestsReached)
    );
    assert_eq!(
        trace.requests(),
        [
            Request {
                thread: FIRST,
                number: None,
                connection: None,
                complete: true
            },
            Request {
                thread: SECOND,
                number: None,
                connection: None,
                complete: false
            },
            Request {
                thread: FIRST,
                number: None,
                connection: None,
                complete: true
            },
        ]
    );
}

#[test]
fn numbers_and_connections_of_requests_what_lies_between_them_and_notes_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chosen.trace");
    let mut writer = Writer::create(&path, &header(), &WriterOptions::default()).unwrap();
    writer
        .code_block(&CodeBlock::new(0x1000, [1]), None)
        .unwrap();
    writer.thread(1, 1).unwrap();
    writer.stamp(FIRST, 1).unwrap();
    writer.numbered_request(FIRST, 7).unwrap();
    writer.execution(FIRST, 0).unwrap();
    writer.end_request(FIRST).unwrap();
    writer.flush().unwrap();
    writer.note(9, "the load doubles").unwrap();
    writer.execution(FIRST, 0).unwrap();
    assert!(writer.connection(FIRST, 3).is_err(), "no request has begun");
    writer.numbered_request(FIRST, 12).unwrap();
    writer.connection(FIRST, 3).unwrap();
    writer.execution(FIRST, 0).unwrap();
    writer.end_request(FIRST).unwrap();
    let partial = corehop_traces::partial_path(&path);
    let cut = Trace::open(&partial).unwrap();
    assert_eq!(cut.requests().len(), 1);
    assert!(cut.requests()[0].complete);
    writer.finish(EndReason::RequestsReached).unwrap();
    assert_eq!(corehop_traces::check(&path).unwrap().findings, []);
    let trace = Trace::open(&path).unwrap();
    let request = |number, connection| Request {
        thread: FIRST,
        number: Some(number),
        connection,
        complete: true,
    };
    assert_eq!(trace.requests(), [request(7, None), request(12, Some(3))]);
    let mut executions = trace.executions();
    let mut seen = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        seen.push(execution.request);
    }
    assert_eq!(seen, [Some(RequestId(0)), None, Some(RequestId(1))]);
    let note = Note {
        requests: 9,
        text: "the load doubles".into(),
    };
    assert_eq!(trace.notes(), [note]);
}

#[test]
fn chosen_requests_come_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.trace");
    write_two_threads(&path);
    let trace = Trace::open(&path).unwrap();
    let mut executions = trace.executions_of(&[RequestId(2), RequestId(1)]);
    let mut seen = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        seen.push((execution.thread, execution.request));
    }
    assert_eq!(
        seen,
        [(SECOND, Some(RequestId(1))), (FIRST, Some(RequestId(2)))]
    );
}

#[test]
fn the_trace_has_its_name_only_once_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bank.trace");
    let mut writer = Writer::create(&path, &header(), &WriterOptions::default()).unwrap();
    writer
        .code_block(&CodeBlock::new(0x1000, [1]), None)
        .unwrap();
    writer.thread(1, 1).unwrap();
    writer.stamp(FIRST, 1).unwrap();
    writer.execution(FIRST, 0).unwrap();
    writer.execution(FIRST, 0).unwrap();
    writer.flush().unwrap();
    let partial = corehop_traces::partial_path(&path);
    let trace = Trace::open(&partial).unwrap();
    assert!(!trace.complete());
    assert_eq!(trace.execution_count(), 1);
    assert!(!path.exists());
    let summary = writer.finish(EndReason::ServerExited).unwrap();
    assert_eq!(summary.executions, 2);
    assert!(path.exists() && !partial.exists());
}
