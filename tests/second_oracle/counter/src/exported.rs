//! Reads the executions of a trace's threads from `corehop export` alone: lackey's text joined with
//! drmemtrace's records.
//!
//! The text has every fetch, as a replay counts it, but no threads and no instructions; the records
//! have threads and instructions, but no fetches. Both are in replay order and have the same loads
//! and stores, so they are read together. If no fetch has covered the last byte of an instruction
//! yet, it takes the next fetch from the text. Its loads and stores follow, the same in both. A
//! difference fails the test.
//!
//! A fetch that does not continue where the previous one ended begins an execution. A code block
//! that falls through into another at the border of two lines is merged with it. This makes no
//! difference, because no function is entered that way.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

pub const LINE_BYTES: u64 = 64;
const PAGE_BYTES: u64 = 4096;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Fetch,
    Load,
    Store,
}

/// A fetch, a load, or a store, as in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub kind: Kind,
    pub address: u64,
    pub bytes: u32,
}

impl Access {
    pub fn end(&self) -> u64 {
        self.address + u64::from(self.bytes)
    }

    /// Returns the numbers of the lines that it spans.
    pub fn lines(&self) -> RangeInclusive<u64> {
        self.address / LINE_BYTES..=(self.end() - 1) / LINE_BYTES
    }
}

/// An executed instruction, and the last of its loads and stores.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    pub address: u64,
    pub bytes: u64,
    pub last: Option<Access>,
}

/// One execution of one code block.
#[derive(Debug)]
pub struct Execution {
    /// The number of the thread, from 0 in the order of first executions.
    pub thread: usize,
    /// The address of its first instruction.
    pub start: u64,
    /// Its last instruction.
    pub end: Instruction,
    /// Number of accesses of all executions up to this one.
    pub accesses_end: usize,
}

/// All exported data, in replay order.
#[derive(Debug, Default)]
pub struct Exported {
    pub executions: Vec<Execution>,
    pub accesses: Vec<Access>,
    /// The physical address of each access, distinct from all others if unknown.
    pub places: Vec<u64>,
    /// Thread ids of the operating system, in the order of first executions.
    pub threads: Vec<u64>,
}

impl Exported {
    /// Exports a trace, or some of its requests, in both formats by this `corehop`.
    pub fn of(corehop: &Path, trace: &Path, requests: Option<&str>) -> Exported {
        let start = |format| start(corehop, trace, requests, format);
        let (mut text, mut records) = (start("lackey"), start("drmemtrace"));
        let join = Join {
            text: Text {
                lines: BufReader::new(text.stdout.take().unwrap()),
                line: String::new(),
            },
            made: Exported::default(),
            thread: None,
            next: 0,
            covered_end: 0,
            frames: HashMap::new(),
            physical: 0,
        };
        let made = join.all(Records(BufReader::new(records.stdout.take().unwrap())));
        for child in [&mut text, &mut records] {
            assert!(child.wait().unwrap().success(), "corehop export failed");
        }
        made
    }

    /// Returns the same with all addresses replaced by physical ones.
    pub fn by_physical_addresses(mut self) -> Exported {
        for (access, &place) in self.accesses.iter_mut().zip(&self.places) {
            access.address = place;
        }
        self
    }

    /// Returns every execution with its accesses.
    pub fn executed(&self) -> impl Iterator<Item = (&Execution, &[Access])> {
        let mut first = 0;
        self.executions.iter().map(move |execution| {
            let accesses = &self.accesses[first..execution.accesses_end];
            first = execution.accesses_end;
            (execution, accesses)
        })
    }
}

fn start(corehop: &Path, trace: &Path, requests: Option<&str>, format: &str) -> Child {
    let mut command = Command::new(corehop);
    command.args(["export", "--quiet", "--format", format, "-o", "-"]);
    command.args(requests.map(|list| format!("--requests={list}")));
    command.arg(trace).stdout(Stdio::piped());
    command.spawn().expect("corehop runs")
}

/// Returns the address of code in its process, without the number of the memory.
fn of_its_process(address: u64) -> u64 {
    match address >> 47 {
        0x1ffff => address,
        _ => address % (1 << 47),
    }
}

/// Both exports, read together.
struct Join {
    text: Text,
    made: Exported,
    /// The thread of the following records.
    thread: Option<usize>,
    /// The address of the next instruction, unless another code block begins.
    next: u64,
    /// The end of the fetched part of this code block.
    covered_end: u64,
    /// By page, its last recorded physical address; and the address for the next recorded page.
    frames: HashMap<u64, u64>,
    physical: u64,
}

impl Join {
    fn all(mut self, mut records: Records) -> Exported {
        while let Some(record) = records.next() {
            match record.kind {
                Record::LOAD => self.data(Kind::Load, &record),
                Record::STORE => self.data(Kind::Store, &record),
                Record::INSTRUCTION..=Record::CONDITIONAL_JUMP => self.instruction(&record),
                Record::THREAD => self.switch_to(record.value),
                Record::MARKER if record.size == Record::PHYSICAL => self.physical = record.value,
                Record::MARKER if record.size == Record::VIRTUAL => {
                    self.frames.insert(record.value / PAGE_BYTES, self.physical);
                }
                Record::THREAD_EXIT
                | Record::PROCESS
                | Record::HEADER
                | Record::MARKER
                | Record::FOOTER => {}
                other => panic!("a record of type {other}, which exchange.md does not have"),
            }
        }
        assert_eq!(self.text.next(), None, "the text has more accesses");
        self.made
    }

    fn made(&mut self, access: Access) {
        let (page, within) = (access.address / PAGE_BYTES, access.address % PAGE_BYTES);
        let frame = self.frames.get(&page);
        let place = frame.map_or(access.address, |frame| 1 << 63 | (frame + within));
        self.made.places.push(place);
        self.made.accesses.push(access);
    }

    fn switch_to(&mut self, id: u64) {
        let known = self.made.threads.iter().position(|&known| known == id);
        self.thread = Some(known.unwrap_or_else(|| {
            self.made.threads.push(id);
            self.made.threads.len() - 1
        }));
    }

    fn instruction(&mut self, record: &Record) {
        let (address, bytes) = (record.value, u64::from(record.size));
        let ran = Instruction {
            address: of_its_process(address),
            bytes,
            last: None,
        };
        while self.next != address || self.covered_end < address + bytes {
            let fetch = self.text.next().expect("a fetch of this instruction");
            assert_eq!(fetch.kind, Kind::Fetch, "before {record:x?}: {fetch:x?}");
            if self.next != address || self.begins_another_block(fetch) {
                self.begin(address, fetch, ran);
            }
            assert_eq!(fetch.address, self.covered_end, "{record:x?}: {fetch:x?}");
            self.covered_end = fetch.end();
            self.made(fetch);
        }
        self.next = address + bytes;
        let execution = self.made.executions.last_mut().unwrap();
        assert_eq!(Some(execution.thread), self.thread, "{record:x?}");
        execution.end = ran;
        execution.accesses_end = self.made.accesses.len();
    }

    /// Code blocks may end anywhere, but each fetch of one except the last extends to the line's
    /// end.
    fn begins_another_block(&self, fetch: Access) -> bool {
        let thread = self.made.executions.last().map(|e| e.thread);
        let is_behind = fetch.address == self.covered_end;
        !is_behind || !fetch.address.is_multiple_of(LINE_BYTES) || thread != self.thread
    }

    fn begin(&mut self, address: u64, fetch: Access, end: Instruction) {
        assert_eq!(fetch.address, address, "a block is fetched from its start");
        let fetched = self.next == self.covered_end || self.made.executions.is_empty();
        assert!(fetched, "at {address:x} a block is left early");
        (self.next, self.covered_end) = (address, address);
        self.made.executions.push(Execution {
            thread: self.thread.expect("a thread comes before its instructions"),
            start: of_its_process(address),
            end,
            accesses_end: self.made.accesses.len(),
        });
    }

    fn data(&mut self, kind: Kind, record: &Record) {
        let access = Access {
            kind,
            address: record.value,
            bytes: record.size.into(),
        };
        assert_eq!(self.text.next(), Some(access), "text and records differ");
        self.made(access);
        let execution = self.made.executions.last_mut().unwrap();
        execution.end.last = Some(access);
        execution.accesses_end = self.made.accesses.len();
    }
}

/// The lines of the lackey format.
struct Text {
    lines: BufReader<ChildStdout>,
    line: String,
}

impl Text {
    fn next(&mut self) -> Option<Access> {
        self.line.clear();
        if self.lines.read_line(&mut self.line).unwrap() == 0 {
            return None;
        }
        let line = &self.line;
        let access = || {
            let (kind, place) = line.trim().split_once(' ')?;
            let (address, bytes) = place.trim().split_once(',')?;
            Some(Access {
                kind: match kind {
                    "I" => Kind::Fetch,
                    "L" => Kind::Load,
                    "S" => Kind::Store,
                    _ => return None,
                },
                address: u64::from_str_radix(address, 16).ok()?,
                bytes: bytes.parse().ok()?,
            })
        };
        Some(access().unwrap_or_else(|| panic!("no line of lackey's: {line}")))
    }
}

/// The records of drmemtrace.
struct Records(BufReader<ChildStdout>);

#[derive(Debug)]
struct Record {
    kind: u16,
    size: u16,
    value: u64,
}

impl Record {
    const LOAD: u16 = 0;
    const STORE: u16 = 1;
    const INSTRUCTION: u16 = 10;
    /// The last of the jumps, which are also instructions.
    const CONDITIONAL_JUMP: u16 = 13;
    const THREAD: u16 = 22;
    const THREAD_EXIT: u16 = 23;
    const PROCESS: u16 = 24;
    const HEADER: u16 = 25;
    const FOOTER: u16 = 26;
    const MARKER: u16 = 28;
    /// Sizes of the markers with a page's physical address, and then with its virtual address.
    const PHYSICAL: u16 = 15;
    const VIRTUAL: u16 = 17;
}

impl Records {
    fn next(&mut self) -> Option<Record> {
        if self.0.fill_buf().unwrap().is_empty() {
            return None;
        }
        let mut bytes = [0; 12];
        self.0.read_exact(&mut bytes).expect("whole records");
        Some(Record {
            kind: u16::from_le_bytes([bytes[0], bytes[1]]),
            size: u16::from_le_bytes([bytes[2], bytes[3]]),
            value: u64::from_le_bytes(bytes[4..].try_into().unwrap()),
        })
    }
}
