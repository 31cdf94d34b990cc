//! The simulator's counts equal those of cachegrind on the accesses of the same program, where both
//! use the same definitions.
//!
//! cachegrind simulates one core with an L1I, an L1D and one last level. All are LRU, and a line
//! that leaves the last level stays in the first. The equivalent is a machine of one core with a
//! non-inclusive L2 and no L3. One definition differs: an access that spans two lines is two
//! accesses here. In cachegrind it is one, which misses at most once. On a program without such
//! accesses, all nine counts are therefore equal. With them, first-level misses are equal if pairs
//! are counted once. The last level is not comparable then: cachegrind looks up both lines if
//! either missed.

use crate::valgrind::{Counted, Geometry, Program};
use corehop_simulator::{
    CacheLevel, Cause, CoreId, Counters, KindCounters, LineId, Machine, Observer, Replayer, Split,
};
use corehop_traces::{Kind, Trace};
use std::path::Path;

/// L1I, L1D, last level: small enough for frequent misses, and of every shape that cachegrind
/// supports: direct-mapped, fully associative, and an odd number of ways.
const GEOMETRIES: [[Geometry; 3]; 5] = [
    [level(1 << 10, 2), level(1 << 10, 2), level(16 << 10, 4)],
    [level(512, 1), level(2 << 10, 4), level(8 << 10, 8)],
    [level(2 << 10, 32), level(4 << 10, 64), level(32 << 10, 1)],
    [level(768, 3), level(1280, 5), level(12 << 10, 12)],
    [level(1 << 10, 4), level(32 << 10, 8), level(24 << 10, 3)],
];

const fn level(size_bytes: u64, ways: u32) -> Geometry {
    Geometry { size_bytes, ways }
}

fn machine([l1i, l1d, last]: [Geometry; 3]) -> Machine {
    let table = |name: &str, level: Geometry, latency_cycles: u32| {
        format!(
            "[{name}]\nsize_bytes = {}\nways = {}\nlatency_cycles = {latency_cycles}\n",
            level.size_bytes, level.ways
        )
    };
    let text = format!(
        "name = \"cachegrind\"\ncores = 1\nline_size_bytes = 64\nmemory_latency_cycles = 100\n\
         hop_cost_cycles = 1000\n{}{}{}inclusion = \"non-inclusive\"\n",
        table("l1i", l1i, 1),
        table("l1d", l1d, 1),
        table("l2", last, 10),
    );
    Machine::from_toml(&text, Path::new("cachegrind.toml")).unwrap()
}

/// First-level misses that cachegrind does not count: the second of two misses of one access that
/// spans two lines.
#[derive(Default)]
struct SecondMisses {
    fetches: u64,
    loads: u64,
    stores: u64,
    /// Kind and line of the last first-level miss of this execution.
    last: Option<(Kind, LineId)>,
    /// Second misses of this execution, as pairs of lines whose adjacency is still to be checked.
    pairs: Vec<(Kind, LineId, LineId)>,
}

impl Observer for SecondMisses {
    fn missed(&mut self, level: CacheLevel, _: CoreId, kind: Kind, _: Cause, line: LineId) {
        if !matches!(level, CacheLevel::L1I | CacheLevel::L1D) {
            return;
        }
        if let Some((last_kind, last)) = self.last
            && last_kind == kind
        {
            self.pairs.push((kind, last, line));
        }
        self.last = Some((kind, line));
    }
}

impl SecondMisses {
    /// Returns the counts of fetches, loads and stores.
    fn counts(&self) -> [u64; 3] {
        [self.fetches, self.loads, self.stores]
    }

    /// Ends an execution, which is one instruction. If it missed adjacent lines consecutively with
    /// the same kind of access, they were one access.
    fn end(&mut self, replayer: &Replayer) {
        self.last = None;
        for (kind, first, second) in self.pairs.drain(..) {
            if replayer.line_number(second) == replayer.line_number(first) + 1 {
                match kind {
                    Kind::Fetch => self.fetches += 1,
                    Kind::Load => self.loads += 1,
                    Kind::Store => self.stores += 1,
                }
            }
        }
    }
}

fn replay(trace: &Trace, machine: &Machine) -> (Counters, SecondMisses) {
    let split = Split::default();
    let mut replayer = Replayer::new(machine, &split).unwrap();
    let mut seconds = SecondMisses::default();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        replayer.execute_observed(&execution, &mut seconds);
        seconds.end(&replayer);
    }
    (replayer.finish().counters, seconds)
}

/// Converts our counts to cachegrind's definitions. cachegrind counts an instruction that changes a
/// value in memory as one load; its store is not counted, and cannot miss.
fn in_its_terms(counters: &Counters, its: &Counted) -> Counted {
    let Counters { l1i, l1d, l2, .. } = counters;
    let counted = |first: KindCounters, last: KindCounters| {
        [first.accesses, first.misses.total(), last.misses.total()]
    };
    let mut stores = counted(l1d.store, l2.store);
    assert!(stores[0] >= its.2[0]);
    stores[0] = its.2[0];
    Counted(
        counted(l1i.fetch, l2.fetch),
        counted(l1d.load, l2.load),
        stores,
    )
}

#[test]
fn all_nine_counts_are_cachegrinds_where_no_access_spans_two_lines() {
    let program = Program::compile(&[]);
    let trace = program.trace();
    println!("references, first-level misses, last-level misses; the same in both:");
    for geometry in GEOMETRIES {
        let its = program.cachegrind(geometry);
        let (counters, seconds) = replay(&trace, &machine(geometry));
        assert_eq!(in_its_terms(&counters, &its), its, "{geometry:?}");
        assert_eq!(seconds.counts(), [0; 3]);
        let last = its.of(2);
        assert!(last[0] > 0 && last[1] > 200 && last[2] > 200, "{last:?}");
        let Counted(fetches, loads, stores) = its;
        println!("fetches {fetches:?}, loads {loads:?}, stores {stores:?}");
    }
}

#[test]
fn first_level_misses_are_cachegrinds_once_an_access_of_two_lines_misses_once() {
    let program = Program::compile(&["SPANNING"]);
    let trace = program.trace();
    println!("misses of fetches, loads, stores:");
    for geometry in GEOMETRIES {
        let its = program.cachegrind(geometry);
        let (counters, seconds) = replay(&trace, &machine(geometry));
        let ours = in_its_terms(&counters, &its);
        let (first, second) = (ours.of(1), seconds.counts());
        let once: Vec<_> = first.iter().zip(second).map(|(a, b)| a - b).collect();
        assert_eq!(once, its.of(1), "{geometry:?}");
        assert!(second[1] > 100 && second[2] > 100, "{second:?}");
        println!(
            "first level: {first:?}, less {second:?}, are its {:?}",
            its.of(1)
        );
        println!("last level:  {:?}, not its {:?}", ours.of(2), its.of(2));
    }
}
