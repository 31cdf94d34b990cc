//! What DynamoRIO's own checker of traces (`clients/drcachesim/tools/invariant_checker.cpp`) and the
//! reader below it ask of records, as far as it concerns a trace without encodings of version 4, in
//! words of our own; and that exports obey.

use super::exported::{as_records, of_requests};
use super::packed_records::{Record, bytes};
use crate::convert::streams::{
    code_blocks, fit, mappings, pages, steps, write_machine, write_processes,
};
use corehop_traces::{RequestId, Trace, samples};
use proptest::prelude::*;
use std::collections::HashMap;

const READ: u16 = 0;
const WRITE: u16 = 1;
const INSTRUCTION: u16 = 10;
const DIRECT_JUMP: u16 = 11;
const CONDITIONAL_JUMP: u16 = 13;
const LAST_BRANCH: u16 = 16;
const THREAD: u16 = 22;
const EXIT: u16 = 23;
const PROCESS: u16 = 24;
const HEADER: u16 = 25;
const FOOTER: u16 = 26;
const MARKER: u16 = 28;

const TIMESTAMP: u16 = 2;
const FUNCTION: u16 = 4;
const RETURNED: u16 = 7;
const FILE_TYPE: u16 = 9;
const LINE_BYTES: u16 = 10;
const VERSION: u16 = 12;
const WINDOW: u16 = 14;
const PHYSICAL: u16 = 15;
const VIRTUAL: u16 = 17;
const PAGE_BYTES: u16 = 18;
const SYSTEM_CALL: u16 = 25;

const HAS_SYSTEM_CALLS: u64 = 0x400;

/// The records of one thread, as far as they were read.
#[derive(Default)]
struct OfThread {
    has_line_bytes: bool,
    has_page_bytes: bool,
    is_over: bool,
    /// Type, address and size of its last instruction.
    last: Option<(u16, u64, u64)>,
    timestamp: u64,
    /// Since its last instruction.
    saw_timestamp: bool,
    saw_window: bool,
    window: Option<u64>,
    function: u64,
}

/// The rules that these records break, each with the number of the record.
fn violations(records: &[Record]) -> Vec<(usize, &'static str)> {
    let mut broken = Vec::new();
    let mut threads: HashMap<u64, OfThread> = HashMap::new();
    let mut targets: HashMap<u64, u64> = HashMap::new();
    let (mut thread, mut is_named) = (0, false);
    let mut file_type = 0;
    // Whether a load or store could belong to an instruction before it.
    let mut follows_instruction = false;
    let begins = |at: usize| records.get(at).map(|&(kind, size, _)| (kind, size));
    let expected = [(HEADER, 0), (MARKER, VERSION), (MARKER, FILE_TYPE)].map(Some);
    if [0, 1, 2].map(begins) != expected {
        broken.push((0, "a header, the version, and the type of file come first"));
    }
    if records.first().map(|of| of.2) != records.get(1).map(|of| of.2) {
        broken.push((0, "the header has the version"));
    }
    if records.last().map(|of| of.0) != Some(FOOTER) {
        broken.push((records.len(), "a footer is last"));
    }
    for (at, &(kind, size, value)) in records.iter().enumerate() {
        let mut hold = |rule: bool, said: &'static str| {
            if !rule {
                broken.push((at, said));
            }
        };
        let before = at.checked_sub(1).map(|before| records[before]);
        let after_marker = |sub: u16| before.is_some_and(|of| (of.0, of.1) == (MARKER, sub));
        hold(
            !after_marker(PHYSICAL) || (kind, size) == (MARKER, VIRTUAL),
            "a page's virtual address stands right behind its physical one",
        );
        hold(
            before.is_none_or(|of| of.0 != THREAD) || kind == PROCESS,
            "a process stands right behind a thread",
        );
        hold(
            at == 0 || at + 1 == records.len() || ![HEADER, FOOTER].contains(&kind),
            "headers and footers stand at the ends",
        );
        let own = threads.entry(thread).or_default();
        match kind {
            THREAD => {
                (thread, is_named, follows_instruction) = (value, false, false);
                hold(value != 0, "a thread has a number");
                let own = threads.entry(value).or_default();
                hold(!own.is_over, "nothing comes behind a thread's exit");
            }
            PROCESS => is_named = true,
            EXIT => {
                let of = threads.entry(value).or_default();
                hold(
                    of.has_line_bytes,
                    "each thread has a marker of the size of lines",
                );
                hold(
                    of.has_page_bytes,
                    "each thread has a marker of the size of pages",
                );
                hold(!of.is_over, "a thread exits once");
                of.is_over = true;
            }
            INSTRUCTION..=LAST_BRANCH => {
                hold(is_named, "a thread and a process come before what is done");
                hold((1..=15).contains(&size), "an instruction has 1 to 15 bytes");
                if let Some((last, address, length)) = own.last {
                    let is_branch = last != INSTRUCTION;
                    let goes_on = address.wrapping_add(length) == value;
                    hold(
                        is_branch || goes_on || own.saw_window,
                        "only behind a branch or in another window a thread is elsewhere",
                    );
                    hold(
                        !is_branch || !own.saw_timestamp,
                        "no timestamp stands between a branch and what it leads to",
                    );
                    if last == DIRECT_JUMP && !own.saw_window {
                        let known = *targets.entry(address).or_insert(value);
                        hold(known == value, "a direct jump leads to one place");
                    }
                    hold(
                        last == CONDITIONAL_JUMP || !is_branch || !goes_on || own.saw_window,
                        "only a conditional jump does not jump",
                    );
                }
                own.last = Some((kind, value, size.into()));
                (own.saw_timestamp, own.saw_window) = (false, false);
                follows_instruction = true;
            }
            READ | WRITE => {
                hold(
                    follows_instruction,
                    "a load or store has an instruction before it",
                );
                hold(size > 0, "a load or store has a size");
                hold(
                    !after_marker(FUNCTION) && !after_marker(RETURNED),
                    "no marker of a function stands before a load or store",
                );
            }
            MARKER => match size {
                VERSION => hold(value <= 4, "later versions say where branches lead"),
                FILE_TYPE => file_type = value,
                LINE_BYTES => own.has_line_bytes = true,
                PAGE_BYTES => own.has_page_bytes = true,
                TIMESTAMP => {
                    hold(value >= own.timestamp, "timestamps do not go back");
                    (own.timestamp, own.saw_timestamp) = (value, true);
                }
                WINDOW => {
                    own.saw_window |= own.window != Some(value);
                    own.window = Some(value);
                }
                VIRTUAL => hold(
                    before.is_some_and(|of| (of.0, of.1) == (MARKER, PHYSICAL)),
                    "a page's physical address stands right before its virtual one",
                ),
                SYSTEM_CALL => hold(
                    file_type & HAS_SYSTEM_CALLS != 0,
                    "the type of file says that there are system calls",
                ),
                FUNCTION => own.function = value,
                RETURNED => hold(
                    own.function >= 1 << 32,
                    "functions other than system calls return behind a branch",
                ),
                _ => {}
            },
            _ => {}
        }
        if kind == MARKER && size == VIRTUAL {
            let physical = before.map_or(0, |of| of.2);
            hold(
                value & 0xfff == physical & 0xfff,
                "both have the same place in their page",
            );
        }
    }
    let left = threads
        .iter()
        .filter(|(_, of)| of.last.is_some() && !of.is_over);
    broken.extend(left.map(|_| (records.len(), "each thread exits")));
    broken
}

fn records(bytes: &[u8]) -> Vec<Record> {
    let record = |record: &[u8]| {
        let short = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
        let value = u64::from_le_bytes(record[4..].try_into().unwrap());
        (short(0), short(2), value)
    };
    assert_eq!(bytes.len() % 12, 0);
    bytes.chunks_exact(12).map(record).collect()
}

/// Two threads, one of which jumps.
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

#[test]
fn each_rule_is_broken_by_what_breaks_it() {
    assert_eq!(violations(&records(&bytes(&sound()))), []);
    let without = |at: usize| {
        let mut records = sound();
        records.remove(at);
        records
    };
    let with = |at: usize, record: Record| {
        let mut records = sound();
        records[at] = record;
        records
    };
    let more = |at: usize, record: Record| {
        let mut records = sound();
        records.insert(at, record);
        records
    };
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
        (
            more(22, (WRITE, 8, 0x9000)),
            "no marker of a function stands before a load or store",
        ),
        (with(15, (MARKER, TIMESTAMP, 0)), ""),
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
        let broken = violations(&records);
        let said_so = broken.iter().any(|(_, rule)| *rule == said);
        assert!(
            said_so || (said.is_empty() && broken.is_empty()),
            "{said}: {broken:?}"
        );
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
    // Every few instructions one is a branch, and few requests follow the one before at once.
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
