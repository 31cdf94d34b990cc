//! drmemtrace's records, written by hand as its header files describe them: what is kept, what is
//! left out, and what is refused with its place.

use corehop_traces::convert::{Imported, Options, drmemtrace};
use corehop_traces::{Header, Index, Kind, Trace, Writer, WriterOptions, physical_address};

/// `type`, `size`, `addr`.
type Record = (u16, u16, u64);

const HEADER: Record = (25, 0, 3);
const FOOTER: Record = (26, 0, 0);
const THREAD_7: Record = (22, 0, 7);
const THREAD_8: Record = (22, 0, 8);
const PROCESS_5: Record = (24, 0, 5);

fn bytes(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, size, value) in records {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

/// The accesses as `thread kind address size`, and what was left out.
fn read(bytes: &[u8], options: &Options) -> Result<(Vec<String>, Imported), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let imported = drmemtrace::import(bytes, "bank.records", writer, options);
    let imported = imported.map_err(|error| error.to_string())?;
    let trace = Trace::open(&path).unwrap();
    let mut accesses = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let thread = trace.threads()[execution.thread.index()];
        for access in execution.accesses {
            let kind = match access.kind {
                Kind::Fetch => 'I',
                Kind::Load => 'L',
                Kind::Store => 'S',
            };
            accesses.push(format!(
                "{}.{} {:?} {kind} {:x},{}",
                thread.process_id,
                thread.os_thread_id,
                execution.request.map(|request| request.0),
                access.address,
                access.size_bytes
            ));
        }
    }
    Ok((accesses, imported))
}

fn within(records: &[Record]) -> Vec<u8> {
    let around = [&[HEADER, THREAD_7, PROCESS_5], records, &[FOOTER]];
    bytes(&around.concat())
}

#[track_caller]
fn refused(bytes: &[u8], message: &str) {
    let error = read(bytes, &Options::default()).unwrap_err();
    assert_eq!(error, format!("bank.records: {message}"));
}

#[test]
fn instructions_that_follow_one_another_are_one_block_up_to_a_branch() {
    let records = [
        (10, 4, 0x1000),
        (0, 8, 0x9000),
        (13, 2, 0x1004),
        (10, 3, 0x1006),
        (17, 2, 0x0504),
        (1, 2, 0x9010),
    ];
    let (accesses, imported) = read(&within(&records), &Options::default()).unwrap();
    let expected = [
        "5.7 None I 1000,6",
        "5.7 None L 9000,8",
        "5.7 None I 1006,12",
        "5.7 None S 9010,2",
    ];
    assert_eq!(accesses, expected);
    assert_eq!(imported.left_out, []);
}

#[test]
fn threads_take_turns_as_their_records_do() {
    let records = [
        (10, 4, 0x1000),
        THREAD_8,
        PROCESS_5,
        (10, 4, 0x1000),
        THREAD_7,
        (10, 4, 0x1004),
    ];
    let (accesses, _) = read(&within(&records), &Options::default()).unwrap();
    let expected = [
        "5.7 None I 1000,4",
        "5.8 None I 1000,4",
        "5.7 None I 1004,4",
    ];
    assert_eq!(accesses, expected);
}

#[test]
fn a_thread_number_that_is_used_again_is_another_thread() {
    let records = [
        (28, 0xc00, 0),
        (10, 4, 0x1000),
        (23, 0, 7),
        THREAD_7,
        PROCESS_5,
        (10, 4, 0x1004),
    ];
    let (accesses, _) = read(&within(&records), &Options::default()).unwrap();
    assert_eq!(accesses, ["5.7 Some(0) I 1000,4", "5.7 None I 1004,4"]);
}

#[test]
fn a_repeated_instruction_is_fetched_once() {
    let records = [
        (10, 2, 0x1000),
        (1, 8, 0x9000),
        (29, 2, 0x1000),
        (1, 8, 0x9008),
    ];
    let (accesses, _) = read(&within(&records), &Options::default()).unwrap();
    let expected = [
        "5.7 None I 1000,2",
        "5.7 None S 9000,8",
        "5.7 None S 9008,8",
    ];
    assert_eq!(accesses, expected);
}

#[test]
fn a_string_operation_may_store_more_often_than_an_execution_can() {
    let mut records = vec![(10, 2, 0x1000)];
    for store in 0..100_000 {
        records.extend([(29, 2, 0x1000), (1, 8, 0x9000 + 8 * store)]);
    }
    let (accesses, _) = read(&within(&records), &Options::default()).unwrap();
    let fetches = accesses.iter().filter(|a| a.contains(" I ")).count();
    assert_eq!([fetches, accesses.len() - fetches], [4, 100_000]);
}

#[test]
fn what_a_trace_cannot_hold_is_counted() {
    let records = [
        (47, 4, 0x90),
        (10, 4, 0x1000),
        (3, 1, 0x9000),
        (32, 1, 0x9000),
        (20, 64, 0x9000),
        (28, 2, 1234),
        (28, 14, 0),
    ];
    let (accesses, imported) = read(&within(&records), &Options::default()).unwrap();
    assert_eq!(accesses, ["5.7 None I 1000,4"]);
    let left_out = [("prefetches", 2), ("cache flushes", 1)];
    assert_eq!(imported.left_out, left_out);
}

#[test]
fn requests_begin_at_our_markers_or_at_an_address() {
    let records = [
        (10, 4, 0x1000),
        (28, 0xc00, 17),
        (10, 4, 0x1004),
        (28, 0xc01, 0),
        (10, 4, 0x1008),
    ];
    let (accesses, _) = read(&within(&records), &Options::default()).unwrap();
    let expected = [
        "5.7 None I 1000,4",
        "5.7 Some(0) I 1004,4",
        "5.7 None I 1008,4",
    ];
    assert_eq!(accesses, expected);
    let at = Options {
        request_at: Some(0x1000),
        join: false,
    };
    let (accesses, _) = read(&within(&records), &at).unwrap();
    assert_eq!(accesses, ["5.7 Some(0) I 1000,12"]);
}

#[test]
fn what_breaks_the_format_is_refused_with_its_place() {
    refused(
        &[],
        "byte 0: the file ends without a footer: it was cut off",
    );
    let within = |records: &[Record]| within(records);
    refused(
        &bytes(&[THREAD_7]),
        "byte 0: no drmemtrace file: the first record is not its header",
    );
    refused(
        &bytes(&[HEADER, THREAD_7])[..20],
        "byte 12: the file ends within a record, after 8 of 12 bytes",
    );
    refused(
        &bytes(&[HEADER, THREAD_7]),
        "byte 24: the file ends without a footer: it was cut off",
    );
    refused(
        &bytes(&[HEADER, FOOTER, HEADER]),
        "byte 24: a record after the footer; import one file at a time",
    );
    refused(
        &bytes(&[HEADER, THREAD_7, (10, 4, 0x1000), FOOTER]),
        "byte 24: something is done before its thread and process are named",
    );
    refused(
        &within(&[(99, 0, 0)]),
        "byte 36: a record of the unknown type 99",
    );
    refused(
        &within(&[(10, 0, 0x1000)]),
        "byte 36: an instruction of 0 bytes, not 1 to 15",
    );
    refused(
        &within(&[(10, 1, u64::MAX)]),
        "byte 36: code at 0xffffffffffffffff goes beyond the last address",
    );
    refused(
        &within(&[(0, 8, 0x9000)]),
        "byte 36: an access before any instruction that could make it",
    );
    refused(
        &within(&[(10, 4, 0x1000), (0, 0, 0x9000)]),
        "byte 48: an access of 0 bytes, not 1 to 65535",
    );
    refused(
        &within(&[(28, 9, 0x140)]),
        "byte 36: the trace was filtered by a cache; record it without -L0_filter",
    );
    refused(
        &within(&[(28, 9, 0x20)]),
        "byte 36: a trace of a 32-bit program; only 64-bit ones are read",
    );
}

#[test]
fn markers_of_physical_pages_say_where_pages_are_from_there_on() {
    const PHYSICAL: u16 = 15;
    const VIRTUAL: u16 = 17;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let bytes = within(&[
        (10, 4, 0x1000),
        (0, 8, 0x5010),
        (10, 4, 0x1004),
        (28, PHYSICAL, 0x9_9000),
        (28, VIRTUAL, 0x5000),
        (0, 8, 0x5018),
        (10, 4, 0x1008),
        (28, PHYSICAL, 0x8_8000),
        (28, VIRTUAL, 0x5000),
        (1, 8, 0x5020),
    ]);
    drmemtrace::import(&bytes[..], "bank.records", writer, &Options::default()).unwrap();
    let mut trace = Trace::open(&path).unwrap();
    trace.index_by(Index::Physical);
    let mut data = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let own = execution
            .accesses
            .iter()
            .filter(|of| of.kind != Kind::Fetch);
        data.extend(own.map(|of| physical_address(of.address).ok_or(of.address)));
    }
    assert_eq!(data, [Err(0x5010), Ok(0x9_9018), Ok(0x8_8020)]);
}

#[test]
fn physical_pages_that_cannot_be_are_refused() {
    refused(
        &within(&[(28, 17, 0x5000)]),
        "byte 36: a page's virtual address without its physical one before it",
    );
    refused(
        &within(&[(28, 15, 1 << 50), (28, 17, 0x5000)]),
        "byte 48: a page at 0x4000000000000, which is no physical address",
    );
    refused(
        &within(&[(28, 18, 65_536), (28, 15, 0x9_0000), (28, 17, 0x5000)]),
        "byte 60: physical pages of 65536 bytes; only those of 4096 are read",
    );
}

#[test]
fn markers_of_cpus_say_where_threads_go_on() {
    const CPU: u16 = 3;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let bytes = within(&[
        (28, CPU, 2),
        (10, 4, 0x1000),
        (28, CPU, 0),
        (10, 4, 0x1004),
        THREAD_8,
        PROCESS_5,
        (28, CPU, u64::MAX),
        (10, 4, 0x1008),
        THREAD_7,
        PROCESS_5,
        (28, CPU, 0),
        (10, 4, 0x1010),
    ]);
    drmemtrace::import(&bytes[..], "bank.records", writer, &Options::default()).unwrap();
    let trace = Trace::open(&path).unwrap();
    let mut found = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let (thread, stamp) = (execution.thread, execution.stamp);
        found.push((
            trace.threads()[thread.index()].os_thread_id,
            trace.cpu(thread, stamp),
        ));
    }
    assert_eq!(found, [(7, Some(2)), (7, Some(0)), (8, None), (7, Some(0))]);
    let mut again = Vec::new();
    let mut exporter = drmemtrace::Exporter::begin(&trace, &mut again).unwrap();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        exporter.execution(&execution).unwrap();
    }
    exporter.finish().unwrap();
    let said = again
        .chunks_exact(12)
        .filter(|record| record[..4] == [28, 0, 3, 0]);
    let said: Vec<u64> = said
        .map(|record| u64::from_le_bytes(record[4..].try_into().unwrap()))
        .collect();
    assert_eq!(said, [2, 0, u64::MAX, 0]);
}
