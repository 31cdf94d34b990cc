//! Checks docs/internals/journey.md: its blocks must equal the results of the real code.
//!
//! The page follows one load from the plugin's word to a counter. This test builds the same example
//! with the crates, and compares each station with the page's block for it. After an intended
//! change of the code, the test prints the new text of the page.

mod file;

use corehop_simulator::{CacheLevel, Cause, CoreId, Geometry, LineId, Machine, Observer};
use corehop_simulator::{ReplayOptions, Replayer, Split, replay};
use corehop_traces::{
    CodeBlock, DataAccess, EndReason, Header, Kind, Trace, Writer, WriterOptions,
};
use corehop_wire::elision::{
    AccessForm, Address, BlockAccesses, CompletedAccess, PlainAccess, complete,
};
use corehop_wire::ring::word::{self, data_template, size_and_kind};
use corehop_wire::ring::{Drain, Event, Memory, Message, Piece, Settings, Sink, Stream};
use std::convert::Infallible;
use std::path::Path;

/// `push rbx; mov rax, [rdi]; add [rdi+8], rax; pop rbx; ret`
const CODE: [&[u8]; 5] = [
    &[0x53],
    &[0x48, 0x8b, 0x07],
    &[0x48, 0x01, 0x47, 0x08],
    &[0x5b],
    &[0xc3],
];
const START: u64 = 0x40_1000;
const CODE_BLOCK: u32 = 7;
const STACK: u64 = 0x7ffd_3b2e_8f58;
const FIRST_OBJECT: u64 = 0x7f5a_2c40_1a40;
const OBJECT_BYTES: u64 = 64;
const OBJECTS: u64 = 8;
const REQUESTS: u64 = 2;

/// The words that the recorder reads from the shared memory.
#[derive(Default)]
struct Read(Vec<u64>);

impl Sink for Read {
    type Error = Infallible;

    fn message(&mut self, _: Message) -> Result<(), Infallible> {
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), Infallible> {
        self.0.extend(piece.words().iter());
        Ok(())
    }
}

fn shown_access(access: &PlainAccess) -> String {
    let AccessForm {
        instruction,
        size_shift,
        store,
    } = access.form;
    let kind = if store { "store" } else { "load " };
    let known = match access.address {
        Address::Recorded => "recorded".into(),
        Address::FromCode(distance) => format!("code block {distance:+}"),
        Address::From { access, distance } => format!("access {access} {distance:+}"),
    };
    format!(
        "instruction {instruction}  {kind} {} bytes  {known}\n",
        1 << size_shift
    )
}

fn shown_word(word: u64) -> String {
    let event = match Event::decode(word).expect("a word that is written") {
        Event::Stamp(stamp) => format!("stamp {stamp}"),
        Event::Request(number) => format!("request {number}"),
        Event::ExecutionAt {
            code_block,
            address,
        } => {
            format!("code block {code_block} runs, first access at {address:#x}")
        }
        Event::Data {
            address,
            instruction,
            size_shift,
            store,
        } => {
            let kind = if store { "stores" } else { "loads" };
            let bytes = 1 << size_shift;
            format!("instruction {instruction} {kind} {bytes} bytes at {address:#x}")
        }
        other => panic!("{other:?} is no part of the example"),
    };
    format!("{word:#018x}  {event}\n")
}

/// Returns the words of the example, read through the shared memory.
fn recorded() -> Vec<u64> {
    let (memory, _file) = Memory::create(&Settings::default()).expect("shared memory");
    let mut stream = Stream::idle();
    stream.begin(&memory, 100, 101).expect("a free chunk");
    for request in 1..=REQUESTS {
        if request > 1 {
            assert!(stream.stamp(&memory));
        }
        assert!(stream.push(Event::Request(request).encode()));
        for object in 0..OBJECTS {
            let run = word::execution_at_template(CODE_BLOCK).expect("a small number");
            assert!(stream.push(word::at(run, STACK)));
            let load = data_template(1) | size_and_kind(3, false);
            let address = FIRST_OBJECT + object * OBJECT_BYTES;
            assert!(stream.push(word::at(load, address)));
        }
    }
    stream.end();
    let mut read = Read::default();
    let Ok(count) = Drain::new(&memory).pass(&mut read);
    assert_eq!(count, read.0.len() as u64);
    read.0
}

/// Returns the accesses of the execution in these two words, each with its address.
fn completed(accesses: &BlockAccesses, words: &[u64]) -> Vec<(AccessForm, u64)> {
    let (instruction, size_shift, store) = word::form_parts(word::form(words[1]));
    let seen = AccessForm {
        instruction,
        size_shift,
        store,
    };
    let parts = complete(START, &accesses.all, true, &[seen]);
    let address = |part: &CompletedAccess| {
        let from = part
            .word
            .map_or(0, |place| word::address(words[place as usize]));
        (part.form, from.wrapping_add(part.distance))
    };
    parts.iter().map(address).collect()
}

fn data_access((form, _): &(AccessForm, u64)) -> Option<DataAccess> {
    let kind = if form.store { Kind::Store } else { Kind::Load };
    DataAccess::new(form.instruction, kind, 1 << form.size_shift)
}

/// Writes the trace of these words as the recorder does.
fn write(path: &Path, accesses: &BlockAccesses, words: &[u64]) {
    let header = Header {
        created_by: "the journey".into(),
        ..Header::default()
    };
    let mut writer = Writer::create(path, &header, &WriterOptions::default()).expect("a writer");
    let lengths = CODE.map(|bytes| bytes.len() as u8);
    let block = CodeBlock::new(START, lengths);
    let block = writer.code_block(&block, None).expect("a code block");
    let thread = writer.thread(100, 101).expect("a thread");
    for (place, &one) in words.iter().enumerate() {
        match Event::decode(one).expect("a word that is written") {
            Event::Stamp(stamp) => writer.stamp(thread, stamp).expect("a larger stamp"),
            Event::Request(number) => {
                writer.numbered_request(thread, number).expect("a request");
            }
            Event::ExecutionAt { .. } => {
                let its = &words[place..place + 2];
                let all = completed(accesses, its);
                let data: Option<Vec<DataAccess>> = all.iter().map(data_access).collect();
                let template = writer.template(block, &data.expect("accesses of some bytes"));
                let addresses = all.iter().map(|&(_, address)| address);
                let template = template.expect("an access template");
                let written = writer.executed(thread, template, its, its.len(), addresses);
                written.expect("an execution");
            }
            _ => {}
        }
    }
    writer.finish(EndReason::ServerExited).expect("a trace");
}

/// The results of the accesses to one line.
#[derive(Default)]
struct Followed {
    lines: Vec<LineId>,
    misses: Vec<(LineId, CacheLevel, Cause)>,
}

impl Observer for Followed {
    fn accessed(&mut self, _: CoreId, _: Kind, line: LineId) {
        self.lines.push(line);
    }

    fn missed(&mut self, level: CacheLevel, _: CoreId, _: Kind, cause: Cause, line: LineId) {
        self.misses.push((line, level, cause));
    }
}

/// Returns the results of the load in the caches, and the total counts.
fn simulated(trace: &Trace) -> [String; 3] {
    let machine = Machine::named_or_path("xeon-e5-2620-v4").expect("a bundled machine");
    let set_partitions = Geometry::set_partition_count_of(&machine);
    let line = FIRST_OBJECT / 64;
    let sets = |bytes: u64, ways: u64| bytes / 64 / ways;
    let l1d = sets(machine.l1d.size_bytes, machine.l1d.ways.into());
    let l2 = sets(machine.l2.size_bytes, machine.l2.ways.into());
    let place = format!(
        "line          {line:#x}\nset partition {} of {set_partitions}\nL1D set       {} of {l1d}\n\
         L2 set        {} of {l2}\n",
        line % set_partitions,
        line % l1d,
        line % l2,
    );
    let split = Split::default();
    let mut replayer = Replayer::new(&machine, &split).expect("a machine that is large enough");
    let mut executions = trace.executions();
    let mut fates = String::new();
    while let Some(execution) = executions.next().expect("a readable trace") {
        let mut followed = Followed::default();
        replayer.execute_observed(&execution, &mut followed);
        let is_ours = |&&id: &&LineId| replayer.line_number(id) == line;
        let Some(&id) = followed.lines.iter().find(is_ours) else {
            continue;
        };
        let misses = followed.misses.iter().filter(|miss| miss.0 == id);
        let misses: Vec<String> = misses.map(|(_, l, why)| format!("{l:?} {why:?}")).collect();
        let fate = if misses.is_empty() {
            "hits L1D".into()
        } else {
            misses.join(", ")
        };
        fates += &format!("execution {:2}: {fate}\n", execution.number);
    }
    let replayed = replay(trace, &machine, &split, &ReplayOptions::default());
    let counters = replayed.expect("a replay").counters;
    let row = |name: &str, kinds: [(&str, u64, u64); 3]| {
        let cells = kinds.map(|(kind, accesses, misses)| format!("{kind} {accesses:2} / {misses}"));
        format!("{name}  {}\n", cells.join("   "))
    };
    let cells = |level: &corehop_simulator::LevelCounters| {
        [
            ("fetch", level.fetch),
            ("load", level.load),
            ("store", level.store),
        ]
        .map(|(kind, of)| (kind, of.accesses, of.misses.total()))
    };
    let counted = [
        ("L1I", &counters.l1i),
        ("L1D", &counters.l1d),
        ("L2 ", &counters.l2),
    ]
    .map(|(name, level)| row(name, cells(level)));
    [place, fates, counted.concat()]
}

/// Returns the fenced blocks of the page.
fn told() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/internals/journey.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let blocks = page.split("```").skip(1).step_by(2);
    let block = |block: &str| {
        block
            .split_once('\n')
            .map_or("", |(_, lines)| lines)
            .to_string()
    };
    blocks.map(block).collect()
}

#[test]
fn the_page_says_what_the_code_does() {
    let accesses = BlockAccesses::of(START, CODE.into_iter(), false);
    let words = recorded();
    let first = words.iter().position(|&word| word::is_execution(word));
    let first = first.expect("an execution");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journey.trace");
    write(&path, &accesses, &words);
    let file = file::columns(&std::fs::read(&path).expect("the trace"));
    let trace = Trace::open(&path).expect("a trace");
    let completed = completed(&accesses, &words[first..first + 2]);
    let shown = |(form, address): &(AccessForm, u64)| {
        let kind = if form.store { "store" } else { "load " };
        format!("instruction {}  {kind} {address:#x}\n", form.instruction)
    };
    let [place, fates, counted] = simulated(&trace);
    let stations = [
        accesses.all.iter().map(shown_access).collect(),
        words[..first + 4]
            .iter()
            .map(|&word| shown_word(word))
            .collect(),
        completed.iter().map(shown).collect(),
        file.template,
        file.matches,
        file.chunk,
        place,
        fates,
        counted,
    ];
    let told = told();
    for (place, station) in stations.iter().enumerate() {
        println!("station {}, as the code has it:\n{station}", 1 + place);
    }
    // The first block is the program.
    for (place, station) in stations.iter().enumerate() {
        let page = told.get(1 + place).map_or("", String::as_str);
        assert_eq!(page, station, "station {}", 1 + place);
    }
    assert_eq!(told.len(), 1 + stations.len());
}
