//! Random programs on random tiny machines: the simulator and the naive oracle agree on every
//! counter of every core and on every event, for every division of lines into set partitions.

use crate::oracle::{Event, Oracle};
use crate::random::{Step, equal, holds, machines, programs};
use corehop_simulator::{
    CacheLevel, Cause, CoreId, Counters, Geometry, Hierarchy, Insertion, Level, LineId, Machine,
    Observer, Tally,
};
use corehop_traces::Kind;
use proptest::prelude::*;
use std::collections::HashMap;

/// One hierarchy for each set partition, with the ids of its lines.
struct Hierarchies {
    machine: Machine,
    hierarchies: Vec<Hierarchy>,
    ids: HashMap<u64, LineId>,
    accesses: Vec<[u64; 3]>,
}

impl Hierarchies {
    fn new(machine: &Machine, cores: u32, set_partition_count: u64) -> Hierarchies {
        let geometry = Geometry::new(machine, cores, set_partition_count);
        Hierarchies {
            machine: machine.clone(),
            hierarchies: (0..set_partition_count)
                .map(|_| Hierarchy::new(&geometry))
                .collect(),
            ids: HashMap::new(),
            accesses: vec![[0; 3]; cores as usize],
        }
    }

    fn find(&mut self, line: u64) -> (&mut Hierarchy, LineId) {
        let set_partition_count = self.hierarchies.len() as u64;
        let hierarchy = &mut self.hierarchies[(line % set_partition_count) as usize];
        let id = self
            .ids
            .entry(line)
            .or_insert_with(|| hierarchy.line(line / set_partition_count));
        (hierarchy, *id)
    }

    fn step(&mut self, step: Step, observer: &mut impl Observer) {
        match step {
            Step::Access(core, kind, line) => {
                self.accesses[core][kind as usize] += 1;
                let (hierarchy, id) = self.find(line);
                hierarchy.access(CoreId::from_index(core), kind, id, observer);
            }
            Step::Prefetch(core, line, insertion) => {
                let (hierarchy, id) = self.find(line);
                hierarchy.prefetch(CoreId::from_index(core), (id, insertion), observer);
            }
            Step::StoreElsewhere(line) => {
                let (hierarchy, id) = self.find(line);
                hierarchy.store_elsewhere(id);
            }
        }
    }

    fn start_counting(&mut self) {
        self.hierarchies
            .iter_mut()
            .for_each(Hierarchy::start_counting);
        self.accesses.fill([0; 3]);
    }

    fn counters(&self) -> Vec<Counters> {
        let of_core = |(core, &accesses): (usize, &[u64; 3])| {
            let mut sum = Tally::default();
            for hierarchy in &self.hierarchies {
                sum += &hierarchy.tally()[core];
            }
            sum.counters(accesses, 0, &self.machine)
        };
        self.accesses.iter().enumerate().map(of_core).collect()
    }
}

fn naive_step(oracle: &mut Oracle, step: Step) {
    match step {
        Step::Access(core, kind, line) => oracle.access(core, kind, line),
        Step::Prefetch(core, line, insertion) => {
            oracle.prefetch(core, line, insertion == Insertion::Middle);
        }
        Step::StoreElsewhere(line) => oracle.store_elsewhere(line),
    }
}

/// Returns the step on a machine of this many cores.
fn on(cores: u32, step: Step) -> Step {
    match step {
        Step::Access(core, kind, line) => Step::Access(core % cores as usize, kind, line),
        Step::Prefetch(core, line, insertion) => {
            Step::Prefetch(core % cores as usize, line, insertion)
        }
        Step::StoreElsewhere(_) => step,
    }
}

/// A machine, the number of its cores that are used, and a program.
fn cases() -> impl Strategy<Value = (Machine, u32, Vec<Step>)> {
    let machine = machines().prop_flat_map(|machine| {
        let cores = 1..machine.cores + 1;
        (Just(machine), cores)
    });
    (machine, programs()).prop_map(|((machine, cores), program)| (machine, cores, program))
}

#[test]
fn every_counter_of_every_core_is_equal_however_the_lines_are_divided() {
    let values = (cases(), 0usize..200);
    holds(
        "counters equal the oracle's",
        values,
        |((machine, cores, program), warm_up)| {
            equal(machine.check(), Ok(()))?;
            let set_partition_count = Geometry::set_partition_count_of(&machine);
            let mut fast = Hierarchies::new(&machine, cores, 1);
            let mut divided = Hierarchies::new(&machine, cores, set_partition_count);
            let mut naive = Oracle::new(&machine, cores);
            for (number, &step) in program.iter().enumerate() {
                let step = on(cores, step);
                if number == warm_up {
                    fast.start_counting();
                    divided.start_counting();
                    naive.start_counting();
                }
                fast.step(step, &mut ());
                divided.step(step, &mut ());
                naive_step(&mut naive, step);
            }
            equal(fast.counters(), naive.counters())?;
            equal(divided.counters(), naive.counters())
        },
    );
}

/// Records events; lines by number.
#[derive(Default)]
struct Diary {
    numbers: Vec<u64>,
    events: Vec<Event>,
    causes: HashMap<(usize, CacheLevel, u8, Cause), u64>,
}

impl Observer for Diary {
    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, line: LineId) {
        let line = self.numbers[line.index()];
        self.events
            .push(Event::Missed(level, core.index(), kind, line));
        *self
            .causes
            .entry((core.index(), level, kind as u8, cause))
            .or_default() += 1;
    }

    fn replaced(&mut self, level: CacheLevel, instance: usize, core: CoreId, line: LineId) {
        let line = self.numbers[line.index()];
        self.events
            .push(Event::Replaced(level, instance, core.index(), line));
    }

    fn invalidated(&mut self, cluster: usize, core: CoreId, line: LineId) {
        let line = self.numbers[line.index()];
        self.events
            .push(Event::Invalidated(cluster, core.index(), line));
    }
}

#[test]
fn a_watch_is_told_of_every_event_in_order_and_of_every_miss_that_is_counted() {
    holds(
        "events equal the oracle's",
        cases(),
        |(machine, cores, program)| {
            let mut hierarchy = Hierarchy::new(&Geometry::new(&machine, cores, 1));
            let mut naive = Oracle::new(&machine, cores);
            let mut diary = Diary::default();
            for line in 0..90 {
                hierarchy.line(line);
                diary.numbers.push(line);
            }
            for step in program {
                if let Step::Access(core, kind, line) = on(cores, step) {
                    hierarchy.access(
                        CoreId::from_index(core),
                        kind,
                        LineId(line as u32),
                        &mut diary,
                    );
                    naive.access(core, kind, line);
                }
            }
            equal(&diary.events, &naive.events)?;
            for (core, tally) in hierarchy.tally().iter().enumerate() {
                for level in [
                    CacheLevel::L1I,
                    CacheLevel::L1D,
                    CacheLevel::L2,
                    CacheLevel::L3,
                ] {
                    for kind in [Kind::Fetch, Kind::Load, Kind::Store] {
                        let told = |cause| {
                            let told = diary.causes.get(&(core, level, kind as u8, cause));
                            told.copied().unwrap_or(0)
                        };
                        let counted = tally.misses(level, kind);
                        equal(told(Cause::Cold), counted.cold)?;
                        equal(told(Cause::Capacity), counted.capacity)?;
                        equal(told(Cause::Coherence), counted.coherence)?;
                        equal(told(Cause::Inclusion), counted.inclusion)?;
                    }
                }
            }
            Ok(())
        },
    );
}

#[test]
fn while_the_l3_never_evicts_each_cluster_can_be_simulated_alone() {
    holds(
        "clusters fall apart",
        (machines(), programs()),
        |(mut machine, program)| {
            machine.l3 = Some(Level::new(16 * 64 * 64, 64, 41));
            let cores = machine.cores;
            let per_cluster = machine.l2.shared_by;
            let mut together = Hierarchies::new(&machine, cores, 1);
            let clusters = cores / per_cluster;
            let without_l3 = Machine {
                l3: None,
                ..machine
            };
            let alone = |_| Hierarchies::new(&without_l3, per_cluster, 1);
            let mut alone: Vec<Hierarchies> = (0..clusters).map(alone).collect();
            for step in program {
                let Step::Access(core, kind, line) = on(cores, step) else {
                    continue;
                };
                together.step(Step::Access(core, kind, line), &mut ());
                let (cluster, view) = (core / per_cluster as usize, core % per_cluster as usize);
                for (other, hierarchies) in alone.iter_mut().enumerate() {
                    if other == cluster {
                        hierarchies.step(Step::Access(view, kind, line), &mut ());
                    } else if kind == Kind::Store {
                        hierarchies.step(Step::StoreElsewhere(line), &mut ());
                    }
                }
            }
            let private = |counters: Counters| Counters {
                l3: Default::default(),
                transfers: 0,
                hit_modified: 0,
                cycles: 0,
                ..counters
            };
            let together: Vec<_> = together.counters().into_iter().map(private).collect();
            let alone = alone.iter().flat_map(Hierarchies::counters);
            equal(together, alone.map(private).collect())
        },
    );
}

#[test]
fn a_line_referenced_twice_in_a_row_is_referenced_once() {
    holds("references reduce", cases(), |(machine, cores, program)| {
        let mut once = Hierarchies::new(&machine, cores, 1);
        let mut twice = Hierarchies::new(&machine, cores, 1);
        for step in program {
            let step = on(cores, step);
            once.step(step, &mut ());
            twice.step(step, &mut ());
            twice.step(step, &mut ());
            if let Step::Access(core, Kind::Store, line) = step {
                twice.step(Step::Access(core, Kind::Load, line), &mut ());
            }
        }
        let misses = |hierarchies: &Hierarchies| {
            let levels = |c: &Counters| [c.l1i, c.l1d, c.l2, c.l3].map(|level| level.causes());
            hierarchies
                .counters()
                .iter()
                .map(levels)
                .collect::<Vec<_>>()
        };
        equal(misses(&once), misses(&twice))
    });
}
