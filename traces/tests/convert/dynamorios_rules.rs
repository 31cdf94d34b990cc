//! The rules of DynamoRIO's trace checker (`clients/drcachesim/tools/invariant_checker.cpp`) and of
//! its reader, in our own words. They are limited to traces of version 4 without encodings.

use super::packed_records::Record;
use std::collections::HashMap;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const INSTRUCTION: u16 = 10;
pub const DIRECT_JUMP: u16 = 11;
pub const CONDITIONAL_JUMP: u16 = 13;
pub const LAST_BRANCH: u16 = 16;
pub const THREAD: u16 = 22;
pub const EXIT: u16 = 23;
pub const PROCESS: u16 = 24;
pub const HEADER: u16 = 25;
pub const FOOTER: u16 = 26;
pub const MARKER: u16 = 28;

pub const TIMESTAMP: u16 = 2;
pub const FUNCTION: u16 = 4;
pub const RETURNED: u16 = 7;
pub const FILE_TYPE: u16 = 9;
pub const LINE_BYTES: u16 = 10;
pub const VERSION: u16 = 12;
pub const WINDOW: u16 = 14;
pub const PHYSICAL: u16 = 15;
pub const VIRTUAL: u16 = 17;
pub const PAGE_BYTES: u16 = 18;
pub const SYSTEM_CALL: u16 = 25;

pub const HAS_SYSTEM_CALLS: u64 = 0x400;

/// The state of one thread after the records read so far.
#[derive(Default)]
struct OfThread {
    has_line_bytes: bool,
    has_page_bytes: bool,
    is_over: bool,
    /// Type, address and size of its last instruction.
    last: Option<(u16, u64, u64)>,
    timestamp: u64,
    /// Whether a timestamp followed its last instruction.
    saw_timestamp: bool,
    saw_window: bool,
    window: Option<u64>,
    function: u64,
}

/// A broken rule, and the index of the record.
pub type Violation = (usize, &'static str);

/// Returns the rules that these records break.
pub fn violations(records: &[Record]) -> Vec<Violation> {
    let mut checker = Checker::default();
    checker.ends(records);
    for (at, &record) in records.iter().enumerate() {
        checker.at = at;
        let before = at.checked_sub(1).map(|before| records[before]);
        checker.neighbours(before, record, at + 1 == records.len());
        checker.take(before, record);
    }
    let threads = checker.threads.values();
    let left = threads
        .filter(|of| of.last.is_some() && !of.is_over)
        .count();
    checker.at = records.len();
    checker.hold(left == 0, "each thread exits");
    checker.broken
}

/// Checks records in sequence.
#[derive(Default)]
struct Checker {
    broken: Vec<Violation>,
    /// Index of the current record.
    at: usize,
    threads: HashMap<u64, OfThread>,
    /// Target of each direct jump.
    targets: HashMap<u64, u64>,
    thread: u64,
    is_named: bool,
    file_type: u64,
    /// Whether a load or store can belong to a preceding instruction.
    follows_instruction: bool,
}

fn is_marker(record: Option<Record>, sub: u16) -> bool {
    record.is_some_and(|of| (of.0, of.1) == (MARKER, sub))
}

impl Checker {
    fn hold(&mut self, rule: bool, said: &'static str) {
        if !rule {
            self.broken.push((self.at, said));
        }
    }

    fn own(&mut self) -> &mut OfThread {
        self.threads.entry(self.thread).or_default()
    }

    fn ends(&mut self, records: &[Record]) {
        let begins = |at: usize| records.get(at).map(|&(kind, size, _)| (kind, size));
        let expected = [(HEADER, 0), (MARKER, VERSION), (MARKER, FILE_TYPE)].map(Some);
        self.hold(
            [0, 1, 2].map(begins) == expected,
            "a header, the version, and the type of file come first",
        );
        let value = |at: usize| records.get(at).map(|of| of.2);
        self.hold(value(0) == value(1), "the header has the version");
        let last = records.last().map(|of| of.0);
        self.hold(last == Some(FOOTER), "a footer is last");
    }

    fn neighbours(&mut self, before: Option<Record>, record: Record, is_last: bool) {
        let (kind, size, value) = record;
        self.hold(
            !is_marker(before, PHYSICAL) || (kind, size) == (MARKER, VIRTUAL),
            "a page's virtual address stands right behind its physical one",
        );
        self.hold(
            before.is_none_or(|of| of.0 != THREAD) || kind == PROCESS,
            "a process stands right behind a thread",
        );
        self.hold(
            before.is_none() || is_last || ![HEADER, FOOTER].contains(&kind),
            "headers and footers stand at the ends",
        );
        if (kind, size) == (MARKER, VIRTUAL) {
            self.hold(
                is_marker(before, PHYSICAL),
                "a page's physical address stands right before its virtual one",
            );
            let physical = before.map_or(0, |of| of.2);
            self.hold(
                value & 0xfff == physical & 0xfff,
                "both have the same place in their page",
            );
        }
    }

    fn take(&mut self, before: Option<Record>, (kind, size, value): Record) {
        match kind {
            THREAD => {
                (self.thread, self.is_named, self.follows_instruction) = (value, false, false);
                self.hold(value != 0, "a thread has a number");
                let is_over = self.own().is_over;
                self.hold(!is_over, "nothing comes behind a thread's exit");
            }
            PROCESS => self.is_named = true,
            EXIT => self.exit(value),
            INSTRUCTION..=LAST_BRANCH => self.instruction(kind, size, value),
            READ | WRITE => {
                self.hold(
                    self.follows_instruction,
                    "a load or store has an instruction before it",
                );
                self.hold(size > 0, "a load or store has a size");
                self.hold(
                    !is_marker(before, FUNCTION) && !is_marker(before, RETURNED),
                    "no marker of a function stands before a load or store",
                );
            }
            MARKER => self.marker(size, value),
            _ => {}
        }
    }

    fn exit(&mut self, thread: u64) {
        let of = self.threads.entry(thread).or_default();
        let was_over = std::mem::replace(&mut of.is_over, true);
        let has = (of.has_line_bytes, of.has_page_bytes);
        self.hold(has.0, "each thread has a marker of the size of lines");
        self.hold(has.1, "each thread has a marker of the size of pages");
        self.hold(!was_over, "a thread exits once");
    }

    fn instruction(&mut self, kind: u16, size: u16, address: u64) {
        self.hold(
            self.is_named,
            "a thread and a process come before what is done",
        );
        self.hold((1..=15).contains(&size), "an instruction has 1 to 15 bytes");
        self.follows_instruction = true;
        let own = self.own();
        let last = own.last.replace((kind, address, size.into()));
        let saw_timestamp = std::mem::take(&mut own.saw_timestamp);
        let saw_window = std::mem::take(&mut own.saw_window);
        let Some((last, from, length)) = last else {
            return;
        };
        let is_branch = last != INSTRUCTION;
        let goes_on = from.wrapping_add(length) == address;
        self.hold(
            is_branch || goes_on || saw_window,
            "only behind a branch or in another window a thread is elsewhere",
        );
        self.hold(
            !is_branch || !saw_timestamp,
            "no timestamp stands between a branch and what it leads to",
        );
        self.hold(
            last == CONDITIONAL_JUMP || !is_branch || !goes_on || saw_window,
            "only a conditional jump does not jump",
        );
        if last == DIRECT_JUMP && !saw_window {
            let known = *self.targets.entry(from).or_insert(address);
            self.hold(known == address, "a direct jump leads to one place");
        }
    }

    fn marker(&mut self, sub: u16, value: u64) {
        let has_calls = self.file_type & HAS_SYSTEM_CALLS != 0;
        let own = self.threads.entry(self.thread).or_default();
        match sub {
            VERSION => self.hold(value <= 4, "later versions say where branches lead"),
            FILE_TYPE => self.file_type = value,
            LINE_BYTES => own.has_line_bytes = true,
            PAGE_BYTES => own.has_page_bytes = true,
            TIMESTAMP => {
                own.saw_timestamp = true;
                let before = std::mem::replace(&mut own.timestamp, value);
                self.hold(value >= before, "timestamps do not go back");
            }
            WINDOW => own.saw_window |= own.window.replace(value) != Some(value),
            SYSTEM_CALL => self.hold(
                has_calls,
                "the type of file says that there are system calls",
            ),
            FUNCTION => own.function = value,
            RETURNED => {
                let is_of_system = own.function >= 1 << 32;
                self.hold(
                    is_of_system,
                    "functions other than system calls return behind a branch",
                );
            }
            _ => {}
        }
    }
}
