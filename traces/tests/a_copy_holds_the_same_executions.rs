//! Checks that a copy of a recorded server, complete or of some requests, plays like the original.

use corehop_traces::{
    Chosen, CodeBlock, ColumnSize, Dependence, Dependent, EndReason, Header, Index, Kind,
    LastingCall, Mapping, OnCpu, Page, Pointer, Request, RequestId, Source, ThreadId, Trace,
    Writer, WriterOptions, copy, copy_chosen,
};
use std::collections::HashMap;
use std::path::Path;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/mariadb-tpcc.trace");

fn options() -> WriterOptions {
    WriterOptions {
        compression_level: 1,
        executions_per_chunk: 100_000,
    }
}

/// Asserts that two traces play the same; the requests of the copy are `requests` of the first.
fn plays_the_same(original: &Trace, copied: &Trace, requests: Option<&[RequestId]>) {
    let mut first = original.executions_chosen(requests);
    let mut second = copied.executions();
    let mut count = 0;
    let mut templates = HashMap::new();
    while let Some(expected) = first.next().unwrap() {
        let mut seen = second.next().unwrap().unwrap();
        // A copy has a stamp only where it needs one.
        seen.stamp = expected.stamp;
        if let Some(requests) = requests {
            seen.request = seen.request.map(|request| requests[request.index()]);
            // Executions between the requests are omitted, so those after them have other numbers.
            seen.number = expected.number;
            // So are templates of none but them.
            let template = *templates.entry(seen.template).or_insert(expected.template);
            seen.template = template;
        }
        assert_eq!(seen, expected);
        count += 1;
    }
    assert!(second.next().unwrap().is_none());
    assert_eq!(copied.execution_count(), count);
}

#[test]
fn a_whole_copy_holds_the_same_executions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.trace");
    let original = Trace::open(Path::new(SAMPLE)).unwrap();
    copy(&original, None, &path, &options()).unwrap();
    let copied = Trace::open(&path).unwrap();
    plays_the_same(&original, &copied, None);
    assert_eq!(copied.requests(), original.requests());
    assert_eq!(copied.functions(), original.functions());
    assert_eq!(copied.code_blocks(), original.code_blocks());
    assert_eq!(copied.ending(), original.ending());
}

/// The sample was recorded before traces contained dependences: it is read unchanged, and a copy
/// has none either.
#[test]
fn what_an_old_trace_does_not_say_no_copy_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.trace");
    let original = Trace::open(Path::new(SAMPLE)).unwrap();
    copy(&original, Some(&[RequestId(0)]), &path, &options()).unwrap();
    for trace in [original, Trace::open(&path).unwrap()] {
        assert!(!trace.has_dependences() && !trace.has_pointers());
        let columns = trace.column_sizes();
        let is_of_those = |column: &ColumnSize| column.column.starts_with("dependence");
        assert!(!columns.iter().any(is_of_those));
        assert!(columns.iter().any(|column| column.column == "starts"));
    }
}

#[test]
fn a_copy_says_what_addresses_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let mut writer = Writer::create(&first, &Header::default(), &options()).unwrap();
    let block = CodeBlock {
        dependences: vec![Dependence {
            of: Dependent::Address(1),
            from: Source::Load(0),
        }],
        pointers: vec![Pointer::Lost { at_end: 7 }],
        ..CodeBlock::new(0x1000, [3, 4])
    };
    writer.code_block(&block, None).unwrap();
    writer.thread(1, 1).unwrap();
    writer.stamp(ThreadId(0), 1).unwrap();
    writer.execution(ThreadId(0), 0).unwrap();
    writer.finish(EndReason::ServerExited).unwrap();
    copy(&Trace::open(&first).unwrap(), None, &second, &options()).unwrap();
    let copied = Trace::open(&second).unwrap();
    assert!(copied.has_dependences() && copied.has_pointers());
    assert_eq!(copied.code_blocks(), [block]);
    let columns = copied.column_sizes();
    let of_those = columns
        .iter()
        .filter(|c| c.column.starts_with("dependence"));
    let bytes: Vec<u64> = of_those.map(|column| column.values_bytes).collect();
    assert_eq!(bytes, [2, 4], "a count and a dependence");
}

/// Returns the CPU of each execution.
fn cpus_of(trace: &Trace) -> Vec<Option<u16>> {
    let mut cpus = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        cpus.push(trace.cpu(execution.thread, execution.stamp));
    }
    cpus
}

#[test]
fn a_copy_has_the_same_lasting_calls() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let mut writer = Writer::create(&first, &Header::default(), &options()).unwrap();
    let lasting = |process_id, number, second| LastingCall {
        process_id,
        number,
        arguments: [22, second],
    };
    let calls = [lasting(1, 157, 2), lasting(2, -1, u64::MAX)];
    for call in calls {
        writer.lasting_call(call).unwrap();
    }
    writer.finish(EndReason::ServerExited).unwrap();
    let original = Trace::open(&first).unwrap();
    copy(&original, None, &second, &options()).unwrap();
    assert_eq!(original.lasting_calls(), calls);
    assert_eq!(Trace::open(&second).unwrap().lasting_calls(), calls);
}

#[test]
fn a_copy_has_the_same_memory_at_the_same_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let header = Header {
        has_address_spaces: true,
        ..Header::default()
    };
    let mut writer = Writer::create(&first, &header, &options()).unwrap();
    let block = writer.code_block(&CodeBlock::new(0x1000, [4]), None);
    let block = block.unwrap();
    let mapping = |process_id, since, object| Mapping {
        process_id,
        since,
        start: 0x5000,
        end: 0x7000,
        object,
        offset: 0x1000 * since,
    };
    for name in ["/dev/shm/one", "/dev/shm/two"] {
        writer.shared_object(name).unwrap();
    }
    // These are written late, and not in the order of their stamps.
    let later = [mapping(2, 30, None), mapping(1, 25, Some(1))];
    writer.mappings(&later).unwrap();
    writer.mappings(&[mapping(1, 20, Some(0))]).unwrap();
    let threads = [1, 2].map(|process| writer.thread(process, process).unwrap());
    for stamp in 1..20 {
        let thread = threads[stamp as usize % 2];
        writer.stamp(thread, 2 * stamp).unwrap();
        writer.execution(thread, block).unwrap();
        writer.data(thread, 0, Kind::Load, 8, 0x5008).unwrap();
    }
    writer.mappings(&[mapping(2, 10, Some(0))]).unwrap();
    let page = |process_id, since, frame| Page {
        process_id,
        since,
        number: 5,
        frame,
    };
    let moved = [page(1, 0, 70), page(2, 33, 71), page(1, 31, 71)];
    writer.pages(&moved).unwrap();
    let on = |process_id, since, cpu| OnCpu {
        process_id,
        os_thread_id: process_id,
        since,
        cpu,
    };
    let cpus = [on(1, 0, 3), on(2, 17, 1), on(2, 8, 0)];
    writer.cpus(&cpus).unwrap();
    writer.finish(EndReason::Interrupted).unwrap();
    let mut original = Trace::open(&first).unwrap();
    copy(&original, None, &second, &options()).unwrap();
    let mut copied = Trace::open(&second).unwrap();
    for index in [Index::Virtual, Index::Physical] {
        original.index_by(index);
        copied.index_by(index);
        plays_the_same(&original, &copied, None);
    }
    assert_eq!(copied.shared_objects(), original.shared_objects());
    assert_eq!((copied.mappings().len(), copied.pages().len()), (4, 3));
    assert_eq!(cpus_of(&copied), cpus_of(&original));
    assert_eq!(cpus_of(&copied)[0], None);
}

#[test]
fn a_copy_of_some_requests_holds_only_those() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.trace");
    let original = Trace::open(Path::new(SAMPLE)).unwrap();
    let requests = [3, 4, 17].map(RequestId);
    copy(&original, Some(&requests), &path, &options()).unwrap();
    let copied = Trace::open(&path).unwrap();
    plays_the_same(&original, &copied, Some(&requests));
    let expected: Vec<Request> = requests
        .iter()
        .map(|&request| original.requests()[request.index()])
        .collect();
    assert_eq!(copied.requests(), expected);
}

#[test]
fn a_copy_without_the_kernel_holds_what_user_code_does_in_the_same_requests() {
    let folder = tempfile::tempdir().unwrap();
    let [both, user] = ["both.trace", "user.trace"].map(|name| folder.path().join(name));
    let mut writer = Writer::create(&both, &Header::default(), &options()).unwrap();
    let server = writer
        .code_block(&CodeBlock::new(0x40_0000, [4]), None)
        .unwrap();
    let kernel = CodeBlock::new(0xffff_ffff_8100_0000, [4]);
    let kernel = writer.code_block(&kernel, None).unwrap();
    let thread = writer.thread(1, 1).unwrap();
    writer.stamp(thread, 1).unwrap();
    for _ in 0..3 {
        writer.request(thread).unwrap();
        for block in [server, kernel, kernel, server, kernel] {
            writer.execution(thread, block).unwrap();
            writer.data(thread, 0, Kind::Store, 8, 0x1000).unwrap();
        }
    }
    writer.finish(EndReason::ServerExited).unwrap();
    let both = Trace::open(&both).unwrap();
    let chosen = Chosen {
        requests: None,
        without_kernel: true,
    };
    let summary = copy_chosen(&both, &chosen, &user, &options(), (&|_| (), &|| true)).unwrap();
    assert_eq!(summary.unwrap().accesses, 3 * 2 * 2);
    let user = Trace::open(&user).unwrap();
    let mut executions = user.executions();
    let mut requests = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        assert_eq!(execution.code_block, server);
        requests.push(execution.request.unwrap().0);
    }
    assert_eq!(requests, [0, 0, 1, 1, 2, 2]);
    assert_eq!(user.requests().len(), both.requests().len());
    let stopped = folder.path().join("stopped.trace");
    let stopped = copy_chosen(&both, &chosen, &stopped, &options(), (&|_| (), &|| false)).unwrap();
    assert!(stopped.is_none());
}
