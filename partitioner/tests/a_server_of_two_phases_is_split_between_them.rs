//! The whole search on a trace whose best split is known: two phases that each fill an L2.
//!
//! Every request enters `parse`, accesses one half of the data, enters `execute`, and accesses the
//! other half. On one core, each half evicts the other; on two, both stay. Between the two
//! functions that begin the phases are others that the rule must exclude, each for a different
//! reason.

use corehop_partitioner::candidates::CandidateRule;
use corehop_partitioner::progress::Silent;
use corehop_partitioner::{Error, Outcome, Settings, partition};
use corehop_simulator::{CoreId, Machine};
use corehop_traces::{
    CodeBlock, EndReason, Function, FunctionId, Header, Kind, Module, ThreadId, Trace, Writer,
    WriterOptions,
};
use std::path::Path;

const REQUESTS: u64 = 30;
/// Data lines accessed by a phase: with the lines of code, just within an L2 of 4096 lines.
const PHASE_LINES: u64 = 3000;

/// `parse` and `execute` begin the phases; the others must not be chosen.
const FUNCTIONS: [&str; 5] = [
    "parse",
    "execute",
    "called_twice",
    "called_rarely",
    "unpatchable",
];

fn code_address(function: usize) -> u64 {
    0x40_0000 + function as u64 * 0x1000
}

fn write_definitions(writer: &mut Writer) -> (ThreadId, Vec<u32>) {
    let module = Module {
        path: "/usr/sbin/served".into(),
        build_id: "00ff".into(),
        load_bias: 0,
        start: 0x40_0000,
        end: 0x50_0000,
    };
    let module = writer.module(&module).unwrap();
    let code_block = |(index, name): (usize, &&str)| {
        let function = Function {
            module,
            offset: code_address(index),
            size_bytes: 64,
            symbol: (*name).into(),
            name: (*name).into(),
            unpatchable: (*name == "unpatchable").then(|| "something jumps into it".into()),
        };
        let entry = writer.function(&function).unwrap();
        let block = CodeBlock::new(code_address(index), [4]);
        writer.code_block(&block, Some(entry)).unwrap()
    };
    let blocks = FUNCTIONS.iter().enumerate().map(code_block).collect();
    (writer.thread(1, 1).unwrap(), blocks)
}

fn trace(folder: &Path) -> Trace {
    let path = folder.join("two-phases.trace");
    let mut writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let (thread, blocks) = write_definitions(&mut writer);
    let reference = |writer: &mut Writer, first: u64| {
        for line in first..first + PHASE_LINES {
            writer
                .data(thread, 0, Kind::Load, 8, 0x1000_0000 + line * 64)
                .unwrap();
        }
    };
    for request in 0..REQUESTS {
        writer.stamp(thread, request).unwrap();
        writer.request(thread).unwrap();
        writer.execution(thread, blocks[0]).unwrap();
        reference(&mut writer, 0);
        let others = [2, 2, 4];
        for index in others
            .iter()
            .chain(if request % 2 == 0 { &[3] } else { &[][..] })
        {
            writer.execution(thread, blocks[*index]).unwrap();
        }
        writer.execution(thread, blocks[1]).unwrap();
        reference(&mut writer, PHASE_LINES);
    }
    writer.finish(EndReason::RequestsReached).unwrap();
    Trace::open(&path).unwrap()
}

fn search(settings: &Settings<'_>) -> Result<Outcome, Error> {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    partition(&trace(folder.path()), &[machine.into()], settings, &Silent)
}

fn settings() -> Settings<'static> {
    Settings {
        compare_fewer: true,
        ..Settings::default()
    }
}

#[test]
fn the_split_is_where_the_phases_begin_and_removes_every_miss() {
    let outcome = search(&settings()).unwrap();
    assert_eq!(
        outcome.split,
        [0, 1].map(|index| (FunctionId(index), CoreId(index)))
    );
    assert_eq!(outcome.candidates.chosen.len(), 2);
    let [unpatchable] = &outcome.candidates.unpatchable[..] else {
        panic!("{:?}", outcome.candidates);
    };
    assert_eq!(
        (unpatchable.function, &*unpatchable.reason),
        (FunctionId(4), "something jumps into it")
    );
    let candidates = &outcome.candidates;
    // The last of thirty requests is incomplete; ten are searched, nine warm up, and ten are held
    // out.
    assert_eq!(candidates.requests, 19);
    assert_eq!(
        (candidates.called_too_often, candidates.called_too_rarely),
        (1, 1)
    );
    assert_eq!(outcome.ranking.evaluated, 1);
    let held_out = outcome.evaluated.held_out.unwrap();
    assert_eq!(held_out.requests, 10);
    assert_eq!(held_out.split.l2.misses(), 0);
    // Cache sets with more lines than ways miss on every access, in each of the ten requests.
    assert!(
        held_out.baseline.l2.misses() > 10 * PHASE_LINES,
        "{:?}",
        held_out.baseline.l2
    );
    assert_eq!(held_out.hops, 20);
}

#[test]
fn more_cores_than_candidates_are_refused_with_the_counts() {
    let refused = search(&Settings {
        cores: 3,
        functions: 3,
        ..settings()
    })
    .unwrap_err()
    .to_string();
    assert!(
        refused.starts_with("2 groups of candidate functions, but 3 are needed"),
        "{refused}"
    );
}

#[test]
fn the_same_seed_gives_the_same_outcome_on_any_number_of_threads() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        format!("{:?}", pool.install(|| search(&settings()).unwrap()))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn candidates_close_to_each_other_are_one_group() {
    let rule = CandidateRule {
        group_within: 2 * PHASE_LINES,
        ..CandidateRule::default()
    };
    let refused = search(&Settings { rule, ..settings() })
        .unwrap_err()
        .to_string();
    assert!(
        refused.starts_with("1 group of candidate functions, but 2 are needed: widen the choice"),
        "{refused}"
    );
}
