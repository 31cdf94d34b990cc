//! Checks that a stripped player drops a reference only if an earlier one in the same piece is to
//! the same line. Within a piece no thread can change core. Dropped references are still counted.

use crate::streams::{code_blocks, fit, mappings, pages, steps, write_machine};
use corehop_traces::{
    Calls, FunctionId, Index, Kind, LineReference, Listener, Played, Player, RequestId, Trace,
};
use proptest::prelude::*;

/// A piece played without interruption: its start, its reported properties, and its references.
#[derive(Debug, Default)]
struct Piece {
    request: Option<RequestId>,
    number: u64,
    entered: Option<FunctionId>,
    returned: bool,
    executions: u64,
    counts: [u64; 3],
    references: Vec<LineReference>,
}

impl Piece {
    fn told(
        &self,
    ) -> (
        Option<RequestId>,
        u64,
        Option<FunctionId>,
        bool,
        u64,
        [u64; 3],
    ) {
        let Piece {
            request,
            number,
            entered,
            returned,
            executions,
            counts,
            ..
        } = self;
        (*request, *number, *entered, *returned, *executions, *counts)
    }
}

#[derive(Default)]
struct Pieces {
    pieces: Vec<Piece>,
    interrupted: bool,
}

impl Listener for Pieces {
    fn run(&mut self, _: u64) {
        self.interrupted = true;
    }

    fn played(&mut self, played: Played<'_>) {
        let same_request = self
            .pieces
            .last()
            .is_some_and(|last| last.request == played.request);
        let goes_on = played.entered.is_none() && !played.returned && same_request;
        if std::mem::take(&mut self.interrupted) || !goes_on {
            self.pieces.push(Piece {
                request: played.request,
                number: played.number,
                entered: played.entered,
                returned: played.returned,
                ..Piece::default()
            });
        }
        let piece = self.pieces.last_mut().unwrap();
        piece.executions += u64::from(played.executions);
        (0..3).for_each(|kind| piece.counts[kind] += played.counts[kind]);
        piece.references.extend(played.references);
    }
}

/// Returns whether all references follow from the stripped ones.
fn tells(all: &[LineReference], stripped: &[LineReference], set_partitions: u64) -> bool {
    let mut rest = stripped.iter().peekable();
    let mut last: Vec<Option<LineReference>> = vec![None; set_partitions as usize];
    for reference in all {
        let last = &mut last[(reference.line() % set_partitions) as usize];
        let stored = Some(LineReference::new(reference.line(), Kind::Store));
        let is_told =
            *last == Some(*reference) || (reference.kind() == Kind::Load && *last == stored);
        if rest.next_if_eq(&reference).is_none() && !is_told {
            return false;
        }
        *last = if is_told { *last } else { Some(*reference) };
    }
    rest.next().is_none()
}

fn play(mut player: Player<'_>, trace: &Trace, requests: Option<&[RequestId]>) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    for chunk in trace.chunks(requests) {
        pieces.interrupted = true;
        player.play(chunk, &mut pieces).unwrap();
    }
    pieces.pieces
}

/// Returns the number of references, and the number when stripped.
fn compare(
    trace: &Trace,
    requests: Option<&[RequestId]>,
    breaks: &[bool],
    calls: Option<&Calls>,
    set_partitions: u64,
) -> Result<(usize, usize), TestCaseError> {
    let player = || {
        Player::new(trace, requests, breaks)
            .unwrap()
            .following(calls)
    };
    let all = play(player(), trace, requests);
    let stripped = play(player().stripped(set_partitions), trace, requests);
    prop_assert_eq!(all.len(), stripped.len());
    let mut counts = (0, 0);
    for (all, stripped) in all.iter().zip(&stripped) {
        prop_assert_eq!(all.told(), stripped.told());
        prop_assert!(
            tells(&all.references, &stripped.references, set_partitions),
            "{all:?} {stripped:?}"
        );
        counts.0 += all.references.len();
        counts.1 += stripped.references.len();
    }
    Ok(counts)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_left_out_follows_from_what_is_told(
        blocks in code_blocks(),
        mut steps in steps(),
        (mappings, pages, by_physical) in (mappings(), pages(), any::<bool>()),
        executions_per_chunk in prop_oneof![1usize..20, Just(1 << 20)],
        wanted in prop::collection::vec((0u32..10).prop_map(RequestId), 0..3),
        breaks in prop::collection::vec(any::<bool>(), 0..4),
        set_partitions in (0u32..=6).prop_map(|shift| 1 << shift),
    ) {
        fit(&mut steps, &blocks);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.trace");
        let memory = (&mappings[..], &pages[..]);
        write_machine(&path, &blocks, &steps, executions_per_chunk, memory);
        let mut trace = Trace::open(&path).unwrap();
        trace.index_by(if by_physical { Index::Physical } else { Index::Virtual });
        let calls = Calls::of(&trace, &breaks).unwrap();
        for calls in [None, Some(&calls)] {
            compare(&trace, None, &breaks, calls, set_partitions)?;
            compare(&trace, Some(&wanted), &breaks, calls, set_partitions)?;
        }
    }
}

#[test]
fn of_the_bundled_sample_less_than_half_is_told() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/mariadb-tpcc.trace");
    let trace = Trace::open(path.as_ref()).unwrap();
    let requests: Vec<RequestId> = (40..60).map(RequestId).collect();
    let breaks: Vec<bool> = (0..trace.functions().len()).map(|f| f % 500 == 0).collect();
    let (all, stripped) = compare(&trace, Some(&requests), &breaks, None, 64).unwrap();
    assert!(stripped * 2 < all, "{stripped} of {all} references");
}
