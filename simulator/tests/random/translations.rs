//! Random TLBs and page-walk caches of a few entries.

use corehop_simulator::{PageSize, Tlb, TlbUse, Translation, WalkCache, WalkStart};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;

/// Number of entries, and optionally of ways.
fn sizes() -> impl Strategy<Value = (u32, Option<u32>)> {
    let some = prop_oneof![1 => Just(None), 4 => (1u32..4).prop_map(Some)];
    (1u32..5, some).prop_map(|(count, ways)| (count * ways.unwrap_or(1), ways))
}

/// TLBs of one level: shared by all page sizes or separate, shared by all accesses or separate. The
/// second level may be empty.
fn tlbs(level: u32) -> impl Strategy<Value = Vec<Tlb>> {
    let least = usize::from(level == 1);
    let larger = subsequence(vec![PageSize::Large, PageSize::Huge], 0..=2);
    let of_use = move || {
        let all = (larger.clone(), any::<bool>(), vec(sizes(), 3), least..2);
        all.prop_map(move |(larger, together, sizes, count)| {
            let mut held = vec![vec![PageSize::Small]];
            for size in larger {
                match together {
                    true => held[0].push(size),
                    false => held.push(vec![size]),
                }
            }
            let tlb = |(page_sizes, (entries, ways))| Tlb {
                level,
                of: TlbUse::All,
                page_sizes,
                entries,
                ways,
            };
            let tlbs = held.into_iter().zip(sizes).map(tlb);
            tlbs.take(count * 3).collect::<Vec<Tlb>>()
        })
    };
    (of_use(), of_use(), any::<bool>()).prop_map(|(fetches, data, together)| {
        if together {
            return data;
        }
        let of = |tlbs: Vec<Tlb>, of| tlbs.into_iter().map(move |tlb| Tlb { of, ..tlb });
        of(fetches, TlbUse::Fetches)
            .chain(of(data, TlbUse::Data))
            .collect()
    })
}

/// Any translation of a machine.
pub fn translations() -> impl Strategy<Value = Translation> {
    let starts = prop_oneof![
        2 => Just(WalkStart::L1d),
        2 => Just(WalkStart::L2),
        1 => Just(WalkStart::None)
    ];
    let levels = subsequence(vec![2u32, 3, 4], 0..=3);
    let all = (starts, tlbs(1), tlbs(2), levels, vec(sizes(), 3));
    all.prop_map(|(walks, first, second, levels, sizes)| {
        let cache = |(level, (entries, ways))| WalkCache {
            level,
            entries,
            ways,
        };
        Translation {
            walks,
            second_level_cycles: 7,
            walk_cycles: 0,
            tlbs: [first, second].concat(),
            walk_caches: levels.into_iter().zip(sizes).map(cache).collect(),
        }
    })
}
