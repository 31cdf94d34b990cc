//! Random programs on random tiny machines, where every kind of eviction is frequent: the
//! simulator and the naive oracle agree on every counter of every core.

mod oracle;

use corehop_simulator::{Counters, Hierarchy, Level, Machine, PrivateCaches};
use corehop_traces::{Access, Kind};
use oracle::Oracle;
use proptest::collection::vec;
use proptest::prelude::*;

/// A machine of a few lines a level: sets as powers of two where they must be, else any number.
fn machines() -> impl Strategy<Value = Machine> {
    let private = || (0u32..3, 1u32..4);
    (private(), private(), 0u32..3, 1u32..4, 0u64..24, 1u32..4).prop_map(
        |((i_sets, i_ways), (d_sets, d_ways), l2_sets, l2_ways, l3_extra, l3_ways)| {
            let lines_wanted = (i_ways << i_sets).max(d_ways << d_sets);
            let l2_ways = l2_ways.max(lines_wanted.div_ceil(1 << l2_sets));
            let l2_lines = u64::from(l2_ways << l2_sets);
            let l3_sets = (l2_lines + l3_extra).div_ceil(u64::from(l3_ways));
            Machine {
                name: "tiny".into(),
                cores: 4,
                l1i: level(1 << i_sets, i_ways, 2),
                l1d: level(1 << d_sets, d_ways, 3),
                l2: level(1 << l2_sets, l2_ways, 11),
                l3: Some(level(l3_sets, l3_ways, 41)),
                memory_latency_cycles: 199,
                transfer_latency_cycles: 41,
                hop_cost_cycles: 1000,
            }
        },
    )
}

fn level(sets: u64, ways: u32, latency_cycles: u32) -> Level {
    Level::new(sets * u64::from(ways) * 64, ways, latency_cycles)
}

/// Accesses of up to four cores to code and data that overlap; one in eight spans two lines.
fn programs() -> impl Strategy<Value = Vec<(usize, Access)>> {
    let kind = prop_oneof![
        3 => Just(Kind::Fetch),
        3 => Just(Kind::Load),
        2 => Just(Kind::Store),
    ];
    let access = (0usize..4, kind, 0u64..40, 0u64..64).prop_map(|(core, kind, line, offset)| {
        let room = 64 - offset as u16;
        let size_bytes = if kind == Kind::Fetch { 8.min(room) } else { 8 };
        let address = line * 64 + offset;
        let access = Access {
            address,
            pc: address,
            size_bytes,
            kind,
        };
        (core, access)
    });
    vec(access, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn every_counter_of_every_core_is_equal(
        machine in machines(),
        cores in 1usize..5,
        program in programs(),
        warm_up in 0usize..100,
    ) {
        prop_assert_eq!(machine.check(), Ok(()));
        let mut fast = Hierarchy::new(&machine, cores as u32);
        let mut naive = Oracle::new(&machine, cores as u32);
        for (step, (core, access)) in program.iter().enumerate() {
            if step == warm_up {
                fast.start_counting();
                naive.start_counting();
            }
            access.lines().for_each(|line| fast.access(core % cores, access.kind, line));
            naive.touch(core % cores, access.kind, access.address, access.size_bytes.into());
        }
        prop_assert_eq!(fast.counters(), naive.counters());
    }

    #[test]
    fn while_the_l3_never_evicts_each_core_can_be_simulated_alone(
        mut machine in machines(),
        program in programs(),
    ) {
        machine.l3 = Some(level(1, 64, 41));
        let mut together = Hierarchy::new(&machine, 4);
        let mut alone: Vec<_> = (0..4).map(|_| PrivateCaches::new(&machine)).collect();
        for (core, access) in program {
            for line in access.lines() {
                together.access(core, access.kind, line);
                for (other, caches) in alone.iter_mut().enumerate() {
                    if other == core {
                        caches.access(access.kind, line);
                    } else if access.kind == Kind::Store {
                        caches.invalidate(line);
                    }
                }
            }
        }
        let private = |counters: Counters| Counters {
            l3: Default::default(),
            cycles: 0,
            ..counters
        };
        let together: Vec<_> = together.counters().into_iter().map(private).collect();
        let alone: Vec<_> = alone.iter().map(PrivateCaches::counters).collect();
        prop_assert_eq!(together, alone);
    }
}
