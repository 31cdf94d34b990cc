//! Guaranteed hits: references that hit an L1 whatever ran before their piece (must-hit filter).
//!
//! Puzak (1985) and Wang and Baer (1991) describe such filters. In a piece only one thread
//! references any cache. A line in an LRU cache of W ways therefore stays there while fewer than W
//! other lines of its set are referenced. If three references to the line are that close together,
//! the middle one hits. Dropping it leaves the next victim and the final LRU order unchanged. An
//! outer cache that includes the L1s may invalidate the line in them. One that passes its victims
//! to an exclusive L3 lets other cores find the line there. Both happen only when that cache is
//! filled, which a guaranteed hit never does. Between the first and the last of the three, all
//! references in the line's set of such a cache must therefore be guaranteed hits. A line's first
//! store in a piece is kept, because it may invalidate the line in other cores. So is the first
//! store after the line may have been evicted, because it removes the line from an exclusive L3.
//!
//! This drops over a third of the references that trace reduction keeps, mostly in loops.
//! Simulating the L1s once for all plans was rejected: their contents at the start of a piece
//! depend on what ran before on the core.

use super::entry::{Entry, kind, line};
use crate::ids::LineId;
use crate::machine::{Inclusion, Level, Machine, Policy};
use corehop_traces::Kind;

#[cfg(test)]
#[path = "../../tests/random/mod.rs"]
mod random;

/// Drops guaranteed hits piece by piece, for some machines.
pub(crate) struct GuaranteedHits {
    machines: Vec<Caches>,
    /// For each reference, the number of machines on which it is guaranteed to hit.
    guaranteed: Vec<usize>,
}

/// The relevant caches of a machine in one set partition.
struct Caches {
    l1s: [FirstLevel; 2],
    larger: Vec<Larger>,
}

/// The L1I or the L1D.
struct FirstLevel {
    /// The number of ways; 0 for policies other than LRU, which guarantee nothing.
    ways: usize,
    last_set: u64,
    /// For each set, the most recently referenced lines, newest first.
    recent: Vec<Vec<Recent>>,
}

/// A cache that changes the contents of the L1s, or may do so, when it is filled.
struct Larger {
    /// For each set, the last reference that may have filled it, counted from 1.
    filled: Vec<u32>,
}

/// A line referenced in the current piece. References are counted from 1.
#[derive(Clone, Copy)]
struct Recent {
    line: LineId,
    /// Its last reference.
    last: u32,
    /// Its last reference that is always kept.
    anchor: u32,
    /// Whether its last reference is dropped if another follows in time.
    is_pending: bool,
    is_stored: bool,
}

impl GuaranteedHits {
    /// Creates a filter for all of `machines`, for lines of one of `set_partition_count` set
    /// partitions.
    pub fn new(machines: &[&Machine], set_partition_count: u64) -> GuaranteedHits {
        let caches = machines
            .iter()
            .map(|machine| Caches::new(machine, set_partition_count));
        GuaranteedHits {
            machines: caches.collect(),
            guaranteed: Vec::new(),
        }
    }

    /// Appends to `kept` the references of `piece` that are not guaranteed hits on every machine.
    /// `quotients` are those of the line numbers, indexed by line.
    pub fn strip(&mut self, piece: &[Entry], quotients: &[u64], kept: &mut Vec<Entry>) {
        self.guaranteed.clear();
        self.guaranteed.resize(piece.len(), 0);
        for caches in &mut self.machines {
            caches.begin_piece();
            for (reference, &entry) in (1..).zip(piece) {
                if let Some(hit) =
                    caches.reference(reference, entry, quotients[line(entry).index()])
                {
                    self.guaranteed[hit as usize - 1] += 1;
                }
            }
        }
        let references = piece.iter().zip(&self.guaranteed);
        let machines = self.machines.len();
        kept.extend(references.filter_map(|(&entry, &hits)| (hits < machines).then_some(entry)));
    }
}

impl Caches {
    fn new(machine: &Machine, set_partition_count: u64) -> Caches {
        let l3_is = |inclusion| machine.l3.is_some_and(|l3| l3.inclusion == inclusion);
        let l2_matters =
            machine.l2.inclusion == Inclusion::Inclusive || l3_is(Inclusion::Exclusive);
        let l2 = l2_matters.then_some(machine.l2.sets());
        let l3 = machine.l3.map(|l3| l3.sets());
        // Lines that share a set of such an L3 also share one of the L2.
        let with_l2 = |l3: u64| l2.is_some_and(|l2| l3.is_multiple_of(l2));
        let l3 = l3.filter(|&l3| l3_is(Inclusion::Inclusive) && !with_l2(l3));
        let larger = [l2, l3].into_iter().flatten();
        let larger = larger
            .map(|sets| Larger::new(sets / set_partition_count))
            .collect();
        Caches {
            l1s: [&machine.l1i, &machine.l1d]
                .map(|level| FirstLevel::new(level, set_partition_count)),
            larger,
        }
    }

    fn begin_piece(&mut self) {
        for larger in &mut self.larger {
            larger.filled.fill(0);
        }
        for l1 in &mut self.l1s {
            l1.recent.iter_mut().for_each(Vec::clear);
        }
    }

    /// Processes a reference. Returns an earlier one that can now be dropped, if any.
    fn reference(&mut self, reference: u32, entry: Entry, quotient: u64) -> Option<u32> {
        let (line, kind) = (line(entry), kind(entry));
        let l1 = &mut self.l1s[usize::from(kind != Kind::Fetch)];
        let recent = &mut l1.recent[(quotient & l1.last_set) as usize];
        let filled = self.larger.iter().map(|larger| larger.filled(quotient));
        let filled = filled.max().unwrap_or(0);
        let found = recent.iter().position(|recent| recent.line == line);
        let found = found.map(|place| recent.remove(place));
        let stays = |since: u32| {
            let others = recent.iter().take_while(|other| other.last > since);
            others.count() < l1.ways && filled <= since
        };
        let is_store = kind == Kind::Store;
        let mut next = Recent {
            line,
            last: reference,
            anchor: reference,
            is_pending: false,
            is_stored: is_store,
        };
        let (mut hits, mut gone) = (false, None);
        if let Some(before) = found {
            let mut anchor = before.anchor;
            if before.is_pending {
                match stays(anchor) {
                    true => gone = Some(before.last),
                    false => anchor = before.last,
                }
            }
            hits = stays(anchor);
            // If the line may have moved to an exclusive L3, the next store removes it from there.
            next.is_stored |= hits && before.is_stored;
            if hits && (before.is_stored || !is_store) {
                next.anchor = anchor;
                next.is_pending = true;
            }
        }
        if !hits {
            for larger in &mut self.larger {
                larger.fill(quotient, reference);
            }
        }
        recent.insert(0, next);
        recent.truncate(l1.ways + 1);
        gone
    }
}

impl Larger {
    fn new(sets: u64) -> Larger {
        Larger {
            filled: vec![0; sets as usize],
        }
    }

    /// The number of sets of an L3 may not be a power of two.
    fn set(&self, quotient: u64) -> usize {
        let sets = self.filled.len() as u64;
        let set = match sets.is_power_of_two() {
            true => quotient & (sets - 1),
            false => quotient % sets,
        };
        set as usize
    }

    fn filled(&self, quotient: u64) -> u32 {
        self.filled[self.set(quotient)]
    }

    fn fill(&mut self, quotient: u64, reference: u32) {
        let set = self.set(quotient);
        self.filled[set] = reference;
    }
}

impl FirstLevel {
    fn new(level: &Level, set_partition_count: u64) -> FirstLevel {
        let sets = level.sets() / set_partition_count;
        let ways = match level.policy {
            Policy::Lru => level.ways as usize,
            Policy::Fifo | Policy::Plru | Policy::Random => 0,
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
    use super::random::{cases, machines};
    use super::*;
    use crate::{CoreId, Geometry, Hierarchy, Tally};
    use proptest::collection::vec;
    use proptest::prelude::*;

    const LINES: u32 = 24;

    /// References to few lines, each repeated soon.
    fn references(most: usize) -> impl Strategy<Value = Vec<Entry>> {
        (1..LINES)
            .prop_flat_map(move |lines| vec((0..lines, 0u32..3), 0..most))
            .prop_map(|references| {
                let entry = |(line, kind): (u32, u32)| line << 2 | kind;
                references.into_iter().map(entry).collect()
            })
    }

    /// A reference, and whether another core makes it.
    type LineReferences = Vec<(Entry, bool)>;

    fn stripped(machines: &[&Machine], piece: &[Entry]) -> Vec<Entry> {
        let quotients: Vec<u64> = (0..LINES.into()).collect();
        let mut kept = Vec::new();
        GuaranteedHits::new(machines, 1).strip(piece, &quotients, &mut kept);
        kept
    }

    /// Returns the counts of each core after these references in order.
    fn tally(machine: &Machine, references: &LineReferences) -> Vec<Tally> {
        let mut hierarchy = Hierarchy::new(&Geometry::new(machine, machine.cores.min(2), 1));
        hierarchy.register(&(0..LINES.into()).collect::<Vec<u64>>());
        for &(entry, other) in references {
            let core = CoreId(u32::from(other && machine.cores > 1));
            hierarchy.access(core, kind(entry), line(entry), &mut ());
        }
        hierarchy.tally().to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(cases())
        })]

        #[test]
        fn whatever_ran_before_and_after_nothing_depends_on_what_is_left_out(
            machine in machines(), another in machines(),
            before in references(60), piece in references(60), after in references(60),
            others in vec(any::<bool>(), 120),
        ) {
            let with = |piece: &[Entry]| -> LineReferences {
                let [before, after] = [&before, &after].map(|some| some.iter().copied());
                let (first, last) = others.split_at(60);
                let piece = piece.iter().map(|&entry| (entry, false));
                let before = before.zip(first.iter().copied());
                before.chain(piece).chain(after.zip(last.iter().copied())).collect()
            };
            let whole = tally(&machine, &with(&piece));
            let kept = stripped(&[&machine], &piece);
            prop_assert_eq!(&tally(&machine, &with(&kept)), &whole);
            let for_both = stripped(&[&machine, &another], &piece);
            prop_assert_eq!(&tally(&machine, &with(&for_both)), &whole);
        }
    }

    /// L1s of one set of four ways above an L2 of four sets of two ways.
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

    /// Loads of these lines, `count` times.
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
                stripped(&[&machine], &rounds(10, &[0, 1, 2, 3])),
                rounds(2, &[0, 1, 2, 3])
            );
            let too_large = rounds(10, &[0, 1, 2, 3, 4]);
            assert_eq!(stripped(&[&machine], &too_large), too_large);
        }
        let machine = small(Inclusion::NonInclusive, Policy::Fifo);
        assert_eq!(
            stripped(&[&machine], &rounds(3, &[0, 1])),
            rounds(3, &[0, 1])
        );
    }

    #[test]
    fn where_the_l2_may_be_filled_meanwhile_a_line_may_have_gone() {
        // Line 4 shares its L2 set with line 0.
        let piece = [rounds(2, &[0, 1]), rounds(1, &[4]), rounds(2, &[0, 1])].concat();
        let kept = |inclusion| stripped(&[&small(inclusion, Policy::Lru)], &piece);
        let doubtful = rounds(1, &[0, 1, 0, 4, 0, 0, 1]);
        assert_eq!(kept(Inclusion::Inclusive), doubtful);
        assert_eq!(kept(Inclusion::NonInclusive), rounds(1, &[0, 1, 4, 0, 1]));
    }

    /// Line 0 is stored to and then evicted from the L2 by line 1; the test fetches it afterwards.
    #[test]
    fn the_first_store_of_a_line_stays_once_the_exclusive_l3_may_have_it() {
        let l3 = Level {
            inclusion: Inclusion::Exclusive,
            ..Level::new(64, 1, 1)
        };
        let machine = Machine {
            l2: Level {
                inclusion: Inclusion::NonInclusive,
                ..Level::new(64, 1, 1)
            },
            l3: Some(l3),
            ..small(Inclusion::NonInclusive, Policy::Lru)
        };
        let of = |line: u32, kind: Kind| line << 2 | kind as u32;
        let (fetch, load, store) = (Kind::Fetch, Kind::Load, Kind::Store);
        let piece = [
            of(0, store),
            of(1, fetch),
            of(0, load),
            of(0, store),
            of(0, load),
        ];
        assert_eq!(stripped(&[&machine], &piece), piece);
        let fetched = |piece: &[Entry]| {
            let references = [piece, &[of(0, fetch)]].concat();
            let alone = references.into_iter().map(|entry| (entry, false));
            tally(&machine, &alone.collect())
        };
        let without_the_second = [&piece[..3], &piece[4..]].concat();
        assert_ne!(fetched(&piece), fetched(&without_the_second));
    }

    #[test]
    fn an_inclusive_l3_takes_lines_whose_numbers_are_equal_modulo_its_sets() {
        let l3 = Level::new(64 * 12, 1, 1);
        let machine = Machine {
            l3: Some(l3),
            ..small(Inclusion::NonInclusive, Policy::Lru)
        };
        let kept = |other| stripped(&[&machine], &rounds(1, &[13, other, 13, 0, 13]));
        assert_eq!(kept(1), rounds(1, &[13, 1, 13, 0, 13]));
        assert_eq!(kept(9), rounds(1, &[13, 9, 0, 13]));
    }

    #[test]
    fn the_first_store_of_a_line_stays() {
        let of = |kinds: [Kind; 6]| kinds.map(|kind| kind as u32).to_vec();
        let machine = small(Inclusion::Inclusive, Policy::Lru);
        let (load, store) = (Kind::Load, Kind::Store);
        let kept = stripped(&[&machine], &of([load, load, store, load, store, load]));
        assert_eq!(kept, [load, store, load].map(|kind| kind as u32));
    }
}
