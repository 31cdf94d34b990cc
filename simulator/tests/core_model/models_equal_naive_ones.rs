//! Models that overlap work equal naive second implementations of the rules in their headers.

use crate::core_model::machine::machine;
use crate::core_model::naive::{Made, Naive, window};
use corehop_simulator::LineId;
use corehop_simulator::core_model::{CoreModel, Interval, Reference, ServedBy, Window};
use corehop_traces::Kind;
use proptest::prelude::*;

const KINDS: [Kind; 3] = [Kind::Fetch, Kind::Load, Kind::Store];
const SERVED_BY: [ServedBy; 5] = [
    ServedBy::L1,
    ServedBy::L2,
    ServedBy::L3,
    ServedBy::OtherL2,
    ServedBy::Memory,
];
/// Latencies of the levels, in the order of [`ServedBy`].
const LATENCIES: [u64; 5] = [4, 12, 40, 70, 200];

#[derive(Clone, Copy, Debug)]
enum Step {
    Instructions(u32),
    Reference(Reference),
    /// It depends on the load that is so far back.
    Mispredicted(u8),
    Switch,
    WaitUntil(u64),
}

fn references() -> impl Strategy<Value = Reference> {
    let back = prop_oneof![3 => 0..3u8, 2 => 0..20u8, 1 => any::<u8>()];
    let at_least = prop_oneof![3 => Just(0), 1 => 0..300u32];
    let served_by = prop::sample::select(&SERVED_BY[..]);
    let translation = prop_oneof![4 => Just(0), 1 => 1..90u32];
    let takes = prop::bool::weighted(0.2);
    let made = (
        0..3usize,
        0..9u32,
        served_by,
        back,
        at_least,
        takes,
        translation,
    );
    made.prop_map(
        |(kind, line, served_by, address_from, at_least, takes, translation_cycles)| Reference {
            kind: KINDS[kind],
            line: LineId(line),
            served_by,
            address_from,
            at_least_cycles: if served_by == ServedBy::L1 {
                0
            } else {
                at_least
            },
            takes_line: takes && KINDS[kind] == Kind::Store,
            translation_cycles,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..30u32).prop_map(Step::Instructions),
        12 => references().prop_map(Step::Reference),
        2 => (0..3u8).prop_map(Step::Mispredicted),
        1 => Just(Step::Switch),
        1 => (0..20_000u64).prop_map(Step::WaitUntil),
    ];
    proptest::collection::vec(step, 1..600)
}

fn made(reference: Reference) -> Made {
    let latency = LATENCIES[reference.served_by as usize];
    Made {
        kind: reference.kind,
        line: u64::from(reference.line.0),
        is_hit: reference.served_by == ServedBy::L1,
        latency: latency.max(reference.at_least_cycles.into()),
        taken: reference.takes_line.then_some(70),
        back: reference.address_from,
        translation: reference.translation_cycles.into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn they_tell_the_same_cycle_after_every_step(
        per_cycle in prop_oneof![Just(4.0), Just(2.5), Just(0.3)],
        window in 1..200u32,
        entries in 1..9u32,
        steps in steps(),
    ) {
        let machine = machine(per_cycle, window, entries);
        let (mut interval, mut window) = (Interval::new(&machine), Window::new(&machine));
        let mut naive_interval = Naive::new(machine.core);
        let mut naive_window = window::Naive::new(machine.core);
        for step in steps {
            match step {
                Step::Instructions(count) => {
                    interval.instructions(count);
                    naive_interval.instructions(count);
                    window.instructions(count);
                    naive_window.instructions(count);
                }
                Step::Reference(reference) => {
                    interval.reference(reference);
                    naive_interval.reference(made(reference));
                    window.reference(reference);
                    naive_window.reference(made(reference));
                }
                Step::Mispredicted(back) => {
                    interval.mispredicted(back);
                    naive_interval.mispredicted(back.into());
                    window.mispredicted(back);
                    naive_window.mispredicted(back.into());
                }
                Step::Switch => {
                    interval.switch();
                    naive_interval.switch();
                    window.switch();
                    naive_window.switch();
                }
                Step::WaitUntil(cycle) => {
                    interval.wait_until(cycle);
                    naive_interval.wait_until(cycle);
                    window.wait_until(cycle);
                    naive_window.wait_until(cycle);
                }
            }
            prop_assert_eq!(interval.cycle(), naive_interval.cycle());
            prop_assert_eq!(interval.load_stalls(), naive_interval.stalls);
            prop_assert_eq!(window.cycle(), naive_window.cycle());
        }
    }
}
