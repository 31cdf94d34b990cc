//! Checks that blocks played in any order, with their runs sorted, give the references of the
//! trace's executions. Compares lines, threads, requests, function entries and ends of calls.

use crate::streams::{THREADS, code_blocks, fit, mappings, pages, steps, write_machine};
use corehop_traces::{
    Calls, FunctionId, Index, Kind, LineReference, Listener, Played, Player, RequestId, ThreadId,
    Trace,
};
use proptest::prelude::*;

/// What a listener receives in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slice {
    request: Option<RequestId>,
    number: u64,
    returned: bool,
    entered: Option<FunctionId>,
    executions: u32,
    references: Vec<LineReference>,
}

/// The runs of a block, each with its stamp.
#[derive(Default)]
struct Runs {
    runs: Vec<(u64, Vec<Slice>)>,
    /// References by kind, as reported by the player and as counted.
    counts: [u64; 3],
    counted: [u64; 3],
}

impl Listener for Runs {
    fn run(&mut self, stamp: u64) {
        self.runs.push((stamp, Vec::new()));
    }

    fn played(&mut self, played: Played<'_>) {
        let slice = Slice {
            request: played.request,
            number: played.number,
            returned: played.returned,
            entered: played.entered,
            executions: played.executions,
            references: played.references.to_vec(),
        };
        if played.executions > 0 {
            assert_eq!(self.counts, self.counted, "up to {slice:?}");
        }
        for (count, more) in self.counts.iter_mut().zip(played.counts) {
            *count += more;
        }
        for reference in played.references {
            self.counted[reference.kind() as usize] += 1;
        }
        self.runs
            .last_mut()
            .expect("a run begins first")
            .1
            .push(slice);
    }
}

/// Plays all blocks, the last one first, and sorts their runs: thread and slices.
fn replay(
    trace: &Trace,
    requests: Option<&[RequestId]>,
    breaks: &[bool],
    calls: Option<&Calls>,
) -> Vec<(ThreadId, Vec<Slice>)> {
    let player = Player::new(trace, requests, breaks).unwrap();
    let mut player = player.following(calls);
    let mut runs = Vec::new();
    for (place, chunk) in trace.chunks(requests).into_iter().enumerate().rev() {
        let mut own = Runs::default();
        player.play(chunk, &mut own).unwrap();
        assert_eq!(own.counts, own.counted);
        for (stamp, slices) in own.runs {
            runs.push(((stamp, chunk.thread, place), slices));
        }
    }
    runs.sort_by_key(|(order, _)| *order);
    let in_order = runs.into_iter();
    in_order
        .map(|((_, thread, _), slices)| (thread, slices))
        .collect()
}

/// An execution: thread and number, request, function entered, and references.
type Seen = (
    (ThreadId, u64),
    Option<RequestId>,
    Option<FunctionId>,
    Vec<LineReference>,
);

fn executions(trace: &Trace, requests: Option<&[RequestId]>) -> Vec<Seen> {
    let mut executions = trace.executions_chosen(requests);
    let mut seen = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        let accesses = execution.accesses.iter();
        let references = accesses.flat_map(|access| {
            access
                .lines()
                .map(|line| LineReference::new(line, access.kind))
        });
        let references = references.collect();
        seen.push((
            (execution.thread, execution.number),
            execution.request,
            execution.entry,
            references,
        ));
    }
    seen
}

/// Checks that the slices consist of exactly these executions.
fn compare(
    trace: &Trace,
    requests: Option<&[RequestId]>,
    breaks: &[bool],
    follow: bool,
) -> Result<(), TestCaseError> {
    let expected = executions(trace, requests);
    let mut expected = expected.iter().peekable();
    let breaks_at = |entry: &FunctionId| breaks.get(entry.index()) == Some(&true);
    let calls = Calls::of(trace, breaks).unwrap();
    let ended = |thread, number| {
        let mut of_thread = calls.of_thread(thread).iter();
        of_thread.any(|call| call.ends == Some(number))
    };
    let calls = follow.then_some(&calls);
    for (thread, slices) in replay(trace, requests, breaks, calls) {
        let mut left_over: Vec<LineReference> = Vec::new();
        for slice in slices {
            if slice.executions > 0 {
                prop_assert_eq!(left_over.len(), 0);
            } else {
                prop_assert!(!slice.returned);
            }
            for place in 0..slice.executions {
                let (at, request, entry, references) = expected.next().unwrap();
                let number = slice.number + u64::from(place);
                prop_assert_eq!((*at, *request), ((thread, number), slice.request));
                let returned = slice.returned && place == 0;
                prop_assert_eq!(returned, follow && ended(thread, number));
                let told = slice.entered.filter(|_| place == 0);
                prop_assert_eq!(entry.filter(breaks_at), told);
                left_over.extend(references);
            }
            prop_assert!(!slice.references.is_empty());
            let length = slice.references.len().min(left_over.len());
            prop_assert_eq!(&slice.references[..], &left_over[..length]);
            left_over.drain(..length);
        }
        prop_assert_eq!(left_over.len(), 0);
    }
    prop_assert!(expected.next().is_none());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_runs_of_all_blocks_in_order_are_the_executions_of_the_trace(
        blocks in code_blocks(),
        mut steps in steps(),
        (mappings, pages, by_physical) in (mappings(), pages(), any::<bool>()),
        executions_per_chunk in prop_oneof![1usize..20, Just(1 << 20)],
        wanted in prop::collection::vec((0u32..10).prop_map(RequestId), 0..3),
        breaks in prop::collection::vec(any::<bool>(), 0..4),
    ) {
        fit(&mut steps, &blocks);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.trace");
        let memory = (&mappings[..], &pages[..]);
        write_machine(&path, &blocks, &steps, executions_per_chunk, memory);
        let mut trace = Trace::open(&path).unwrap();
        trace.index_by(if by_physical { Index::Physical } else { Index::Virtual });
        for follow in [false, true] {
            compare(&trace, None, &breaks, follow)?;
            compare(&trace, Some(&wanted), &breaks, follow)?;
        }
        let executions: u64 = trace.chunks(None).iter().map(|b| u64::from(b.executions)).sum();
        prop_assert_eq!(executions, trace.execution_count());
        let order: Vec<_> = trace.chunks(None);
        prop_assert!(order.is_sorted_by_key(|block| (block.first_stamp, block.thread)));
        let used = order.iter().map(|chunk| chunk.thread.index());
        prop_assert!(used.max().is_none_or(|last| last < THREADS));
    }
}

#[test]
fn a_reference_is_a_line_and_a_kind() {
    for kind in [Kind::Fetch, Kind::Load, Kind::Store] {
        for line in [0, 1, u64::MAX >> 6] {
            let reference = LineReference::new(line, kind);
            assert_eq!((reference.line(), reference.kind()), (line, kind));
        }
    }
}

#[test]
fn the_bundled_sample_plays_the_references_of_its_executions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/mariadb-tpcc.trace");
    let trace = Trace::open(path.as_ref()).unwrap();
    let requests: Vec<RequestId> = (40..60).map(RequestId).collect();
    let breaks: Vec<bool> = (0..trace.functions().len()).map(|f| f % 5 == 0).collect();
    compare(&trace, Some(&requests), &breaks, false).unwrap();
}
