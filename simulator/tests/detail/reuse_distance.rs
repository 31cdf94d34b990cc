//! Compares stack distances with a list that is searched from its front.

use corehop_simulator::detail::{LruStack, ReuseDistances};
use corehop_simulator::{CacheLevel, CoreId, Geometry, Hierarchy, LineId, Machine};
use corehop_traces::Kind;
use proptest::prelude::*;

/// The stack as a list: the most recently accessed line is last.
#[derive(Default)]
struct List(Vec<u32>);

impl List {
    fn reference(&mut self, line: u32) -> Option<u32> {
        let place = self.0.iter().position(|&held| held == line);
        if let Some(place) = place {
            self.0.remove(place);
        }
        self.0.push(line);
        place.map(|place| (self.0.len() - 1 - place) as u32)
    }
}

#[test]
fn the_distance_is_the_number_of_other_lines_since() {
    let mut stack = LruStack::default();
    let distances = [0, 1, 2, 1, 1, 0, 5, 2].map(|line| stack.reference(LineId(line)));
    let expected = [None, None, None, Some(1), Some(0), Some(2), None, Some(3)];
    assert_eq!(distances, expected);
}

#[test]
fn distances_are_counted_by_powers_of_two_and_by_kind() {
    let mut distances = ReuseDistances::default();
    for distance in [None, Some(0), Some(1), Some(2), Some(3), Some(4)] {
        distances.count(Kind::Load, distance);
    }
    distances.count(Kind::Store, Some(1024));
    distances.count(Kind::Fetch, Some(1023));
    let data = &distances.data;
    assert_eq!(data.first_touches, 1);
    assert_eq!(data.buckets, [1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(distances.fetches.buckets, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!((data.misses(0), data.misses(1), data.misses(2)), (6, 5, 3));
    assert_eq!((data.misses(10), data.misses(11)), (2, 1));
}

/// Accesses that repeat a few lines often and many rarely.
fn accesses() -> impl Strategy<Value = Vec<u32>> {
    let line = prop_oneof![0..4_u32, 0..40_u32, 0..400_u32];
    prop::collection::vec(line, 0..3000)
}

/// An L1D of eight lines in one set, with lower levels that hold everything.
fn eight_lines() -> Machine {
    let toml = "name = \"eight\"
        cores = 1
        line_size_bytes = 64
        memory_latency_cycles = 200
        hop_cost_cycles = 10
        l1i = { size_bytes = 64, ways = 1, latency_cycles = 4 }
        l1d = { size_bytes = 512, ways = 8, latency_cycles = 4 }
        l2 = { size_bytes = 65536, ways = 16, latency_cycles = 12 }";
    Machine::from_toml(toml, "eight.toml".as_ref()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_marks_equal_the_list(accesses in accesses()) {
        let (mut stack, mut list) = (LruStack::default(), List::default());
        for line in accesses {
            prop_assert_eq!(stack.reference(LineId(line)), list.reference(line));
        }
    }

    #[test]
    fn the_histogram_tells_the_misses_of_every_lru_cache(accesses in accesses()) {
        let mut stack = LruStack::default();
        let mut distances = ReuseDistances::default();
        for &line in &accesses {
            let kind = if line % 3 == 0 { Kind::Fetch } else { Kind::Load };
            distances.count(kind, stack.reference(LineId(line)));
        }
        for log2_lines in 0..10 {
            let mut misses = 0;
            let mut held: Vec<u32> = Vec::new();
            for &line in &accesses {
                let before = held.len();
                held.retain(|&other| other != line);
                misses += u64::from(held.len() == before);
                held.push(line);
                if held.len() > 1 << log2_lines {
                    held.remove(0);
                }
            }
            let (fetches, data) = (&distances.fetches, &distances.data);
            prop_assert_eq!(fetches.misses(log2_lines) + data.misses(log2_lines), misses);
        }
        prop_assert_eq!(
            distances.fetches.accesses() + distances.data.accesses(),
            accesses.len() as u64
        );
    }

    #[test]
    fn a_fully_associative_l1d_misses_what_the_histogram_says(accesses in accesses()) {
        let machine = eight_lines();
        let mut hierarchy = Hierarchy::new(&Geometry::new(&machine, 1, 1));
        let (mut stack, mut distances) = (LruStack::default(), ReuseDistances::default());
        for quotient in 0..400 {
            hierarchy.line(quotient);
        }
        for &line in &accesses {
            distances.count(Kind::Load, stack.reference(LineId(line)));
            hierarchy.access(CoreId(0), Kind::Load, LineId(line), &mut ());
        }
        let misses = hierarchy.tally()[0].misses(CacheLevel::L1D, Kind::Load);
        prop_assert_eq!(misses.total(), distances.data.misses(3));
        prop_assert_eq!(misses.cold, distances.data.first_touches);
    }
}
