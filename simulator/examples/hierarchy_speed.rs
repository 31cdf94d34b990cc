//! How fast hierarchies are:
//!
//!     cargo run --release -p corehop-simulator --example hierarchy_speed -- TRACE
//!
//! Divides a trace's references into hierarchies of one set partition each, leaves out repeated
//! ones as a replay does, and times one host core driving the hierarchies; the simulated core
//! changes every so often, so that stores find copies elsewhere to remove.

use corehop_simulator::{CacheLevel, CoreId, Geometry, Hierarchy, LineId, Machine};
use corehop_traces::{Kind, Trace};
use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

const KINDS: [Kind; 3] = [Kind::Fetch, Kind::Load, Kind::Store];

/// References between two changes of core.
const REFERENCES_BETWEEN_MOVES: u64 = 20_000;

/// The references of one set partition.
#[derive(Default)]
struct SetPartition {
    ids: HashMap<u64, LineId>,
    lines: Vec<u64>,
    references: Vec<(LineId, CoreId, Kind)>,
}

impl SetPartition {
    fn reference(&mut self, quotient: u64, core: CoreId, kind: Kind) {
        let id = *self.ids.entry(quotient).or_insert_with(|| {
            self.lines.push(quotient);
            LineId(self.lines.len() as u32 - 1)
        });
        if self.references.last() != Some(&(id, core, kind)) {
            self.references.push((id, core, kind));
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a trace")?;
    let machine = arguments.next().unwrap_or("xeon-e5-2620-v4".into());
    let machine = Machine::named_or_path(&machine)?;
    let trace = Trace::open(Path::new(&path))?;
    for cores in [1, 4] {
        let set_partition_count = Geometry::set_partition_count_of(&machine);
        let mut set_partitions: Vec<SetPartition> = (0..set_partition_count)
            .map(|_| SetPartition::default())
            .collect();
        let mut all = 0;
        let mut executions = trace.executions();
        while let Some(execution) = executions.next()? {
            for access in execution.accesses {
                for line in access.lines() {
                    let core = CoreId((all / REFERENCES_BETWEEN_MOVES % cores) as u32);
                    let set_partition = &mut set_partitions[(line % set_partition_count) as usize];
                    set_partition.reference(line / set_partition_count, core, access.kind);
                    all += 1;
                }
            }
        }
        let geometry = Geometry::new(&machine, cores as u32, set_partition_count);
        let begun = Instant::now();
        let mut misses = 0;
        for set_partition in &set_partitions {
            let mut hierarchy = Hierarchy::new(&geometry);
            set_partition.lines.iter().for_each(|&line| {
                hierarchy.line(line);
            });
            for &(line, core, kind) in &set_partition.references {
                hierarchy.access(core, kind, line, &mut ());
            }
            for (tally, kind) in hierarchy
                .tally()
                .iter()
                .flat_map(|tally| KINDS.map(|k| (tally, k)))
            {
                misses += tally.misses(CacheLevel::L2, kind).total();
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let driven: usize = set_partitions
            .iter()
            .map(|set_partition| set_partition.references.len())
            .sum();
        println!(
            "{cores} cores: {all} touches, {driven} driven in {seconds:.3} s: {:.1} M/s \
             ({:.1} M/s of all), {misses} L2 misses",
            driven as f64 / seconds / 1e6,
            all as f64 / seconds / 1e6
        );
    }
    Ok(())
}
