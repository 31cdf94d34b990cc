//! Heap events read back as they were written, a copy has them at the same executions, and a writer
//! refuses impossible ones.

use corehop_traces::{
    AllocatedObject, CodeBlock, EndReason, Error, Header, HeapEvent, RequestId, ThreadId, Trace,
    Writer, WriterOptions, check, copy,
};
use proptest::prelude::*;
use std::path::Path;

const ALLOCATORS: [&str; 3] = ["malloc", "operator new[]", "pool_get"];

/// Number of executions, each in a separate run: their stamps are 10, 20, and so on.
const EXECUTIONS: u64 = 20;

fn event() -> impl Strategy<Value = HeapEvent> {
    let object = (0..ALLOCATORS.len() as u16, any::<u64>());
    let object = object.prop_map(|(allocator, site)| AllocatedObject { allocator, site });
    let object = proptest::option::of(object);
    let bytes = (0u64..1 << 46, 0u64..1 << 46);
    (1..3u32, 0..EXECUTIONS * 10 + 20, bytes, object).prop_map(
        |(process_id, since, (address, size_bytes), object)| HeapEvent {
            process_id,
            since,
            address,
            size_bytes,
            object,
        },
    )
}

/// Writes these events in this order; every fifth execution begins a request.
fn write(path: &Path, events: &[HeapEvent]) -> Trace {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default()).unwrap();
    for (number, name) in ALLOCATORS.iter().enumerate() {
        assert_eq!(usize::from(writer.allocator(name).unwrap()), number);
    }
    assert_eq!(writer.allocator(ALLOCATORS[1]).unwrap(), 1);
    let block = CodeBlock::new(0x1000, [4]);
    writer.code_block(&block, None).unwrap();
    let thread = writer.thread(1, 1).unwrap();
    for &event in events {
        writer.heap_event(event).unwrap();
    }
    for execution in 0..EXECUTIONS {
        writer.stamp(thread, (execution + 1) * 10).unwrap();
        if execution.is_multiple_of(5) {
            writer.request(thread).unwrap();
        }
        writer.execution(thread, 0).unwrap();
    }
    writer.finish(EndReason::Interrupted).unwrap();
    Trace::open(path).unwrap()
}

/// By the number of an execution in the copied requests, the events before it and after those
/// before.
fn before_each(trace: &Trace, requests: Option<&[RequestId]>) -> Vec<Vec<(String, HeapEvent)>> {
    let mut events = trace.heap_events().iter().peekable();
    let mut all = Vec::new();
    let mut executions = trace.executions_chosen(requests);
    while let Some(execution) = executions.next().unwrap() {
        let mut own = Vec::new();
        while let Some(event) = events.next_if(|event| event.since <= execution.stamp) {
            let name =
                |object: AllocatedObject| trace.allocators()[usize::from(object.allocator)].clone();
            let name = event.object.map(name).unwrap_or_default();
            let object = event.object.map(|object| AllocatedObject {
                allocator: 0,
                ..object
            });
            own.push((
                name,
                HeapEvent {
                    since: 0,
                    object,
                    ..*event
                },
            ));
        }
        all.push(own);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_read_back_in_the_order_of_their_stamps(
        events in proptest::collection::vec(event(), 0..60),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let trace = write(&path, &events);
        let mut expected = events;
        expected.sort_by_key(|event| event.since);
        prop_assert_eq!(trace.heap_events(), expected);
        prop_assert!(check(&path).unwrap().sound());
    }

    #[test]
    fn a_copy_has_the_same_events_before_each_execution(
        events in proptest::collection::vec(event(), 0..60),
        chosen in proptest::option::of(1..4u32),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let trace = write(&first, &events);
        let requests = chosen.map(|request| [RequestId(request)]);
        let requests = requests.as_ref().map(|all| &all[..]);
        copy(&trace, requests, &second, &WriterOptions::default()).unwrap();
        let copied = Trace::open(&second).unwrap();
        prop_assert_eq!(before_each(&copied, None), before_each(&trace, requests));
    }
}

#[test]
fn impossible_events_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let mut writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let malloc = writer.allocator("malloc").unwrap();
    let of = |address, size_bytes, allocator: Option<u16>| HeapEvent {
        process_id: 1,
        since: 0,
        address,
        size_bytes,
        object: allocator.map(|allocator| AllocatedObject { allocator, site: 1 }),
    };
    let mut refused = |event, part: &str| match writer.heap_event(event) {
        Err(Error::Unrecordable { problem }) => assert!(problem.contains(part), "{problem}"),
        other => panic!("{other:?}"),
    };
    refused(of(1 << 47, 0, None), "beyond the last user address");
    refused(of(1, 1 << 47, Some(malloc)), "beyond the last user address");
    refused(of(8, u64::MAX, None), "beyond the last user address");
    refused(of(0, 8, Some(malloc + 1)), "allocator 1, which has no name");
    writer.heap_event(of(0, 1 << 47, Some(malloc))).unwrap();
    writer
        .thread(1, 1)
        .map(|thread| assert_eq!(thread, ThreadId(0)))
        .unwrap();
}
