//! Checks drmemtrace's records, written by hand according to its header files: what is kept, what
//! is omitted, and what is rejected with its place.

use super::exported::as_records;
use super::packed_records::{Record, bytes};
use corehop_traces::convert::{Imported, Options, drmemtrace};
use corehop_traces::{Header, Index, Kind, Trace, Writer, WriterOptions, physical_address};

const HEADER: Record = (25, 0, 3);
const FOOTER: Record = (26, 0, 0);
const THREAD_7: Record = (22, 0, 7);
const THREAD_8: Record = (22, 0, 8);
const PROCESS_5: Record = (24, 0, 5);

/// Returns the accesses as `thread kind address size`, and the result of the import.
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
        "record 1 (byte 0): the file ends without a footer: it was cut off",
    );
    let within = |records: &[Record]| within(records);
    refused(
        &bytes(&[THREAD_7]),
        "record 1 (byte 0): no drmemtrace file: the first record is not its header; raw \
         files are to be converted first, with drrun -t drmemtrace -indir FOLDER",
    );
    refused(
        &bytes(&[HEADER, THREAD_7])[..20],
        "record 2 (byte 12): the file ends within a record, after 8 of 12 bytes",
    );
    refused(
        &bytes(&[HEADER, THREAD_7]),
        "record 3 (byte 24): the file ends without a footer: it was cut off",
    );
    refused(
        &bytes(&[HEADER, FOOTER, THREAD_7]),
        "record 3 (byte 24): a record after the footer",
    );
    refused(
        &bytes(&[HEADER, THREAD_7, (10, 4, 0x1000), FOOTER]),
        "record 3 (byte 24): something is done before its thread and process are named",
    );
    refused(
        &within(&[(99, 0, 0)]),
        "record 4 (byte 36): a record of the unknown type 99",
    );
    refused(
        &within(&[(10, 0, 0x1000)]),
        "record 4 (byte 36): an instruction of 0 bytes, not 1 to 15",
    );
    refused(
        &within(&[(10, 1, u64::MAX)]),
        "record 4 (byte 36): code at 0xffffffffffffffff goes beyond the last address",
    );
    refused(
        &within(&[(0, 8, 0x9000)]),
        "record 4 (byte 36): an access before any instruction that could make it",
    );
    refused(
        &within(&[(10, 4, 0x1000), (0, 0, 0x9008)]),
        "record 5 (byte 48): an access of 0 bytes, not 1 to 65535",
    );
    refused(
        &within(&[(28, 9, 0x140)]),
        "record 4 (byte 36): the trace was filtered by a cache; record it without -L0_filter",
    );
    refused(
        &within(&[(28, 9, 0x20)]),
        "record 4 (byte 36): a trace of a 32-bit program; only 64-bit ones are read",
    );
}

#[test]
fn what_stores_as_much_as_the_processor_decides_may_have_no_size() {
    const ENCODED: Record = (28, 9, 0x240);
    // xsavec [rsp + 0x40], of a trace with encodings and of one without.
    let xsave = (47, 5, 0x40_2464_c70f);
    let encoded = [ENCODED, xsave, (10, 5, 0x1000), (1, 0, 0x9000)];
    let plain = [(10, 5, 0x1000), (1, 0, 0x9000)];
    for records in [&encoded[..], &plain] {
        let (accesses, imported) = read(&within(records), &Options::default()).unwrap();
        assert_eq!(accesses, ["5.7 None I 1000,5", "5.7 None S 9000,1"]);
        let [warning] = &imported.warnings[..] else {
            panic!("{:?}", imported.warnings);
        };
        assert!(warning.starts_with("1 loads and stores have no size in the trace"));
    }
    let message = "an access of 0 bytes, not 1 to 65535";
    let other = [ENCODED, (47, 3, 0x07_8948), (10, 3, 0x1000), (1, 0, 0x9000)];
    refused(&within(&other), &format!("record 7 (byte 72): {message}"));
    let unknown = [ENCODED, (10, 5, 0x1000), (1, 0, 0x9000)];
    refused(&within(&unknown), &format!("record 6 (byte 60): {message}"));
    let short = [(10, 2, 0x1000), (1, 0, 0x9000)];
    refused(&within(&short), &format!("record 5 (byte 48): {message}"));
}

#[test]
fn markers_of_functions_are_counted_and_results_of_system_calls_kept() {
    let records = [
        (10, 4, 0x1000),
        (28, 4, 3),
        (28, 5, 0x1004),
        (28, 6, 17),
        (28, 7, 42),
        (28, 25, 202),
        (28, 26, 0),
        (28, 4, (1 << 32) + 202),
        (28, 6, 0x9000),
        (28, 7, (-11_i64).cast_unsigned()),
        (28, 30, 11),
        (10, 4, 0x1004),
    ];
    let (accesses, imported) = read(&within(&records), &Options::default()).unwrap();
    assert_eq!(accesses, ["5.7 None I 1000,4", "5.7 None I 1004,4"]);
    let left_out = [
        ("markers of functions, their arguments and results", 4),
        ("arguments of system calls", 1),
    ];
    assert_eq!(imported.left_out, left_out);
    assert_eq!(imported.instructions, Some(2));
}

#[test]
fn a_signal_ends_a_block_and_is_counted() {
    let records = [
        (10, 4, 0x1000),
        (28, 41, 0x90),
        (28, 13, 0x1004),
        (28, 0, 0x1004),
        (28, 40, 26),
        (10, 4, 0x1004),
        (28, 1, 0x1008),
        (10, 4, 0x1008),
    ];
    let (accesses, imported) = read(&within(&records), &Options::default()).unwrap();
    let expected = [
        "5.7 None I 1000,4",
        "5.7 None I 1004,4",
        "5.7 None I 1008,4",
    ];
    assert_eq!(accesses, expected);
    let counts: Vec<u64> = imported.left_out.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [1, 2, 1]);
}

#[test]
fn workloads_with_equal_numbers_are_processes_of_their_own() {
    let workload = |ordinal: u64| [(22, 0, ordinal << 32 | 7), (24, 0, ordinal << 32 | 5)];
    let code = [(10, 4, 0x1000), (0, 8, 0x9000)];
    let begin = [HEADER, (28, 9, 0x1_0040)];
    let [first, second] = [workload(1), workload(2)];
    let all = [
        &begin[..],
        &first,
        &code,
        &second,
        &code,
        &first,
        &code,
        &[FOOTER],
    ];
    let (accesses, _) = read(&bytes(&all.concat()), &Options::default()).unwrap();
    let of = |process: u32| {
        let fetch = format!("{process}.7 None I 1000,4");
        [fetch, format!("{process}.7 None L 9000,8")]
    };
    let other = 5 + 2 * (1 << 22);
    assert_eq!(accesses, [of(5), of(other), of(5)].concat());
}

#[test]
fn a_trace_without_data_or_without_the_kernels_says_so() {
    let warnings = |records: &[Record]| {
        let (_, imported) = read(&within(records), &Options::default()).unwrap();
        imported.warnings.join("\n")
    };
    let code = (10, 4, 0x1000);
    assert!(warnings(&[(28, 9, 0x44), code]).contains("instructions only"));
    let kernel = [
        (28, 9, 0x8040),
        code,
        (28, 27, 1),
        (10, 4, 0x2000),
        (28, 28, 1),
    ];
    assert!(warnings(&kernel).contains("the kernel's instructions without what they load"));
    assert_eq!(warnings(&[(28, 9, 0x8040), code]), "");
}

#[test]
fn what_a_cache_has_filtered_is_passed_over_up_to_the_filters_end() {
    const WINDOW: u16 = 14;
    let records = [
        (28, 9, 0x21c0),
        THREAD_7,
        PROCESS_5,
        (28, WINDOW, 0),
        (10, 4, 0x1000),
        (0, 8, 0x9000),
        (10, 0, 0x1004),
        (28, 23, 0),
        (10, 4, 0x2000),
        (28, WINDOW, 1),
        (10, 4, 0x3000),
    ];
    let (accesses, imported) = read(&within(&records), &Options::default()).unwrap();
    assert_eq!(accesses, ["5.7 None I 2000,4"]);
    let counts: Vec<u64> = imported.left_out.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [3, 1, 1]);
    refused(
        &within(&records[..6]),
        "record 10 (byte 108): the trace was filtered by a cache to its end; record it without \
         -L0_filter",
    );
}

#[test]
fn a_file_of_a_core_may_end_threads_and_go_on() {
    let cores = (28, 9, 0x1_0040);
    let code = (10, 4, 0x1000);
    let idle = (28, 33, 0);
    let exit = (23, 0, 7);
    let parts = [
        &[
            HEADER, cores, THREAD_7, PROCESS_5, code, exit, FOOTER, idle, idle,
        ][..],
        &[HEADER, cores, THREAD_8, PROCESS_5, code],
        // A core's idle thread has the number 0.
        &[(22, 0, 0), (24, 0, 0), code, FOOTER],
    ];
    let (accesses, imported) = read(&bytes(&parts.concat()), &Options::default()).unwrap();
    let expected = ["5.7", "5.8", "0.0"].map(|who| format!("{who} None I 1000,4"));
    assert_eq!(accesses, expected);
    assert_eq!(
        imported.left_out,
        [("markers of cores that are idle or wait", 2)]
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
        "record 4 (byte 36): a page's virtual address without its physical one before it",
    );
    refused(
        &within(&[(28, 15, 1 << 50), (28, 17, 0x5000)]),
        "record 5 (byte 48): a page at 0x4000000000000, which is no physical address",
    );
    refused(
        &within(&[(28, 18, 65_536), (28, 15, 0x9_0000), (28, 17, 0x5000)]),
        "record 6 (byte 60): physical pages of 65536 bytes; only those of 4096 are read",
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
    let again = as_records(&trace);
    let said = again
        .chunks_exact(12)
        .filter(|record| record[..4] == [28, 0, 3, 0]);
    let said: Vec<u64> = said
        .map(|record| u64::from_le_bytes(record[4..].try_into().unwrap()))
        .collect();
    assert_eq!(said, [2, 0, u64::MAX, 0]);
}
