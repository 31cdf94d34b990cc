//! The profile for BOLT has every taken branch and every stretch between two, as a naive count of
//! instructions finds them.

use corehop_traces::convert::bolt::Profile;
use corehop_traces::{
    CodeBlock, EndReason, Header, Kind, Module, RequestId, ThreadId, Trace, Writer, WriterOptions,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const BIAS: u64 = 0x40_0000;
/// Outside of the module.
const ELSEWHERE: u64 = 0x7000_0000;

/// Code blocks, of which some follow directly on others: sizes of their instructions.
const BLOCKS: [(u64, &[u8]); 6] = [
    (BIAS + 0x1000, &[4, 2]),
    (BIAS + 0x1006, &[1]),
    (BIAS + 0x1007, &[3, 3, 5]),
    (BIAS + 0x2000, &[2]),
    (ELSEWHERE, &[4, 4]),
    (ELSEWHERE + 8, &[2]),
];

#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    /// The request that begins before it is the next one, or a later one.
    request: Option<u64>,
    block: usize,
    /// What the last instruction of the block accesses, and how many bytes.
    data: Vec<(Kind, u16)>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let request = prop_oneof![8 => Just(None), 1 => Just(Some(1)), 1 => Just(Some(3))];
    let data = prop::sample::select(vec![
        vec![],
        vec![],
        vec![(Kind::Load, 8)],
        vec![(Kind::Store, 8)],
        vec![(Kind::Load, 8), (Kind::Store, 8)],
        vec![(Kind::Load, 4)],
    ]);
    let step = (0usize..2, request, 0..BLOCKS.len(), data);
    let step = step.prop_map(|(thread, request, block, data)| Step {
        thread,
        request,
        block,
        data,
    });
    prop::collection::vec(step, 0..80)
}

fn module() -> Module {
    Module {
        path: "/usr/bin/server".into(),
        build_id: "0a1b".into(),
        load_bias: BIAS,
        start: BIAS + 0x1000,
        end: BIAS + 0x3000,
    }
}

fn record(path: &Path, steps: &[Step]) -> Trace {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default()).unwrap();
    writer.module(&module()).unwrap();
    let blocks = BLOCKS.map(|(start, sizes)| {
        let block = CodeBlock::new(start, sizes.iter().copied());
        writer.code_block(&block, None).unwrap()
    });
    let threads = [1, 2].map(|id| writer.thread(1, id).unwrap());
    let mut number = 0;
    for (stamp, step) in (1..).zip(steps) {
        let thread = threads[step.thread];
        writer.stamp(thread, stamp).unwrap();
        if let Some(later) = step.request {
            number += later;
            writer.numbered_request(thread, number).unwrap();
        }
        writer.execution(thread, blocks[step.block]).unwrap();
        let last = BLOCKS[step.block].1.len() as u16 - 1;
        for &(kind, size_bytes) in &step.data {
            writer.data(thread, last, kind, size_bytes, 0x9000).unwrap();
        }
    }
    writer.finish(EndReason::ServerExited).unwrap();
    Trace::open(path).unwrap()
}

/// An instruction: its place in the trace, its address, the address behind it, the request, and
/// its loads and stores.
#[derive(Clone)]
struct Instruction {
    place: usize,
    address: u64,
    behind: u64,
    request: Option<RequestId>,
    data: Vec<(Kind, u16)>,
}

/// Returns the lines of the profile, by counting instruction after instruction.
fn naive(trace: &Trace) -> BTreeMap<String, u64> {
    let mut threads = BTreeMap::<ThreadId, Vec<Instruction>>::new();
    let mut executions = trace.executions();
    let mut place = 0;
    while let Some(execution) = executions.next().unwrap() {
        let all = threads.entry(execution.thread).or_default();
        let mut address = trace.code_blocks()[execution.code_block as usize].start;
        for instruction in &trace.code_blocks()[execution.code_block as usize].instructions {
            let behind = address + u64::from(instruction.size_bytes);
            let own = execution.accesses.iter();
            let own = own.filter(|of| of.kind != Kind::Fetch && of.pc == address);
            all.push(Instruction {
                place,
                address,
                behind,
                request: execution.request,
                data: own.map(|of| (of.kind, of.size_bytes)).collect(),
            });
            address = behind;
            place += 1;
        }
    }
    let numbers: Vec<u64> = trace.requests().iter().map(|r| r.number.unwrap()).collect();
    let calls = calls(&threads, &numbers);
    let place = |address: u64| match (BIAS + 0x1000..BIAS + 0x3000).contains(&address) {
        true => format!("{:x}", address - BIAS),
        false => "X:0".into(),
    };
    let mut lines = BTreeMap::new();
    let mut add = |line: String| *lines.entry(line).or_default() += 1;
    for all in threads.values() {
        let (mut since, mut kind) = (all[0].address, 'F');
        for pair in all.windows(2) {
            let [from, to] = [&pair[0], &pair[1]];
            if is_gap(&numbers, from, to) {
                (since, kind) = (to.address, 'F');
                continue;
            }
            if to.address == from.behind {
                continue;
            }
            let [source, target] = [place(from.address), place(to.address)];
            if [&source, &target] != ["X:0", "X:0"] {
                add(format!("B {source} {target}"));
            }
            let stretch = [place(since), source];
            if !stretch.contains(&"X:0".to_owned()) {
                add(format!("{kind} {}", stretch.join(" ")));
            }
            let is_behind_call =
                |&(place, behind): &(usize, u64)| place < to.place && behind == to.address;
            let returns = from.data == [(Kind::Load, 8)] && calls.iter().any(is_behind_call);
            (since, kind) = (to.address, if returns { 'f' } else { 'F' });
        }
    }
    lines
}

/// Whether requests between two instructions of a thread were not recorded.
fn is_gap(numbers: &[u64], before: &Instruction, now: &Instruction) -> bool {
    let all_are_recorded = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let number = |of: &Instruction| of.request.map(|request| numbers[request.index()]);
    match (number(before), number(now)) {
        (Some(before), Some(now)) => !all_are_recorded && before != now && before + 1 != now,
        _ => false,
    }
}

/// Returns the places of calls that are known when the next instruction runs, and the addresses
/// behind them.
fn calls(threads: &BTreeMap<ThreadId, Vec<Instruction>>, numbers: &[u64]) -> Vec<(usize, u64)> {
    let mut found = Vec::new();
    for all in threads.values() {
        for pair in all.windows(2) {
            let [from, to] = [&pair[0], &pair[1]];
            let is_call = from.data.contains(&(Kind::Store, 8)) && to.address != from.behind;
            if is_call && !is_gap(numbers, from, to) {
                // Known with the next instruction of its thread.
                found.push((to.place, from.behind));
            }
        }
    }
    found
}

fn profile(trace: &Trace) -> (String, u64) {
    let mut profile = Profile::new(trace);
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        profile.execution(&execution);
    }
    let mut text = Vec::new();
    let taken = profile.write(&module(), &mut text).unwrap();
    (String::from_utf8(text).unwrap(), taken)
}

proptest! {
    #[test]
    fn every_branch_and_stretch_is_counted(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let trace = record(&folder.path().join("server.trace"), &steps);
        let (text, taken) = profile(&trace);
        let mut lines = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let count = words[3].parse::<u64>().unwrap();
            let has_mispredictions = words.get(4) == Some(&"0");
            prop_assert_eq!(has_mispredictions, words[0] == "B");
            prop_assert_eq!(lines.insert(words[..3].join(" "), count), None);
        }
        let expected = naive(&trace);
        let branches = expected.iter().filter(|(line, _)| line.starts_with('B'));
        prop_assert_eq!(branches.map(|(_, count)| count).sum::<u64>(), taken);
        prop_assert_eq!(lines, expected);
    }
}

#[test]
fn the_busiest_module_is_the_one_with_the_most_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.trace");
    let mut writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let library = Module {
        path: "/usr/lib/library.so".into(),
        start: ELSEWHERE,
        end: ELSEWHERE + 4096,
        ..module()
    };
    for module in [&library, &module()] {
        writer.module(module).unwrap();
    }
    let [long, short] = [(BIAS + 0x1000, 5), (ELSEWHERE, 2)].map(|(start, instructions)| {
        let block = CodeBlock::new(start, std::iter::repeat_n(4, instructions));
        writer.code_block(&block, None).unwrap()
    });
    let thread = writer.thread(1, 1).unwrap();
    writer.stamp(thread, 1).unwrap();
    for block in [short, long, short] {
        writer.execution(thread, block).unwrap();
    }
    writer.finish(EndReason::ServerExited).unwrap();
    let trace = Trace::open(&path).unwrap();
    let mut profile = Profile::new(&trace);
    assert_eq!(profile.busiest(), None);
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        profile.execution(&execution);
    }
    assert_eq!(profile.busiest(), Some(&module()));
}
