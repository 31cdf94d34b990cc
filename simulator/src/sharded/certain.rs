//! Touches of a piece that a core need not go through, because nothing depends on them.
//!
//! In a piece nobody but its thread touches the core's caches. So a line that an LRU cache of W
//! ways has stays there while fewer than W others of its set are touched, and is not the oldest in
//! that time: of three touches of it, first and last so close, the one between hits, and no line
//! makes room otherwise, nor is the order after the last another, if it is left out. An L2 that
//! includes the L1s may take a line from them only when it is filled, which touches certain to hit
//! never do; so between first and last every other touch in the line's set of the L2 must be one of
//! those. A line's first store in a piece stays, for it may take the line from other cores.
//!
//! More than half of what condensing leaves goes, mostly of loops. To simulate the L1s once for all
//! sets of occurrences was rejected: what a piece finds there depends on what ran before.

use super::shard::{Entry, kind};
use crate::machine::{Inclusion, Level, Machine, Policy};
use corehop_traces::Kind;

#[cfg(test)]
#[path = "../../tests/random/mod.rs"]
mod random;

/// Leaves out such touches, piece by piece, for a machine's cores that share no cache.
pub(super) struct Certain {
    l1s: [FirstLevel; 2],
    /// Number of sets of the L2 less one, where it includes the L1s.
    last_l2_set: Option<u64>,
    /// By set of the L2, the last touch that may have filled it, counted from 1.
    filled: Vec<u32>,
    /// By touch.
    is_kept: Vec<bool>,
}

/// The L1I or the L1D, in one residue.
struct FirstLevel {
    /// None where the policy is another than LRU: then nothing is certain.
    ways: usize,
    last_set: u64,
    /// By set, the lines touched last, the last one first.
    recent: Vec<Vec<Recent>>,
}

/// A line touched in the piece at hand. Touches are counted from 1.
#[derive(Clone, Copy)]
struct Recent {
    line: u32,
    /// Its last touch.
    last: u32,
    /// Its last touch that is kept in any case.
    anchor: u32,
    /// Whether its last touch goes if another follows in time.
    is_pending: bool,
    is_stored: bool,
}

impl Certain {
    /// Of `machine`, for lines of one of so many residues.
    pub fn new(machine: &Machine, residues: u64) -> Certain {
        let l2_sets = machine.l2.sets() / residues;
        let is_inclusive = machine.l2.inclusion == Inclusion::Inclusive;
        Certain {
            l1s: [&machine.l1i, &machine.l1d].map(|level| FirstLevel::new(level, residues)),
            last_l2_set: is_inclusive.then_some(l2_sets - 1),
            filled: vec![0; l2_sets as usize],
            is_kept: Vec::new(),
        }
    }

    /// Appends the touches of `piece` to `kept` that something depends on. `quotients` are those of
    /// the lines' numbers, by line.
    pub fn thin(&mut self, piece: &[Entry], quotients: &[u64], kept: &mut Vec<Entry>) {
        self.is_kept.clear();
        self.is_kept.resize(piece.len(), true);
        self.filled.fill(0);
        for l1 in &mut self.l1s {
            l1.recent.iter_mut().for_each(Vec::clear);
        }
        for (touch, &entry) in (1..).zip(piece) {
            self.touch(touch, entry, quotients[(entry >> 2) as usize]);
        }
        let touches = piece.iter().zip(&self.is_kept);
        kept.extend(touches.filter_map(|(&entry, &is_kept)| is_kept.then_some(entry)));
    }

    fn touch(&mut self, touch: u32, entry: Entry, quotient: u64) {
        let (line, kind) = (entry >> 2, kind(entry));
        let l1 = &mut self.l1s[usize::from(kind != Kind::Fetch)];
        let recent = &mut l1.recent[(quotient & l1.last_set) as usize];
        let l2_set = self.last_l2_set.map(|last| (quotient & last) as usize);
        let filled = l2_set.map_or(0, |set| self.filled[set]);
        let found = recent.iter().position(|recent| recent.line == line);
        let found = found.map(|place| recent.remove(place));
        let stays = |since: u32| {
            let others = recent.iter().take_while(|other| other.last > since);
            others.count() < l1.ways && filled <= since
        };
        let is_store = kind == Kind::Store;
        let mut next = Recent {
            line,
            last: touch,
            anchor: touch,
            is_pending: false,
            is_stored: is_store,
        };
        let mut hits = false;
        if let Some(before) = found {
            let mut anchor = before.anchor;
            if before.is_pending {
                match stays(anchor) {
                    true => self.is_kept[before.last as usize - 1] = false,
                    false => anchor = before.last,
                }
            }
            hits = stays(anchor);
            next.is_stored |= before.is_stored;
            if hits && (before.is_stored || !is_store) {
                next.anchor = anchor;
                next.is_pending = true;
            }
        }
        if let (false, Some(set)) = (hits, l2_set) {
            self.filled[set] = touch;
        }
        recent.insert(0, next);
        recent.truncate(l1.ways + 1);
    }
}

impl FirstLevel {
    fn new(level: &Level, residues: u64) -> FirstLevel {
        let sets = level.sets() / residues;
        let ways = match level.policy {
            Policy::Lru => level.ways as usize,
            Policy::Fifo | Policy::Plru => 0,
        };
        FirstLevel {
            ways,
            last_set: sets - 1,
            recent: vec![Vec::new(); sets as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::random::machines;
    use super::*;
    use crate::geometry::Geometry;
    use crate::tally::Tally;
    use crate::world::World;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const LINES: u32 = 24;

    /// Touches of few lines, each again soon.
    fn touches(most: usize) -> impl Strategy<Value = Vec<Entry>> {
        (1..LINES)
            .prop_flat_map(move |lines| vec((0..lines, 0u32..3), 0..most))
            .prop_map(|touches| {
                let entry = |(line, kind): (u32, u32)| line << 2 | kind;
                touches.into_iter().map(entry).collect()
            })
    }

    /// One core of a machine whose cores share nothing.
    fn private(machine: Machine) -> Machine {
        let mut machine = Machine {
            l3: None,
            ..machine
        };
        let levels = [&mut machine.l1i, &mut machine.l1d, &mut machine.l2];
        levels.into_iter().for_each(|level| level.shared_by = 1);
        machine
    }

    fn thinned(machine: &Machine, piece: &[Entry]) -> Vec<Entry> {
        let quotients: Vec<u64> = (0..LINES.into()).collect();
        let mut kept = Vec::new();
        Certain::new(machine, 1).thin(piece, &quotients, &mut kept);
        kept
    }

    /// What is counted of pieces, between which every third line is stored to elsewhere.
    fn tally(machine: &Machine, pieces: [&[Entry]; 3]) -> Tally {
        let mut world = World::new(&Geometry::new(machine, 1, 1));
        world.register(&(0..LINES.into()).collect::<Vec<u64>>());
        for (number, piece) in (0..).zip(pieces) {
            for &entry in piece {
                world.access(0, kind(entry), entry >> 2, &mut ());
            }
            (0..LINES)
                .filter(|line| line % 3 == number)
                .for_each(|line| world.store_elsewhere(line));
        }
        world.tally()[0].clone()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(4000)
        })]

        #[test]
        fn whatever_ran_before_and_after_nothing_depends_on_what_is_left_out(
            machine in machines(),
            before in touches(60), piece in touches(60), after in touches(60),
        ) {
            let machine = private(machine);
            let kept = thinned(&machine, &piece);
            let whole = tally(&machine, [&before, &piece, &after]);
            prop_assert_eq!(tally(&machine, [&before, &kept, &after]), whole);
        }
    }

    /// L1s of one set of four ways above an L2 of four sets of two.
    fn small(inclusion: Inclusion, policy: Policy) -> Machine {
        let level = |lines: u64, ways| Level {
            policy,
            ..Level::new(64 * lines, ways, 1)
        };
        let large = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
        Machine {
            l1i: level(4, 4),
            l1d: level(4, 4),
            l2: Level {
                inclusion,
                ..level(8, 2)
            },
            l3: None,
            ..large
        }
    }

    /// So many rounds of loads of these lines.
    fn rounds(count: usize, lines: &[u32]) -> Vec<Entry> {
        lines
            .iter()
            .map(|line| line << 2 | Kind::Load as u32)
            .collect::<Vec<_>>()
            .repeat(count)
    }

    #[test]
    fn of_a_loop_that_fits_the_first_and_the_last_round_stay() {
        for inclusion in [Inclusion::Inclusive, Inclusion::NonInclusive] {
            let machine = small(inclusion, Policy::Lru);
            assert_eq!(
                thinned(&machine, &rounds(10, &[0, 1, 2, 3])),
                rounds(2, &[0, 1, 2, 3])
            );
            let too_large = rounds(10, &[0, 1, 2, 3, 4]);
            assert_eq!(thinned(&machine, &too_large), too_large);
        }
        let machine = small(Inclusion::NonInclusive, Policy::Fifo);
        assert_eq!(thinned(&machine, &rounds(3, &[0, 1])), rounds(3, &[0, 1]));
    }

    #[test]
    fn where_the_l2_may_be_filled_meanwhile_a_line_may_have_gone() {
        // Line 4 shares its set of the L2 with line 0.
        let piece = [rounds(2, &[0, 1]), rounds(1, &[4]), rounds(2, &[0, 1])].concat();
        let kept = |inclusion| thinned(&small(inclusion, Policy::Lru), &piece);
        let doubtful = rounds(1, &[0, 1, 0, 4, 0, 0, 1]);
        assert_eq!(kept(Inclusion::Inclusive), doubtful);
        assert_eq!(kept(Inclusion::NonInclusive), rounds(1, &[0, 1, 4, 0, 1]));
    }

    #[test]
    fn the_first_store_of_a_line_stays() {
        let of = |kinds: [Kind; 6]| kinds.map(|kind| kind as u32).to_vec();
        let machine = small(Inclusion::Inclusive, Policy::Lru);
        let (load, store) = (Kind::Load, Kind::Store);
        let kept = thinned(&machine, &of([load, load, store, load, store, load]));
        assert_eq!(kept, [load, store, load].map(|kind| kind as u32));
    }
}
