//! Random machines whose L2s have several page colours, and programs that access a few lines of
//! many pages.

use crate::random::machines;
use crate::recording::programs;
use crate::steps::Step;
use corehop_simulator::{Inclusion, Level, Machine, PAGE_BYTES};
use proptest::prelude::*;

/// Pages that programs access, except those of code and of the kernel.
pub const PAGES: [u64; 6] = [0, 5, 10, 15, 20, 25];

/// Number of accessed lines of a page.
const LINES: u64 = 4;

/// Machines with 2 to 32 colours; all other levels have a few sets, or 64 times as many.
pub fn coloured_machines() -> impl Strategy<Value = Machine> {
    (machines(), 1u32..6, any::<bool>()).prop_map(|(machine, power, all_large)| {
        let times = if all_large { 64 } else { 1 };
        let larger = |level: Level| Level {
            size_bytes: level.size_bytes * times,
            ..level
        };
        let l2 = Level {
            size_bytes: (PAGE_BYTES * u64::from(machine.l2.ways)) << power,
            ..machine.l2
        };
        let mut machine = Machine {
            l1i: larger(machine.l1i),
            l1d: larger(machine.l1d),
            l2,
            l3: machine.l3.map(larger),
            ..machine
        };
        let largest_l1 = machine.l1i.size_bytes.max(machine.l1d.size_bytes);
        if l2.size_bytes < largest_l1 {
            machine.l2.inclusion = Inclusion::NonInclusive;
        }
        if let Some(l3) = &mut machine.l3
            && l3.inclusion == Inclusion::Inclusive
            && l3.size_bytes < largest_l1.max(l2.size_bytes)
        {
            l3.inclusion = Inclusion::NonInclusive;
        }
        machine
    })
}

/// Programs whose data is on many pages; each step references it several times.
pub fn spread_programs() -> impl Strategy<Value = Vec<Step>> {
    (programs(), 1usize..4).prop_map(|(mut steps, times)| {
        for step in &mut steps {
            for (address, _) in &mut step.data {
                *address = spread(*address);
            }
            step.data = step.data.repeat(times);
        }
        steps
    })
}

fn spread(address: u64) -> u64 {
    let kernel = !0 << 40;
    let (above, below) = (address & kernel, address & !kernel);
    let touched = LINES * 64;
    let page = PAGES[(below / touched) as usize % PAGES.len()];
    above + page * PAGE_BYTES + below % touched
}
