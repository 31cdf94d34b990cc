//! Cases whose counts follow by arithmetic.

use corehop_simulator::{
    CoreId, Machine, PageSize, PageSizes, Replay, Replayer, Split, TlbCounters, TlbUseCounters,
};
use corehop_traces::{Access, Execution, FunctionId, Kind, ThreadId};

fn machine(translation: &str) -> Machine {
    super::machine(&format!("[translation]\n{translation}")).unwrap()
}

fn tlb(level: u32, entries: u32, more: &str) -> String {
    format!("[[translation.tlb]]\nlevel = {level}\nentries = {entries}\n{more}\n")
}

const SMALL: &str = "page_sizes = [\"4K\"]";

fn access(kind: Kind, address: u64) -> Access {
    Access {
        address,
        pc: 0,
        size_bytes: 8,
        kind,
    }
}

/// Replays these accesses, each an execution of the function of this number.
fn replay(machine: &Machine, sizes: &PageSizes, split: &Split, all: &[(u32, Access)]) -> Replay {
    let replayer = Replayer::new(machine, split).unwrap();
    let mut replayer = replayer.with_translation(sizes).unwrap();
    for (number, &(function, access)) in (0..).zip(all) {
        replayer.execute(&Execution {
            thread: ThreadId(0),
            stamp: 0,
            request: None,
            number,
            code_block: function,
            template: 0,
            entry: Some(FunctionId(function)),
            accesses: &[access],
        });
    }
    replayer.finish()
}

fn on_one_core(machine: &Machine, all: &[Access]) -> (Replay, TlbCounters) {
    let all: Vec<_> = all.iter().map(|&access| (0, access)).collect();
    let replay = replay(machine, &PageSizes::default(), &Split::default(), &all);
    let tlbs = replay.tlbs[0];
    (replay, tlbs)
}

fn used(lookups: u64, l1_misses: u64, walks: u64) -> TlbUseCounters {
    TlbUseCounters {
        lookups,
        l1_misses,
        walks,
    }
}

#[test]
fn an_access_looks_each_of_its_pages_up_once() {
    let machine = machine(&tlb(1, 4, SMALL));
    let (_, tlbs) = on_one_core(&machine, &[access(Kind::Load, 4092)]);
    assert_eq!(tlbs.data, used(2, 2, 2));
    let (_, tlbs) = on_one_core(&machine, &[access(Kind::Store, 4088)]);
    assert_eq!(tlbs.data, used(1, 1, 1));
    let (_, tlbs) = on_one_core(&machine, &[access(Kind::Store, 60)]);
    assert_eq!(tlbs.data, used(1, 1, 1), "two lines of a page");
}

#[test]
fn a_tlb_of_one_entry_holds_the_last_page() {
    let machine = machine(&tlb(1, 1, SMALL));
    let loads: Vec<_> = [0, 8, 4096, 4104, 0, 4096]
        .map(|address| access(Kind::Load, address))
        .into();
    let (replay, tlbs) = on_one_core(&machine, &loads);
    assert_eq!(tlbs.data, used(6, 4, 4));
    // Without page-walk caches, a walk reads four entries.
    assert_eq!(tlbs.walk_loads, 16);
    // The entries of the two pages are in one line; each further level adds one line.
    assert_eq!(tlbs.walk_l1d_misses, 4);
    assert_eq!(replay.counters.l1d.load.accesses, 6 + 16);
    assert_eq!(replay.counters.l1d.load.misses.total(), 2 + 4);
    assert_eq!(replay.accesses, 22);
    let cycles = 6 * 200 + 16 * 4;
    assert_eq!(replay.counters.cycles, cycles);
}

#[test]
fn a_full_set_gives_up_the_page_that_is_not_used_the_longest() {
    let machine = machine(&tlb(1, 4, SMALL));
    // Four pages fit; accessing five cyclically always evicts the next one.
    let in_a_circle = |pages: u64| {
        let loads = (0..10 * pages).map(|n| access(Kind::Load, n % pages * 4096));
        on_one_core(&machine, &loads.collect::<Vec<_>>()).1
    };
    assert_eq!(in_a_circle(4).data, used(40, 4, 4));
    assert_eq!(in_a_circle(5).data, used(50, 50, 50));
}

#[test]
fn sets_are_chosen_by_the_page_number() {
    let two_ways = format!("ways = 2\n{SMALL}");
    let machine = machine(&tlb(1, 4, &two_ways));
    let pages = |step: u64| {
        let loads = (0..30).map(|n| access(Kind::Load, n % 3 * step * 4096));
        on_one_core(&machine, &loads.collect::<Vec<_>>()).1
    };
    assert_eq!(pages(1).data, used(30, 3, 3));
    assert_eq!(pages(2).data, used(30, 30, 30), "all in one set of two");
}

#[test]
fn fetches_and_data_of_one_page_share_what_is_for_all() {
    let both = [access(Kind::Fetch, 0), access(Kind::Load, 128)];
    let shared = machine(&tlb(1, 4, SMALL));
    let (_, tlbs) = on_one_core(&shared, &both);
    assert_eq!((tlbs.fetch, tlbs.data), (used(1, 1, 1), used(1, 0, 0)));

    let (fetches, data) = ("of = \"fetches\"", "of = \"data\"");
    let apart = tlb(1, 4, &format!("{SMALL}\n{fetches}")) + &tlb(1, 4, &format!("{SMALL}\n{data}"));
    let (_, tlbs) = on_one_core(&machine(&apart), &both);
    assert_eq!((tlbs.fetch, tlbs.data), (used(1, 1, 1), used(1, 1, 1)));

    let unified_l2 = machine(&(apart + &tlb(2, 8, SMALL)));
    let (_, tlbs) = on_one_core(&unified_l2, &both);
    assert_eq!((tlbs.fetch, tlbs.data), (used(1, 1, 1), used(1, 1, 0)));
}

#[test]
fn page_walk_caches_spare_the_upper_levels() {
    let caches = "\
[[translation.walk_cache]]
level = 2
entries = 1
[[translation.walk_cache]]
level = 3
entries = 1
";
    let machine = machine(&(tlb(1, 1, SMALL) + caches));
    let loads = |addresses: &[u64]| {
        let loads = addresses.iter().map(|&at| access(Kind::Load, at));
        on_one_core(&machine, &loads.collect::<Vec<_>>())
            .1
            .walk_loads
    };
    assert_eq!(loads(&[0]), 4);
    assert_eq!(loads(&[0, 4096]), 4 + 1, "the same page directory's entry");
    assert_eq!(loads(&[0, 1 << 21]), 4 + 2, "another");
    assert_eq!(loads(&[0, 1 << 30]), 4 + 4, "no cache of level 4");
    assert_eq!(loads(&[0, 1 << 21, 0]), 4 + 2 + 2, "one entry only");
}

#[test]
fn a_large_page_takes_one_entry_and_a_shorter_walk() {
    let sizes = "page_sizes = [\"4K\", \"2M\", \"1G\"]";
    let machine = machine(&tlb(1, 4, sizes));
    let all: Vec<_> = (0..512)
        .map(|page| (0, access(Kind::Load, page * 4096)))
        .collect();
    let split = Split::default();
    let walks = |sizes: &PageSizes| {
        let tlbs = replay(&machine, sizes, &split, &all).tlbs[0];
        (tlbs.walks(), tlbs.walk_loads)
    };
    assert_eq!(walks(&PageSizes::default()), (512, 4 * 512));
    assert_eq!(walks(&PageSizes::all(PageSize::Large)), (1, 3));
    assert_eq!(walks(&PageSizes::all(PageSize::Huge)), (1, 2));
    // One byte in a region of large pages makes the whole page large.
    let region = PageSizes::default().at_least((0x1f_ffff, 0x1f_ffff), PageSize::Large);
    assert_eq!(walks(&region), (1, 3));
    let elsewhere = PageSizes::default().at_least((0x20_0000, 0x20_0000), PageSize::Large);
    assert_eq!(walks(&elsewhere), (512, 4 * 512));
    assert_eq!(PageSizes::default().of(u64::MAX), PageSize::Small);
    let top = PageSizes::default().at_least((u64::MAX - 1, u64::MAX), PageSize::Huge);
    assert_eq!(top.of(u64::MAX), PageSize::Huge);
}

#[test]
fn a_thread_that_hops_finds_the_other_cores_tlb() {
    let machine = machine(&tlb(1, 4, SMALL));
    let split = Split::new([(FunctionId(0), CoreId(0)), (FunctionId(1), CoreId(1))]);
    let all: Vec<_> = (0..10)
        .map(|call| (call % 2, access(Kind::Load, 0)))
        .collect();
    let replay = replay(&machine, &PageSizes::default(), &split, &all);
    assert_eq!(replay.hops, 9);
    for tlbs in &replay.tlbs {
        assert_eq!(tlbs.data, used(5, 1, 1));
    }
    // Page-table entries are shared memory: core 1 gets them from core 0's caches.
    assert_eq!(replay.per_core[1].transfers, 5);
}

#[test]
fn walks_that_begin_at_the_l2_leave_the_l1d_alone() {
    let at_l2 = format!("walks = \"l2\"\n{}", tlb(1, 1, SMALL));
    let (replay, tlbs) = on_one_core(&machine(&at_l2), &[access(Kind::Load, 0)]);
    assert_eq!(replay.counters.l1d.accesses(), 1);
    assert_eq!(replay.counters.l2.accesses(), 5);
    assert_eq!((tlbs.walk_l1d_misses, tlbs.walk_l2_misses), (0, 4));
    assert_eq!(replay.counters.cycles, 5 * 200);

    let nowhere = format!("walks = \"none\"\n{}", tlb(1, 1, SMALL));
    let (replay, tlbs) = on_one_core(&machine(&nowhere), &[access(Kind::Load, 0)]);
    assert_eq!(replay.counters.l2.accesses(), 1);
    assert_eq!((tlbs.walk_loads, tlbs.walk_l2_misses), (4, 0));
}
