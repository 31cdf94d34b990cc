//! Rules for a machine that its types cannot express, checked here so that the caches need not
//! check them.
//!
//! Each error names the level and the remedy. All sizes of real machines are accepted: the third
//! level may have any number of sets, and a level any number of ways.

use super::description::{CORES_MAXIMUM, Inclusion, LINE_SIZE_BYTES, Level, Machine, Policy};
use super::impossible::{
    INSTRUCTIONS_MAXIMUM, ImpossibleMachine, PLRU_WAYS_MAXIMUM, SIZE_BYTES_MAXIMUM, WAYS_MAXIMUM,
    WINDOW_MAXIMUM,
};
use super::processor::Core;
use super::topology::Topology;
use super::translation_rules;

/// Distance of a node from itself.
const LOCAL: u32 = 10;

/// One more than the largest distance: 255 in the table marks unreachable nodes.
const UNREACHABLE: u32 = 255;

impl Machine {
    /// Checks the rules that the types cannot express. L1s and L2s must have a power of two of
    /// sets, like all real ones. The L3 may have any number of sets, because those of real servers
    /// often are not powers of two.
    ///
    /// # Errors
    /// The broken rule, the level that breaks it, and the remedy.
    pub fn check(&self) -> Result<(), ImpossibleMachine> {
        check(self)
    }
}

/// Returns an error for the first rule that `machine` breaks.
fn check(machine: &Machine) -> Result<(), ImpossibleMachine> {
    if machine.cores == 0 || machine.cores > CORES_MAXIMUM {
        let cores = machine.cores;
        return Err(ImpossibleMachine::Cores { cores });
    }
    let Machine { l1i, l1d, l2, .. } = machine;
    for (name, level) in [("l1i", l1i), ("l1d", l1d), ("l2", l2)] {
        check_level(name, level)?;
        if !level.sets().is_power_of_two() {
            return Err(ImpossibleMachine::Sets {
                name,
                size_bytes: level.size_bytes,
                ways: level.ways,
                sets: level.sets(),
            });
        }
    }
    if let Some(l3) = &machine.l3 {
        check_level("l3", l3)?;
    }
    check_inclusion(machine)?;
    check_sharing(machine)?;
    check_groups(machine)?;
    check_distances(machine)?;
    if let Some(translation) = &machine.translation {
        translation_rules::check(translation)?;
    }
    check_idle_hops(machine)?;
    check_core(&machine.core)
}

fn check_idle_hops(machine: &Machine) -> Result<(), ImpossibleMachine> {
    let mut before = 0;
    for hop in &machine.idle_hops {
        if hop.idle_cycles <= before {
            let idle_cycles = hop.idle_cycles;
            return Err(ImpossibleMachine::IdleHops {
                idle_cycles,
                before,
            });
        }
        before = hop.idle_cycles;
    }
    Ok(())
}

fn check_core(core: &Core) -> Result<(), ImpossibleMachine> {
    let rate = core.instructions_in_1000_cycles;
    if rate == 0 || rate > 1000 * INSTRUCTIONS_MAXIMUM {
        return Err(ImpossibleMachine::InstructionsPerCycle);
    }
    for (field, value) in [
        (
            "reorder_window_instructions",
            core.reorder_window_instructions,
        ),
        ("store_buffer_entries", core.store_buffer_entries),
        ("mispredict_cycles", core.mispredict_cycles),
    ] {
        if value == 0 || value > WINDOW_MAXIMUM {
            return Err(ImpossibleMachine::Window { field, value });
        }
    }
    Ok(())
}

fn check_level(name: &'static str, level: &Level) -> Result<(), ImpossibleMachine> {
    let (size_bytes, ways) = (level.size_bytes, level.ways);
    if size_bytes == 0 || ways == 0 {
        return Err(ImpossibleMachine::Empty {
            name,
            size_bytes,
            ways,
        });
    }
    if !size_bytes.is_multiple_of(u64::from(ways) * LINE_SIZE_BYTES) {
        return Err(ImpossibleMachine::Ways {
            name,
            size_bytes,
            ways,
        });
    }
    if size_bytes > SIZE_BYTES_MAXIMUM {
        return Err(ImpossibleMachine::TooLarge { name, size_bytes });
    }
    if ways > WAYS_MAXIMUM {
        return Err(ImpossibleMachine::TooManyWays { name, ways });
    }
    let tree = ways.is_power_of_two() && ways <= PLRU_WAYS_MAXIMUM;
    if level.policy == Policy::Plru && !tree {
        return Err(ImpossibleMachine::Plru { name, ways });
    }
    Ok(())
}

fn check_inclusion(machine: &Machine) -> Result<(), ImpossibleMachine> {
    let Machine { l1i, l1d, l2, .. } = machine;
    for (name, level) in [("l1i", l1i), ("l1d", l1d)] {
        if level.inclusion != Inclusion::default() {
            return Err(ImpossibleMachine::InclusionOfL1 { name });
        }
    }
    if l2.inclusion == Inclusion::Exclusive {
        return Err(ImpossibleMachine::ExclusiveL2);
    }
    let mut included = vec![("l1i", l1i, "l2", l2), ("l1d", l1d, "l2", l2)];
    if let Some(l3) = &machine.l3 {
        included.extend([
            ("l2", l2, "l3", l3),
            ("l1i", l1i, "l3", l3),
            ("l1d", l1d, "l3", l3),
        ]);
    }
    for (inner, inner_level, outer, outer_level) in included {
        let (inner_size, outer_size) = (inner_level.size_bytes, outer_level.size_bytes);
        if outer_level.inclusion == Inclusion::Inclusive && outer_size < inner_size {
            return Err(ImpossibleMachine::TooSmallToInclude {
                outer,
                outer_size,
                inner,
                inner_size,
            });
        }
    }
    Ok(())
}

/// Checks that cores that share a cache are neighbours and also share all outer levels.
fn check_sharing(machine: &Machine) -> Result<(), ImpossibleMachine> {
    if let Some(l3) = &machine.l3
        && l3.shared_by != 1
    {
        return Err(ImpossibleMachine::SharingOfL3);
    }
    let (l1i, l1d) = (machine.l1i.shared_by, machine.l1d.shared_by);
    let l2 = machine.l2.shared_by;
    for (name, shared_by, outer, cores) in [
        ("l2", l2, "the machine's cores", machine.cores),
        ("l1i", l1i, "l2's shared_by", l2),
        ("l1d", l1d, "l2's shared_by", l2),
    ] {
        if shared_by == 0 || !cores.is_multiple_of(shared_by) {
            return Err(ImpossibleMachine::SharedBy {
                name,
                shared_by,
                outer,
                cores,
            });
        }
    }
    Ok(())
}

/// Checks that groups consist of whole L2s, nest in each other, and cover the machine.
fn check_groups(machine: &Machine) -> Result<(), ImpossibleMachine> {
    let topology = &machine.topology;
    let groups = [
        ("cores_per_l3", topology.cores_per_l3),
        ("cores_per_node", topology.cores_per_node),
    ];
    for (key, size) in groups {
        let Some(size) = size else {
            continue;
        };
        let whole = |inner: u32, outer: u32| inner > 0 && outer.is_multiple_of(inner);
        if size == 0 || !whole(size, machine.cores) || !whole(machine.l2.shared_by, size) {
            return Err(ImpossibleMachine::Group { key, size });
        }
    }
    if let (Some(l3), Some(node)) = (topology.cores_per_l3, topology.cores_per_node)
        && !l3.is_multiple_of(node)
        && !node.is_multiple_of(l3)
    {
        return Err(ImpossibleMachine::Groups { l3, node });
    }
    if machine.l3.is_some() && topology.cores_per_l3.is_some_and(|l3| l3 < machine.cores) {
        return Err(ImpossibleMachine::SeveralL3s);
    }
    Ok(())
}

/// Checks that there is a distance from each node to each node.
fn check_distances(machine: &Machine) -> Result<(), ImpossibleMachine> {
    let Topology {
        cores_per_node,
        node_distances,
        ..
    } = &machine.topology;
    if node_distances.is_empty() {
        return Ok(());
    }
    let nodes = cores_per_node.map_or(0, |size| (machine.cores / size) as usize);
    let is_sound = |(node, row): (usize, &Vec<u32>)| {
        let range = LOCAL..UNREACHABLE;
        row.len() == nodes && row[node] == LOCAL && row.iter().all(|d| range.contains(d))
    };
    let rows = node_distances.iter().enumerate();
    if node_distances.len() != nodes || !rows.into_iter().all(is_sound) {
        return Err(ImpossibleMachine::NodeDistances { nodes });
    }
    Ok(())
}
