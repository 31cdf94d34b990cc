//! With address translation, every view adds up to the replay's counters and TLB counters, and
//! equals a naive attribution with the simulator's oracle of TLBs.

use crate::generated::{AREAS, STACKS, Step, record, steps, steps_of_few_lines};
use crate::naive::attributed_with;
use crate::paging::Region;
use crate::random::translations::translations;
use crate::random::{holds, machines};
use crate::sharing_equals_a_naive_attribution::{by_address, plain, totals};
use crate::views_equal_a_naive_attribution::{VIEWS, add_up, by_name, by_names, sum};
use corehop_profile::{Cost, Order, SharingCost, profile, profile_nested, profile_with_sharing};
use corehop_simulator::{
    Machine, PageSize, PageSizes, Replay, ReplayOptions, Split, TlbCounters, replay,
};
use corehop_traces::{RequestId, Trace};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Case {
    steps: Vec<Step>,
    machine: Machine,
    regions: Vec<Region>,
    cores: u32,
    warm_up: usize,
}

/// Larger pages at some of the addresses that programs use.
fn regions() -> impl Strategy<Value = Vec<Region>> {
    let starts = [AREAS[0], AREAS[1], AREAS[2], STACKS[0], 0x40_0000];
    let first = (prop::sample::select(starts.to_vec()), 0u64..0x2000);
    let first = first.prop_map(|(area, place)| area + place);
    let size = prop_oneof![Just(PageSize::Large), Just(PageSize::Huge)];
    let region = (first, 0u64..0x4000, size);
    let region = region.prop_map(|(first, more, size)| (first, first + more, size));
    vec(region, 0..3)
}

fn cases(steps: impl Strategy<Value = Vec<Step>>) -> impl Strategy<Value = Case> {
    let machine = machines_with_tlbs();
    let all = (steps, machine, regions(), 1u32..4, 0usize..3);
    all.prop_map(|(steps, machine, regions, cores, warm_up)| Case {
        steps,
        regions,
        cores: cores.min(machine.cores),
        machine,
        warm_up,
    })
}

/// Random machines that translate addresses.
pub fn machines_with_tlbs() -> impl Strategy<Value = Machine> {
    (machines(), translations()).prop_map(|(machine, translation)| Machine {
        translation: Some(translation),
        ..machine
    })
}

impl Case {
    fn trace(&self, folder: &tempfile::TempDir) -> Trace {
        record(&folder.path().join("server.trace"), &self.steps).unwrap()
    }

    fn warm_up(&self, trace: &Trace) -> usize {
        match self.warm_up < trace.requests().len() {
            true => self.warm_up,
            false => 0,
        }
    }

    fn page_sizes(&self) -> PageSizes {
        let regions = self.regions.iter();
        regions.fold(PageSizes::default(), |sizes, &(first, last, size)| {
            sizes.at_least((first, last), size)
        })
    }
}

fn tlb_totals(replay: &Replay) -> [u64; 2] {
    let all: TlbCounters = replay.tlbs.iter().copied().sum();
    [all.l1_misses(), all.walks()]
}

fn translations_of(cost: &Cost) -> [u64; 2] {
    [cost.l1_tlb_misses(), cost.walks()]
}

#[test]
fn every_view_adds_up_and_equals_a_naive_one() {
    holds("walks of random traces", cases(steps()), |case| {
        let folder = tempfile::tempdir().unwrap();
        let trace = case.trace(&folder);
        let warm_up = case.warm_up(&trace);
        let page_sizes = case.page_sizes();
        let options = ReplayOptions {
            warm_up_requests: warm_up,
            page_sizes: Some(&page_sizes),
            ..ReplayOptions::default()
        };
        let (machine, split) = (&case.machine, Split::thread_per_core(case.cores));
        let of = profile(&trace, (machine, &split), &options, &VIEWS).unwrap();
        prop_assert_eq!(
            &of.replay,
            &replay(&trace, machine, &split, &options).unwrap()
        );
        for cost in of.views.iter().map(sum).chain([of.total]) {
            prop_assert_eq!(cost.counters(machine), of.replay.counters);
            prop_assert_eq!(translations_of(&cost), tlb_totals(&of.replay));
        }
        let from = (warm_up > 0).then_some(RequestId(warm_up as u32));
        let on = (machine, case.cores);
        let expected = attributed_with(&trace, on, from, Some(&case.regions));
        let (nested, functions) = profile_nested(&trace, (machine, &split), &options).unwrap();
        prop_assert_eq!((&nested.replay, nested.total), (&of.replay, of.total));
        prop_assert!(functions.iter().all(add_up));
        let translated: Cost = functions.iter().map(|of| of.row.cost).sum();
        prop_assert_eq!(translations_of(&translated), tlb_totals(&of.replay));
        prop_assert_eq!(by_names(&functions, machine), expected.nested);
        let expected = [expected.functions, expected.lines, expected.objects];
        for (view, expected) in of.views.iter().zip(expected) {
            prop_assert_eq!(by_name(view, machine), expected);
            let sorted = view.sorted(Order::Walks, machine).into_iter();
            let walks: Vec<u64> = sorted.map(|row| row.cost.walks()).collect();
            prop_assert!(walks.is_sorted_by(|more, less| more >= less));
        }
        Ok(())
    });
}

#[test]
fn walks_are_not_shared_lines() {
    let cases = cases(steps_of_few_lines());
    holds("walks and sharing of random traces", cases, |case| {
        let folder = tempfile::tempdir().unwrap();
        let trace = case.trace(&folder);
        let page_sizes = case.page_sizes();
        let untranslated = ReplayOptions {
            warm_up_requests: case.warm_up(&trace),
            ..ReplayOptions::default()
        };
        let options = ReplayOptions {
            page_sizes: Some(&page_sizes),
            ..untranslated.clone()
        };
        let split = Split::thread_per_core(case.cores);
        let on = (&case.machine, &split);
        let of = profile_with_sharing(&trace, on, &options, &VIEWS).unwrap();
        let without = profile(&trace, on, &options, &VIEWS).unwrap();
        prop_assert_eq!(&of.views, &without.views);
        let sharing = of.sharing.as_ref().unwrap();
        let mut sum = sharing.shared;
        sum += sharing.not_shared;
        prop_assert_eq!(&plain(&sum)[..6], &totals(&of));

        // Loads, stores, and true and false sharing do not depend on the caches.
        let plain = profile_with_sharing(&trace, on, &untranslated, &[]).unwrap();
        let plain = plain.sharing.as_ref().unwrap();
        let same = |cost: &SharingCost| {
            (
                cost.loads,
                cost.stores,
                cost.true_sharing,
                cost.false_sharing,
            )
        };
        prop_assert_eq!(same(&sharing.shared), same(&plain.shared));
        let [lines, expected] = [sharing, plain].map(by_address);
        prop_assert!(lines.keys().eq(expected.keys()));
        Ok(())
    });
}
