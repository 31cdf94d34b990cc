//! Properties of a core besides its caches, for core models: instructions per cycle, reorder
//! window, store buffer entries, cost of a mispredicted branch, and TLBs.
//!
//! The kernel reports none of these for this machine, so they are looked up by the processor's
//! family and model.

use super::processor_tlbs::{self as tlbs, Tlbs};
use super::translation::Translation;

/// A core, as used by the interval model of `corehop_simulator::core_model`. All [`Machine::cores`]
/// are alike.
///
/// [`Machine::cores`]: super::Machine::cores
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Instructions executed in 1000 cycles while nothing misses.
    pub instructions_in_1000_cycles: u32,
    /// Instructions in flight, retired in order: the size of the reorder buffer.
    pub reorder_window_instructions: u32,
    /// Stores that may wait for their line while the core continues.
    pub store_buffer_entries: u32,
    /// Cycles from when a mispredicted branch is decided to when instructions of the right place
    /// execute.
    pub mispredict_cycles: u32,
}

impl Core {
    const fn new(per_cycle: u32, window: u32, stores: u32) -> Core {
        Core {
            instructions_in_1000_cycles: 1000 * per_cycle,
            reorder_window_instructions: window,
            store_buffer_entries: stores,
            mispredict_cycles: MISPREDICT_CYCLES,
        }
    }

    /// Looks up the core of the processor in a text of the format of Linux's `/proc/cpuinfo`; its
    /// L2s have this many bytes. Returns `None` if it is not in the table.
    pub fn of_processor(cpuinfo: &str, l2_bytes: u64) -> Option<Core> {
        Known::of(cpuinfo, l2_bytes).map(|known| known.core)
    }
}

impl Translation {
    /// Looks up the TLBs of the same.
    pub fn of_processor(cpuinfo: &str, l2_bytes: u64) -> Option<Translation> {
        Known::of(cpuinfo, l2_bytes).map(|known| known.tlbs.translation())
    }
}

/// The default core of a machine file: Skylake's.
impl Default for Core {
    fn default() -> Core {
        SKYLAKE
    }
}

/// Processors with the same core.
struct Known {
    vendor: &'static str,
    family: u32,
    models: &'static [u32],
    core: Core,
    tlbs: Tlbs,
}

impl Known {
    /// Looks up the processor. Hypervisors may report an older model, so an L2 that only recent
    /// cores have outweighs it.
    fn of(cpuinfo: &str, l2_bytes: u64) -> Option<&'static Known> {
        let told = Known::in_text(cpuinfo)?;
        let is_masked = told.vendor == "GenuineIntel" && l2_bytes >= GOLDEN_COVE_L2_BYTES;
        let golden_cove = KNOWN.iter().find(|known| known.core == GOLDEN_COVE);
        golden_cove.filter(|_| is_masked).or(Some(told))
    }

    fn in_text(cpuinfo: &str) -> Option<&'static Known> {
        let value = |key: &str| {
            let line = cpuinfo.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                (name.trim() == key).then_some(value.trim())
            });
            line.unwrap_or("")
        };
        let family: u32 = value("cpu family").parse().ok()?;
        let model: u32 = value("model").parse().ok()?;
        let vendor = value("vendor_id");
        KNOWN.iter().find(|known| {
            known.vendor == vendor && known.family == family && known.models.contains(&model)
        })
    }
}

const fn intel(models: &'static [u32], core: Core, tlbs: Tlbs) -> Known {
    Known {
        vendor: "GenuineIntel",
        family: 6,
        models,
        core,
        tlbs,
    }
}

const fn amd(family: u32, models: &'static [u32], core: Core, tlbs: Tlbs) -> Known {
    Known {
        vendor: "AuthenticAMD",
        family,
        models,
        core,
        tlbs,
    }
}

// Width of allocation, reorder buffer and store buffers: Intel 64 and IA-32 Architectures
// Optimization Reference Manual, the chapters on each microarchitecture. For Golden Cove: Chips and
// Cheese, "Popping the Hood on Golden Cove", 2021. Redwood Cove keeps its sizes: "Intel's Redwood
// Cove: Baby Steps are Still Steps", 2024. Models: Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 4, table 2-1.
const NEHALEM: Core = Core::new(4, 128, 32);
const SANDY_BRIDGE: Core = Core::new(4, 168, 36);
const HASWELL: Core = Core::new(4, 192, 42);
const SKYLAKE: Core = Core::new(4, 224, 56);
const SUNNY_COVE: Core = Core::new(5, 352, 72);
const GOLDEN_COVE: Core = Core::new(6, 512, 114);
/// Bytes of its L2 in servers; no Intel core in the table that is older has as many.
const GOLDEN_COVE_L2_BYTES: u64 = 2 << 20;

// At least 17 in Nehalem and 15 in Sandy Bridge, 12 or 13 in AMD's K10: measured by Fog, "The
// microarchitecture of Intel, AMD and VIA CPUs". `corehop calibrate` measures it.
const MISPREDICT_CYCLES: u32 = 17;

// Width of dispatch, retire queue and store queue: AMD's Software Optimization Guides for families
// 17h (55723, 56305), 19h (56665, 57647) and 1Ah (58455).
const ZEN: Core = Core::new(6, 192, 44);
const ZEN_2: Core = Core::new(6, 224, 48);
const ZEN_3: Core = Core::new(6, 256, 64);
const ZEN_4: Core = Core::new(6, 320, 64);
const ZEN_5: Core = Core::new(8, 448, 104);

const KNOWN: &[Known] = &[
    intel(
        &[0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f],
        NEHALEM,
        tlbs::NEHALEM,
    ),
    intel(&[0x2a, 0x2d, 0x3a, 0x3e], SANDY_BRIDGE, tlbs::SANDY_BRIDGE),
    intel(&[0x3c, 0x3f, 0x45, 0x46], HASWELL, tlbs::HASWELL),
    intel(&[0x3d, 0x47, 0x4f, 0x56], HASWELL, tlbs::BROADWELL),
    intel(
        &[0x4e, 0x55, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6],
        SKYLAKE,
        tlbs::SKYLAKE,
    ),
    intel(
        &[0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7],
        SUNNY_COVE,
        tlbs::SUNNY_COVE,
    ),
    intel(
        &[0x8f, 0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xcf, 0xaa, 0xad, 0xae],
        GOLDEN_COVE,
        tlbs::GOLDEN_COVE,
    ),
    amd(0x17, &[0x01, 0x08, 0x11, 0x18], ZEN, tlbs::ZEN),
    amd(
        0x17,
        &[0x31, 0x47, 0x60, 0x68, 0x71, 0x90, 0xa0],
        ZEN_2,
        tlbs::ZEN_2,
    ),
    amd(
        0x19,
        &[0x01, 0x08, 0x21, 0x40, 0x44, 0x50],
        ZEN_3,
        tlbs::ZEN_3,
    ),
    amd(
        0x19,
        &[0x10, 0x11, 0x18, 0x61, 0x74, 0x75, 0x78, 0xa0],
        ZEN_4,
        tlbs::ZEN_4,
    ),
    amd(
        0x1a,
        &[0x02, 0x11, 0x24, 0x44, 0x60, 0x70],
        ZEN_5,
        tlbs::ZEN_5,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn cpuinfo(vendor: &str, family: u32, model: u32) -> String {
        format!(
            "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n\
             model name\t: one of them\n\nprocessor\t: 1\nmodel\t\t: 1\n"
        )
    }

    fn of(vendor: &str, family: u32, model: u32) -> Option<Core> {
        Core::of_processor(&cpuinfo(vendor, family, model), 1 << 20)
    }

    #[test]
    fn a_core_is_found_by_vendor_family_and_model() {
        assert_eq!(of("GenuineIntel", 6, 0x4f), Some(HASWELL));
        assert_eq!(of("GenuineIntel", 6, 0x8f), Some(GOLDEN_COVE));
        assert_eq!(of("AuthenticAMD", 0x19, 0x11), Some(ZEN_4));
        assert_eq!(of("AuthenticAMD", 0x1a, 0x02), Some(ZEN_5));
    }

    #[test]
    fn another_vendor_family_or_model_is_not_in_the_table() {
        assert_eq!(of("AuthenticAMD", 6, 0x4f), None);
        assert_eq!(of("GenuineIntel", 15, 0x4f), None);
        assert_eq!(of("GenuineIntel", 6, 0x01), None);
        assert_eq!(Core::of_processor("", 1 << 20), None);
        let many = "cpu family : many\nmodel : 1";
        assert_eq!(Core::of_processor(many, 1 << 20), None);
    }

    #[test]
    fn an_l2_of_recent_cores_outweighs_the_model() {
        let intel = cpuinfo("GenuineIntel", 6, 0xa7);
        assert_eq!(Core::of_processor(&intel, 1 << 19), Some(SUNNY_COVE));
        assert_eq!(Core::of_processor(&intel, 2 << 20), Some(GOLDEN_COVE));
        let amd = cpuinfo("AuthenticAMD", 0x19, 0x11);
        assert_eq!(Core::of_processor(&amd, 2 << 20), Some(ZEN_4));
    }

    #[test]
    fn the_tlbs_of_every_processor_can_be_simulated() {
        for known in KNOWN {
            let mut machine = crate::Machine::named_or_path("xeon-e5-2620-v4").unwrap();
            machine.translation = Some(known.tlbs.translation());
            assert_eq!(machine.check(), Ok(()), "{:?}", known.models);
        }
    }

    #[test]
    fn no_processor_is_in_the_table_twice() {
        let mut all: Vec<_> = KNOWN
            .iter()
            .flat_map(|known| {
                known
                    .models
                    .iter()
                    .map(|model| (known.vendor, known.family, model))
            })
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
