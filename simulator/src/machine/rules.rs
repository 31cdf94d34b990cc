//! What a machine must keep to beyond its types, so that the caches never have to check.
//!
//! Each rule names the level and says what to change. Sizes that real machines have are all
//! accepted: the third level may have any number of sets, a level any number of ways.

use super::description::{CORES_MAXIMUM, Inclusion, LINE_SIZE_BYTES, Level, Machine, Policy};
use super::processor::Core;

/// Largest cache that is simulated: its tags take a tenth of its size in the host's memory.
const SIZE_BYTES_MAXIMUM: u64 = 8 << 30;

/// Most ways of a cache: where a line lies in its set is kept in seven bits, of which four values
/// say why it does not.
const WAYS_MAXIMUM: u32 = 124;

/// Most ways that a tree of bits in one word can choose from.
const PLRU_WAYS_MAXIMUM: u32 = 64;

/// Most instructions a cycle.
const INSTRUCTIONS_MAXIMUM: u32 = 64;

/// Most instructions of a reorder window, and stores of a store buffer.
const WINDOW_MAXIMUM: u32 = 1 << 16;

impl Machine {
    /// The rules a machine keeps beyond its types. L1s and L2s have a power of two of sets, as
    /// all that are built have; the L3 of real servers often has not, so any number will do there.
    ///
    /// # Errors
    /// Which rule is broken, by which level, and what to do.
    pub fn check(&self) -> Result<(), String> {
        check(self)
    }
}

/// Which rule `machine` breaks, if any.
fn check(machine: &Machine) -> Result<(), String> {
    if machine.cores == 0 || machine.cores > CORES_MAXIMUM {
        return Err(format!(
            "cores = {}: give the machine 1 to {CORES_MAXIMUM}",
            machine.cores
        ));
    }
    let Machine { l1i, l1d, l2, .. } = machine;
    for (name, level) in [("l1i", l1i), ("l1d", l1d), ("l2", l2)] {
        check_level(name, level)?;
        if !level.sets().is_power_of_two() {
            return Err(format!(
                "{name}: {} bytes in {} ways of {LINE_SIZE_BYTES} bytes make {} sets, which is \
                 no power of two: change size_bytes or ways",
                level.size_bytes,
                level.ways,
                level.sets()
            ));
        }
    }
    if let Some(l3) = &machine.l3 {
        check_level("l3", l3)?;
    }
    check_inclusion(machine)?;
    check_sharing(machine)?;
    check_core(&machine.core)
}

fn check_core(core: &Core) -> Result<(), String> {
    let rate = core.instructions_in_1000_cycles;
    if rate == 0 || rate > 1000 * INSTRUCTIONS_MAXIMUM {
        return Err(format!(
            "core: instructions_per_cycle: give it 0.001 to {INSTRUCTIONS_MAXIMUM}"
        ));
    }
    for (name, value) in [
        (
            "reorder_window_instructions",
            core.reorder_window_instructions,
        ),
        ("store_buffer_entries", core.store_buffer_entries),
    ] {
        if value == 0 || value > WINDOW_MAXIMUM {
            return Err(format!(
                "core: {name} = {value}: give it 1 to {WINDOW_MAXIMUM}"
            ));
        }
    }
    Ok(())
}

fn check_level(name: &str, level: &Level) -> Result<(), String> {
    let (size_bytes, ways) = (level.size_bytes, level.ways);
    if size_bytes == 0 || ways == 0 {
        return Err(format!(
            "{name}: size_bytes = {size_bytes}, ways = {ways}: a cache has at least one line"
        ));
    }
    if !size_bytes.is_multiple_of(u64::from(ways) * LINE_SIZE_BYTES) {
        return Err(format!(
            "{name}: {size_bytes} bytes do not divide into {ways} ways of {LINE_SIZE_BYTES}-byte \
             lines: change size_bytes or ways"
        ));
    }
    if size_bytes > SIZE_BYTES_MAXIMUM {
        return Err(format!(
            "{name}: {size_bytes} bytes: more than {SIZE_BYTES_MAXIMUM} cannot be simulated"
        ));
    }
    if ways > WAYS_MAXIMUM {
        return Err(format!(
            "{name}: ways = {ways}: more than {WAYS_MAXIMUM} cannot be simulated"
        ));
    }
    let tree = ways.is_power_of_two() && ways <= PLRU_WAYS_MAXIMUM;
    if level.policy == Policy::Plru && !tree {
        return Err(format!(
            "{name}: policy = \"plru\", ways = {ways}: its tree needs a power of two of ways, at \
             most {PLRU_WAYS_MAXIMUM}: change ways or policy"
        ));
    }
    Ok(())
}

fn check_inclusion(machine: &Machine) -> Result<(), String> {
    let Machine { l1i, l1d, l2, .. } = machine;
    for (name, level) in [("l1i", l1i), ("l1d", l1d)] {
        if level.inclusion != Inclusion::default() {
            return Err(format!("{name}: inclusion is said of l2 and l3 only"));
        }
    }
    if l2.inclusion == Inclusion::Exclusive {
        return Err(
            "l2: inclusion = \"exclusive\" is simulated for l3 only: choose \"inclusive\" or \
             \"non-inclusive\""
                .into(),
        );
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
            return Err(format!(
                "{outer}: {outer_size} bytes are fewer than the {inner_size} of {inner}, which \
                 an inclusive {outer} must hold: make it larger"
            ));
        }
    }
    Ok(())
}

/// Cores that share a cache are neighbours, and share everything further out too.
fn check_sharing(machine: &Machine) -> Result<(), String> {
    if let Some(l3) = &machine.l3
        && l3.shared_by != 1
    {
        return Err("l3: shared_by is said of the other levels only: all cores share l3".into());
    }
    let (l1i, l1d) = (machine.l1i.shared_by, machine.l1d.shared_by);
    let l2 = machine.l2.shared_by;
    for (name, shared_by, outer, cores) in [
        ("l2", l2, "the machine's cores", machine.cores),
        ("l1i", l1i, "l2's shared_by", l2),
        ("l1d", l1d, "l2's shared_by", l2),
    ] {
        if shared_by == 0 || !cores.is_multiple_of(shared_by) {
            return Err(format!(
                "{name}: shared_by = {shared_by} does not divide {outer}, which is {cores}: \
                 change either"
            ));
        }
    }
    Ok(())
}
