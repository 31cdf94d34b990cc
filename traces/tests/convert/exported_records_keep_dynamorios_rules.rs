//! Checks that exports keep the rules of DynamoRIO's trace checker, and that each rule can be
//! broken.

use super::dynamorios_rules::*;
use super::exported::{as_records, of_requests};
use super::packed_records::{Record, bytes};
use crate::convert::streams::{
    code_blocks, fit, mappings, pages, steps, write_machine, write_processes,
};
use corehop_traces::{RequestId, Trace, samples};
use proptest::prelude::*;

fn records(bytes: &[u8]) -> Vec<Record> {
    let record = |record: &[u8]| {
        let short = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
        let value = u64::from_le_bytes(record[4..].try_into().unwrap());
        (short(0), short(2), value)
    };
    assert_eq!(bytes.len() % 12, 0);
    bytes.chunks_exact(12).map(record).collect()
}

/// Returns valid records of two threads, one of which jumps.
fn sound() -> Vec<Record> {
    vec![
        (HEADER, 0, 4),
        (MARKER, VERSION, 4),
        (MARKER, FILE_TYPE, 0x440),
        (THREAD, 0, 7),
        (PROCESS, 0, 5),
        (MARKER, LINE_BYTES, 64),
        (MARKER, PAGE_BYTES, 4096),
        (MARKER, TIMESTAMP, 1),
        (INSTRUCTION, 4, 0x1000),
        (READ, 8, 0x9000),
        (DIRECT_JUMP, 2, 0x1004),
        (THREAD, 0, 8),
        (PROCESS, 0, 5),
        (MARKER, LINE_BYTES, 64),
        (MARKER, PAGE_BYTES, 4096),
        (MARKER, TIMESTAMP, 2),
        (MARKER, PHYSICAL, 0x3000),
        (MARKER, VIRTUAL, 0x2000),
        (INSTRUCTION, 2, 0x2000),
        (MARKER, SYSTEM_CALL, 0),
        (MARKER, FUNCTION, 1 << 32),
        (MARKER, RETURNED, 8),
        (INSTRUCTION, 2, 0x2002),
        (THREAD, 0, 7),
        (PROCESS, 0, 5),
        (INSTRUCTION, 1, 0x1000),
        (EXIT, 0, 7),
        (EXIT, 0, 8),
        (FOOTER, 0, 0),
    ]
}

/// Returns the valid records without one.
fn without(at: usize) -> Vec<Record> {
    let mut records = sound();
    records.remove(at);
    records
}

/// Returns the valid records with another record at this index.
fn with(at: usize, record: Record) -> Vec<Record> {
    let mut records = sound();
    records[at] = record;
    records
}

/// Returns the valid records with one more.
fn more(at: usize, record: Record) -> Vec<Record> {
    let mut records = sound();
    records.insert(at, record);
    records
}

#[track_caller]
fn assert_broken(records: &[Record], said: &str) {
    let broken = violations(records);
    assert!(
        broken.iter().any(|(_, rule)| *rule == said),
        "{said}: {broken:?}"
    );
}

#[test]
fn rules_of_threads_and_ends_can_be_broken() {
    assert_eq!(violations(&records(&bytes(&sound()))), []);
    for (records, said) in [
        (
            without(0),
            "a header, the version, and the type of file come first",
        ),
        (with(0, (HEADER, 0, 3)), "the header has the version"),
        (without(28), "a footer is last"),
        (
            more(9, (FOOTER, 0, 0)),
            "headers and footers stand at the ends",
        ),
        (without(4), "a process stands right behind a thread"),
        (with(3, (THREAD, 0, 0)), "a thread has a number"),
        (without(13), "each thread has a marker of the size of lines"),
        (without(14), "each thread has a marker of the size of pages"),
        (without(27), "each thread exits"),
        (more(27, (EXIT, 0, 7)), "a thread exits once"),
        (
            more(23, (EXIT, 0, 7)),
            "nothing comes behind a thread's exit",
        ),
    ] {
        assert_broken(&records, said);
    }
}

#[test]
fn rules_of_instructions_and_accesses_can_be_broken() {
    for (records, said) in [
        (
            with(8, (INSTRUCTION, 16, 0x1000)),
            "an instruction has 1 to 15 bytes",
        ),
        (
            with(10, (INSTRUCTION, 2, 0x1004)),
            "only behind a branch or in another window a thread is elsewhere",
        ),
        (
            more(25, (MARKER, TIMESTAMP, 3)),
            "no timestamp stands between a branch and what it leads to",
        ),
        (
            with(25, (INSTRUCTION, 1, 0x1006)),
            "only a conditional jump does not jump",
        ),
        (
            more(25, (READ, 8, 0x9000)),
            "a load or store has an instruction before it",
        ),
        (with(9, (READ, 0, 0x9000)), "a load or store has a size"),
    ] {
        assert_broken(&records, said);
    }
    let mut twice = sound();
    let again = [
        (INSTRUCTION, 3, 0x1001),
        (DIRECT_JUMP, 2, 0x1004),
        (INSTRUCTION, 1, 0x2000),
    ];
    twice.splice(26..26, again);
    assert_broken(&twice, "a direct jump leads to one place");
    // In another window a thread may be anywhere.
    let mut window = with(10, (INSTRUCTION, 2, 0x1004));
    window.insert(25, (MARKER, WINDOW, 1));
    assert_eq!(violations(&window), []);
}

#[test]
fn rules_of_markers_can_be_broken() {
    for (records, said) in [
        (
            more(22, (WRITE, 8, 0x9000)),
            "no marker of a function stands before a load or store",
        ),
        (
            more(16, (MARKER, TIMESTAMP, 1)),
            "timestamps do not go back",
        ),
        (
            without(17),
            "a page's virtual address stands right behind its physical one",
        ),
        (
            without(16),
            "a page's physical address stands right before its virtual one",
        ),
        (
            with(17, (MARKER, VIRTUAL, 0x2001)),
            "both have the same place in their page",
        ),
        (
            with(2, (MARKER, FILE_TYPE, 0x40)),
            "the type of file says that there are system calls",
        ),
        (
            with(20, (MARKER, FUNCTION, 3)),
            "functions other than system calls return behind a branch",
        ),
        (
            with(1, (MARKER, VERSION, 5)),
            "later versions say where branches lead",
        ),
    ] {
        assert_broken(&records, said);
    }
}

#[test]
fn a_recorded_server_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.trace");
    std::fs::write(&path, samples::MARIADB_TPCC_4).unwrap();
    let trace = Trace::open(&path).unwrap();
    let requests = [3, 4, 9, 20, 40, 80, 120, 160].map(RequestId);
    let written = records(&of_requests(&trace, &requests));
    assert_eq!(violations(&written), []);
    let count = |of: &dyn Fn(&Record) -> bool| written.iter().filter(|record| of(record)).count();
    let instructions = count(&|of| (INSTRUCTION..=LAST_BRANCH).contains(&of.0));
    let branches = count(&|of| (DIRECT_JUMP..=LAST_BRANCH).contains(&of.0));
    // One in every few instructions is a branch, and few requests directly follow another.
    let per_branch = instructions / branches;
    assert!((3..=12).contains(&per_branch), "{instructions} {branches}");
    let windows = count(&|of| (of.0, of.1) == (MARKER, WINDOW));
    assert!((1..8).contains(&windows), "{windows}");
}

proptest! {
    #[test]
    fn random_traces_keep_them(
        blocks in code_blocks(),
        mut steps in steps(),
        (mappings, pages) in prop_oneof![
            (mappings(), Just(Vec::new())),
            (Just(Vec::new()), pages()),
        ],
        chosen in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        fit(&mut steps, &blocks);
        let folder = tempfile::tempdir().unwrap();
        let [machine, processes] = ["machine", "processes"].map(|name| folder.path().join(name));
        write_machine(&machine, &blocks, &steps, 1000, (&mappings, &pages));
        write_processes(&processes, &blocks, &steps, 1000, &mappings);
        for path in [machine, processes] {
            let trace = Trace::open(&path).unwrap();
            prop_assert_eq!(violations(&records(&as_records(&trace))), []);
            let requests = trace.requests().len();
            if requests > 0 {
                let chosen = chosen.iter().map(|of| RequestId::from_index(of.index(requests)));
                let chosen: Vec<RequestId> = chosen.collect();
                prop_assert_eq!(violations(&records(&of_requests(&trace, &chosen))), []);
            }
        }
    }
}
