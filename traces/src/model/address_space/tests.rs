//! Checks that equal located addresses are the same byte, at every time and in every process.

use super::*;

const PAGE: u64 = 4096;

fn thread(process_id: u32) -> Thread {
    Thread {
        process_id,
        os_thread_id: 1,
    }
}

fn mapping(process_id: u32, since: u64, pages: std::ops::Range<u64>) -> Mapping {
    Mapping {
        process_id,
        since,
        start: pages.start * PAGE,
        end: pages.end * PAGE,
        object: Some(0),
        offset: 0,
    }
}

#[test]
fn memory_of_two_processes_at_one_address_is_two() {
    let spaces = AddressSpaces::new(&[thread(7), thread(9)], &[]);
    let mut locator = spaces.locator().unwrap();
    locator.begin_run(ThreadId(0), 1);
    let first = locator.locate(0x1234);
    locator.begin_run(ThreadId(1), 2);
    let second = locator.locate(0x1234);
    assert_eq!(first, 0x1234);
    assert_eq!(spaces.owner(first), (Owner::Process(7), 0x1234));
    assert_eq!(spaces.owner(second), (Owner::Process(9), 0x1234));
}

#[test]
fn a_shared_object_is_one_wherever_it_is_mapped() {
    let here = mapping(7, 0, 16..20);
    let there = Mapping {
        start: 50 * PAGE,
        end: 52 * PAGE,
        offset: PAGE,
        ..here
    };
    let there = Mapping {
        process_id: 9,
        ..there
    };
    let spaces = AddressSpaces::new(&[thread(7), thread(9)], &[here, there]);
    let mut locator = spaces.locator().unwrap();
    locator.begin_run(ThreadId(1), 2);
    let [inside, outside] = [51 * PAGE + 5, 52 * PAGE].map(|address| locator.locate(address));
    locator.begin_run(ThreadId(0), 3);
    assert_eq!(inside, locator.locate(18 * PAGE + 5));
    assert_eq!(spaces.owner(inside), (Owner::Object(0), 18 * PAGE + 5));
    assert_eq!(spaces.owner(outside), (Owner::Process(9), 52 * PAGE));
}

#[test]
fn a_mapping_holds_from_its_stamp_on_and_hides_the_part_that_it_covers() {
    let own = Mapping {
        object: None,
        ..mapping(7, 20, 2..3)
    };
    let mappings = [own, mapping(7, 10, 0..5)];
    let spaces = AddressSpaces::new(&[thread(7), thread(9)], &mappings);
    let mut locator = spaces.locator().unwrap();
    let mut shared = |stamp| {
        locator.begin_run(ThreadId(0), stamp);
        let shared = |page| spaces.owner(locator.locate(page * PAGE)).0 == Owner::Object(0);
        (0..6).map(shared).collect::<Vec<bool>>()
    };
    let after_both = [true, true, false, true, true, false];
    assert_eq!(shared(25), after_both);
    assert_eq!(shared(9), [false; 6]);
    assert_eq!(shared(10), [true, true, true, true, true, false]);
    assert_eq!(shared(20), after_both);
}

#[test]
fn one_process_needs_no_locating() {
    let spaces = AddressSpaces::new(&[thread(7), thread(7)], &[mapping(7, 0, 0..1)]);
    assert!(spaces.locator().is_none());
    assert_eq!(spaces.owner(5), (Owner::Anyone, 5));
}

#[test]
fn what_the_kernel_has_is_one_for_all() {
    let spaces = AddressSpaces::new(&[thread(7), thread(9)], &[]);
    let mut locator = spaces.locator().unwrap();
    locator.begin_run(ThreadId(1), 1);
    let address = 0xffff_ffff_ff60_0000;
    assert_eq!(locator.locate(address), address);
    assert_eq!(spaces.owner(address).0, Owner::Anyone);
}

#[test]
fn a_mapping_is_of_whole_pages_that_user_code_can_have() {
    let good = mapping(7, 0, 1..2);
    assert_eq!(good.check(1), Ok(()));
    assert!(good.check(0).is_err());
    let bad = [
        Mapping { end: PAGE, ..good },
        Mapping {
            end: 1 << 48,
            ..good
        },
        Mapping { start: 5, ..good },
        Mapping { offset: 1, ..good },
        Mapping {
            offset: 1 << 47,
            ..good
        },
    ];
    for bad in bad {
        assert!(bad.check(1).is_err(), "{bad:?}");
    }
}
