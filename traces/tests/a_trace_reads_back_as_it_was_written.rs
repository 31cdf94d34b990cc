//! What a recorder writes is what a replay sees.

use corehop_traces::{
    Access, CodeBlock, EndReason, Ending, Function, Header, Kind, Module, Note, Request, Trace,
    Writer, WriterOptions,
};
use std::path::Path;

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

/// Two threads, three requests, the last of thread 1 cut off.
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
    assert_eq!(writer.function(&function).unwrap(), 0);
    assert_eq!(
        writer
            .code_block(&CodeBlock::new(0x4000_1038, [4, 8, 5]), Some(0))
            .unwrap(),
        0
    );
    assert_eq!(
        writer
            .code_block(&CodeBlock::new(0x4000_1049, [2]), None)
            .unwrap(),
        1
    );
    assert_eq!(writer.thread(7, 7).unwrap(), 0);
    assert_eq!(writer.thread(7, 8).unwrap(), 1);
    writer.stamp(1, 10).unwrap();
    writer.execution(1, 1).unwrap();
    writer.stamp(0, 11).unwrap();
    writer.request(0).unwrap();
    writer.execution(0, 0).unwrap();
    writer.data(0, 0, Kind::Store, 8, 0x7fff_0000_1008).unwrap();
    writer.data(0, 2, Kind::Load, 4, 0x7fff_0000_103e).unwrap();
    writer.execution(0, 1).unwrap();
    writer.stamp(1, 12).unwrap();
    writer.request(1).unwrap();
    writer.execution(1, 0).unwrap();
    writer.stamp(0, 13).unwrap();
    writer.request(0).unwrap();
    writer.execution(0, 1).unwrap();
    writer.request(0).unwrap();
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
    let with_data = vec![dispatch[0], store, dispatch[1], load];
    assert_eq!(
        seen,
        [
            ((1, None, 1, None), tail.clone()),
            ((0, Some(0), 0, Some(0)), with_data),
            ((0, Some(0), 1, None), tail.clone()),
            ((1, Some(1), 0, Some(0)), dispatch),
            ((0, Some(2), 1, None), tail),
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
                thread: 0,
                number: None,
                connection: None,
                complete: true
            },
            Request {
                thread: 1,
                number: None,
                connection: None,
                complete: false
            },
            Request {
                thread: 0,
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
    writer.stamp(0, 1).unwrap();
    writer.numbered_request(0, 7).unwrap();
    writer.execution(0, 0).unwrap();
    writer.end_request(0).unwrap();
    writer.flush().unwrap();
    writer.note(9, "the load doubles").unwrap();
    writer.execution(0, 0).unwrap();
    assert!(writer.connection(0, 3).is_err(), "no request has begun");
    writer.numbered_request(0, 12).unwrap();
    writer.connection(0, 3).unwrap();
    writer.execution(0, 0).unwrap();
    writer.end_request(0).unwrap();
    let partial = corehop_traces::partial_path(&path);
    let cut = Trace::open(&partial).unwrap();
    assert_eq!(cut.requests().len(), 1);
    assert!(cut.requests()[0].complete);
    writer.finish(EndReason::RequestsReached).unwrap();
    assert_eq!(corehop_traces::check(&path).unwrap().findings, []);
    let trace = Trace::open(&path).unwrap();
    let request = |number, connection| Request {
        thread: 0,
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
    assert_eq!(seen, [Some(0), None, Some(1)]);
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
    let mut executions = trace.executions_of(&[2, 1]);
    let mut seen = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        seen.push((execution.thread, execution.request));
    }
    assert_eq!(seen, [(1, Some(1)), (0, Some(2))]);
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
    writer.stamp(0, 1).unwrap();
    writer.execution(0, 0).unwrap();
    writer.execution(0, 0).unwrap();
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
