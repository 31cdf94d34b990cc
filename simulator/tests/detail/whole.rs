//! Traces replayed in detail: the sums of the parts equal the totals of the replay.

use crate::detail::recorded::{BLOCKS, FUNCTIONS, record, segments};
use crate::numbered::split as split_of;
use crate::steps::{Step, steps_of};
use corehop_plan::Mode;
use corehop_simulator::detail::{
    CodeOwner, Cost, Detail, Losses, Segments, replay_by_function, replay_in_detail,
};
use corehop_simulator::{Counters, Machine, Replay, ReplayOptions, Split, replay};
use corehop_traces::{FunctionId, RequestId};
use proptest::collection::vec;
use proptest::prelude::*;

/// A machine of four cores with these caches.
fn machine(levels: &str) -> Machine {
    let toml = format!(
        "name = \"tiny\"\ncores = 4\nline_size_bytes = 64\nmemory_latency_cycles = 200\n\
         hop_cost_cycles = 1000\n{levels}"
    );
    Machine::from_toml(&toml, "tiny.toml".as_ref()).unwrap()
}

fn machines() -> [Machine; 4] {
    let l1s = "l1i = { size_bytes = 128, ways = 1, latency_cycles = 4 }\n\
               l1d = { size_bytes = 128, ways = 2, latency_cycles = 4 }\n";
    [
        "l2 = { size_bytes = 512, ways = 2, latency_cycles = 12 }\n\
         l3 = { size_bytes = 2048, ways = 4, latency_cycles = 40 }",
        "l2 = { size_bytes = 512, ways = 4, latency_cycles = 12 }",
        "l2 = { size_bytes = 512, ways = 8, latency_cycles = 12, shared_by = 2, \
         inclusion = \"non-inclusive\" }\n\
         l3 = { size_bytes = 1024, ways = 2, latency_cycles = 40, inclusion = \"exclusive\" }",
        "l2 = { size_bytes = 256, ways = 2, latency_cycles = 12, policy = \"plru\" }\n\
         l3 = { size_bytes = 1024, ways = 4, latency_cycles = 40, \
         inclusion = \"non-inclusive\" }",
    ]
    .map(|outer| machine(&format!("{l1s}{outer}")))
}

fn detail(
    steps: &[Step],
    machine: &Machine,
    split: &Split,
    named: &[u32],
    warm_up_requests: usize,
) -> (Replay, Replay, Detail) {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(&folder.path().join("server.trace"), 2, steps).unwrap();
    let segments = match named {
        [] => Segments::default(),
        named => segments(&trace, named, Mode::Enter),
    };
    let options = ReplayOptions {
        warm_up_requests,
        ..ReplayOptions::default()
    };
    let whole = replay(&trace, machine, split, &options).unwrap();
    let (detailed, detail) = replay_in_detail(&trace, machine, split, &segments, &options).unwrap();
    let by_function = replay_by_function(&trace, machine, split, &options).unwrap();
    assert_eq!(by_function.replay, detailed);
    assert_eq!(by_function.functions, detail.functions);
    (whole, detailed, detail)
}

/// Requests of two phases, f1 and f2, each loading this many lines that only it uses.
fn phases(requests: u32, lines: u64) -> Vec<Step> {
    let step = |phase: u32| Step {
        thread: 0,
        begins_request: phase == 1,
        block: phase,
        data: (0..lines)
            .map(|line| (u64::from(phase) << 16 | line << 6, false))
            .collect(),
    };
    (0..requests).flat_map(|_| [step(1), step(2)]).collect()
}

/// One-line L1s, so that the L2 of three lines sees every access.
fn three_lines() -> Machine {
    machine(
        "l1i = { size_bytes = 64, ways = 1, latency_cycles = 4 }\n\
         l1d = { size_bytes = 64, ways = 1, latency_cycles = 4 }\n\
         l2 = { size_bytes = 192, ways = 3, latency_cycles = 12 }",
    )
}

fn l2_misses(detail: &Detail) -> Vec<u64> {
    let of_segments = detail.segments.iter();
    of_segments.map(|cost| cost.counters.l2.misses()).collect()
}

#[test]
fn two_phases_that_fit_alone_lose_every_line_to_each_other() {
    // Each phase is a line of code and two of data. The first request is the warm-up.
    let steps = phases(11, 2);
    let (_, replay, told) = detail(&steps, &three_lines(), &Split::default(), &[1, 2], 1);
    assert_eq!(l2_misses(&told), [0, 30, 30]);
    let Losses {
        lost,
        touched_by_others,
    } = &told.interference.capacity;
    assert_eq!(*lost, [[0, 0, 0], [0, 0, 30], [0, 30, 0]]);
    assert_eq!(*touched_by_others, [0, 0, 0]);
    assert_eq!(replay.counters.cycles, 60 * 200);

    let own_cores = split_of([(1, 0), (2, 1)]);
    let (_, _, told) = detail(&steps, &three_lines(), &own_cores, &[1, 2], 1);
    assert_eq!(l2_misses(&told), [0, 0, 0]);
    // Each of the two hops of a request is counted for its destination: 1000 cycles, plus one L1I
    // hit and two L2 hits.
    let cycles = told.segments.iter().map(|cost| cost.counters.cycles);
    assert_eq!(cycles.collect::<Vec<_>>(), [0, 10 * 1028, 10 * 1028]);
    let entries: Vec<u64> = told.segments.iter().map(|cost| cost.entries).collect();
    assert_eq!(entries, [0, 10, 10]);
}

#[test]
fn instructions_are_counted_once_the_warm_up_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let trace = record(&folder.path().join("server.trace"), 1, &phases(11, 2)).unwrap();
    let each = |block: usize| trace.code_blocks()[block].instructions.len() as u64;
    for warm_up_requests in [0, 1, 10] {
        let options = ReplayOptions {
            warm_up_requests,
            ..ReplayOptions::default()
        };
        let split = Split::default();
        let told = replay_by_function(&trace, &three_lines(), &split, &options).unwrap();
        let counted = 11 - warm_up_requests as u64;
        assert_eq!(told.instructions, counted * (each(1) + each(2)));
        assert_eq!(told.replay.requests, counted);
    }
}

#[test]
fn lines_that_two_cores_store_to_are_lost_to_the_other_ones_stores() {
    let step = |phase: u32| Step {
        thread: 0,
        begins_request: phase == 1,
        block: phase,
        data: vec![(0x9000, true)],
    };
    let steps: Vec<Step> = (0..5).flat_map(|_| [step(1), step(2)]).collect();
    let own_cores = split_of([(1, 0), (2, 1)]);
    let (_, _, told) = detail(&steps, &three_lines(), &own_cores, &[1, 2], 1);
    assert_eq!(
        told.interference.coherence.lost,
        [[0, 0, 0], [0, 0, 4], [0, 4, 0]]
    );
    let taken = told
        .segments
        .iter()
        .map(|cost| cost.counters.invalidated_lines);
    assert_eq!(taken.collect::<Vec<_>>(), [0, 4, 4]);

    // Each core references its line of code, and the shared line that both store to.
    for (core, used) in told.cores.iter().enumerate() {
        let lines = (used.lines, used.shared_lines, used.contended_lines);
        assert_eq!(lines, (2, 1, 1));
        let [code] = &used.code[..] else {
            panic!("{:?}", used.code);
        };
        assert_eq!(
            (code.owner, code.accesses),
            (CodeOwner::Function(FunctionId(core as u32 + 1)), 8)
        );
        let sets = used
            .working_sets
            .iter()
            .map(|set| (set.request.0, set.lines));
        assert_eq!(sets.collect::<Vec<_>>(), [(1, 2), (2, 2), (3, 2)]);
    }
    let lost = told.cores.iter().map(|used| &used.lost_lines_to[..]);
    assert_eq!(lost.collect::<Vec<_>>(), [[0, 4], [4, 0]]);
}

#[test]
fn code_is_told_by_function_and_what_is_none_by_module() {
    let block = |block: u32| Step {
        thread: 0,
        begins_request: false,
        block,
        data: Vec::new(),
    };
    let inner = FUNCTIONS;
    let steps = [0, inner, inner, 3, inner + 3, BLOCKS - 2, BLOCKS - 1].map(block);
    let (_, _, told) = detail(&steps, &three_lines(), &Split::default(), &[], 0);
    let mut told: Vec<_> = told
        .functions
        .iter()
        .map(|function| {
            let Cost {
                entries, counters, ..
            } = function.cost;
            (
                function.owner,
                entries,
                counters.l1i.accesses(),
                counters.l1i.misses(),
            )
        })
        .collect();
    told.sort_by_key(|told| format!("{:?}", told.0));
    let expected = [
        (CodeOwner::Elsewhere, 0, 1, 1),
        (CodeOwner::Function(FunctionId(0)), 1, 3, 2),
        (CodeOwner::Function(FunctionId(3)), 1, 2, 2),
        (CodeOwner::Module(0), 0, 1, 1),
    ];
    assert_eq!(told, expected);
}

#[test]
fn working_sets_are_of_whole_requests_that_are_counted() {
    let (_, _, told) = detail(&phases(4, 2), &three_lines(), &Split::default(), &[], 1);
    let sets = &told.working_sets;
    // The last request is truncated; the first one is the warm-up.
    assert_eq!(
        sets.iter().map(|set| set.request).collect::<Vec<_>>(),
        [RequestId(1), RequestId(2)]
    );
    assert_eq!(
        (sets[0].code_lines, sets[0].data_lines, sets[0].lines),
        (2, 4, 6)
    );
    assert_eq!(sets[0].shared_with_previous_lines, Some(6));
}

#[test]
fn a_delegated_call_is_a_segment_after_which_the_interrupted_one_goes_on() {
    let step = |block: u32, data: &[(u64, bool)]| Step {
        thread: 0,
        begins_request: block == 1,
        block,
        data: data.to_vec(),
    };
    // f1 calls f2, which returns to it.
    let request = [
        step(1, &[(0x9000, true)]),
        step(2, &[(0x9000, false)]),
        step(FUNCTIONS + 1, &[]),
    ];
    let steps = [request.clone(), request].concat();
    let folder = tempfile::tempdir().unwrap();
    let trace = record(&folder.path().join("server.trace"), 1, &steps).unwrap();
    let split = split_of([(2, 1)]).delegating([FunctionId(2)]);
    let options = ReplayOptions::default();
    let told = |mode| {
        let segments = segments(&trace, &[2], mode);
        replay_in_detail(&trace, &three_lines(), &split, &segments, &options).unwrap()
    };
    let accesses = |told: &Detail| {
        let of_segments = told.segments.iter();
        let of_segments = of_segments.map(|cost| (cost.entries, cost.counters.accesses()));
        of_segments.collect::<Vec<_>>()
    };
    let (replay, called) = told(Mode::Call);
    assert_eq!(replay.hops, 4);
    let per_core = replay.per_core.iter().map(Counters::accesses);
    assert_eq!(per_core.collect::<Vec<_>>(), [6, 4]);
    assert_eq!(accesses(&called), [(0, 6), (2, 4)]);
    assert_eq!(accesses(&told(Mode::Enter).1), [(0, 2), (2, 8)]);
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let data = vec((0u64..3000, any::<bool>()), 0..4);
    vec(steps_of(0u32..2, 0.2, 0..BLOCKS, data), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_parts_add_up_to_the_totals(
        steps in steps(),
        machine in prop::sample::select(machines().to_vec()),
        split in vec((0..FUNCTIONS, 0u32..4), 0..3),
        delegated in prop::sample::subsequence((0..FUNCTIONS).collect::<Vec<_>>(), 0..=4),
        named in prop::sample::subsequence((0..FUNCTIONS).collect::<Vec<_>>(), 0..=3),
        warm_up in 0usize..2,
    ) {
        let requests = steps.iter().filter(|step| step.begins_request).count();
        let warm_up = if requests > warm_up { warm_up } else { 0 };
        let split = split_of(split).delegating(delegated.into_iter().map(FunctionId));
        let (whole, replay, told) = detail(&steps, &machine, &split, &named, warm_up);
        prop_assert_eq!(&replay, &whole);

        let all = replay.counters;
        let functions = told.functions.iter().map(|function| function.cost.counters);
        prop_assert_eq!(functions.sum::<Counters>(), all);
        let segments = told.segments.iter().map(|segment| segment.counters);
        prop_assert_eq!(segments.sum::<Counters>(), all);

        for (segment, cost) in told.segments.iter().enumerate() {
            let causes = cost.counters.l2.causes();
            prop_assert_eq!(told.interference.capacity.of(segment), causes.capacity);
            prop_assert_eq!(told.interference.coherence.of(segment), causes.coherence);
        }

        prop_assert_eq!(told.cores.len(), replay.per_core.len());
        for (used, counters) in told.cores.iter().zip(&replay.per_core) {
            let accesses = used.code.iter().map(|code| code.accesses);
            prop_assert_eq!(accesses.sum::<u64>(), counters.accesses());
            let lost: u64 = used.lost_lines_to.iter().sum();
            prop_assert_eq!(lost, counters.invalidated_lines);
            prop_assert!(used.contended_lines <= used.shared_lines);
            prop_assert!(used.shared_lines <= used.lines);
        }

        let distances = &told.reuse_distances;
        prop_assert_eq!(distances.fetches.accesses(), all.l1i.accesses());
        prop_assert_eq!(distances.data.accesses(), all.l1d.accesses());
    }
}
