//! A copy of a recorded server, whole or of some requests, plays as the original does.

use corehop_traces::{Request, Trace, WriterOptions, copy};
use std::path::Path;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/mariadb-tpcc.trace");

fn options() -> WriterOptions {
    WriterOptions {
        compression_level: 1,
        executions_per_block: 100_000,
    }
}

/// Asserts that two traces play the same, the requests of the copy being `requests` of the first.
fn plays_the_same(original: &Trace, copied: &Trace, requests: Option<&[u32]>) {
    let mut first = match requests {
        Some(requests) => original.executions_of(requests),
        None => original.executions(),
    };
    let mut second = copied.executions();
    let mut count = 0;
    while let Some(expected) = first.next().unwrap() {
        let mut seen = second.next().unwrap().unwrap();
        if let Some(requests) = requests {
            seen.request = seen.request.map(|request| requests[request as usize]);
            // What comes between the requests is left out, so those after it have other numbers.
            seen.number = expected.number;
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
    assert_eq!(copied.ending(), original.ending());
}

#[test]
fn a_copy_of_some_requests_holds_only_those() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.trace");
    let original = Trace::open(Path::new(SAMPLE)).unwrap();
    let requests = [3, 4, 17];
    copy(&original, Some(&requests), &path, &options()).unwrap();
    let copied = Trace::open(&path).unwrap();
    plays_the_same(&original, &copied, Some(&requests));
    let expected: Vec<Request> = requests
        .iter()
        .map(|&request| original.requests()[request as usize])
        .collect();
    assert_eq!(copied.requests(), expected);
}
