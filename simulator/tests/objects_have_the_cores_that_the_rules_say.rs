//! The table that assigns objects to cores equals a simple list, over many epochs and with more
//! objects than it has entries.

use crate::homes::Known;
use corehop_simulator::ObjectTable;
use corehop_traces::ThreadId;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Compares both on calls of two threads with `objects` objects, of which fewer and fewer are in
/// use. An object in a call gets its core after one of the numbers `after` of earlier calls.
fn agree(seed: u64, objects: u64, calls: u64, cores: u32, after: &[u32]) {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed as u8; 32]);
    let mut below = |end: u64| random.next_u64() % end;
    let mut table = ObjectTable::new(cores);
    let mut known = Known::default();
    for call in 0..calls {
        let thread = below(2) as u32;
        let used = 1 + (objects - 1) * (calls - call) / calls;
        // Some of the lowest arguments are not objects; four addresses belong to one object.
        let argument = 0xff00 + below(used) * 24 / 4 * 4;
        let after = after[below(after.len() as u64) as usize];
        let expected = known.name(thread as usize, argument, (cores.into(), after.into()));
        let core = table.name(ThreadId(thread), argument, after);
        let core = core.map(|core| u64::from(core.0));
        assert_eq!(core, expected, "seed {seed}, call {call}");
    }
    assert_eq!(table.objects(), known.came, "seed {seed}");
}

#[test]
fn a_few_objects_have_the_cores_of_the_rules() {
    agree(1, 40, 50_000, 3, &[0]);
}

#[test]
fn many_objects_are_forgotten_in_the_same_order() {
    agree(2, 3000, 60_000, 4, &[0]);
    agree(3, 800, 250_000, 2, &[0]);
}

#[test]
fn objects_on_one_core_are_all_there() {
    agree(4, 100, 10_000, 1, &[0]);
}

#[test]
fn objects_get_their_cores_after_some_calls() {
    agree(5, 40, 50_000, 3, &[7]);
    agree(6, 3000, 60_000, 4, &[1]);
    agree(7, 3000, 60_000, 4, &[0, 2, 30]);
    agree(8, 800, 250_000, 2, &[1, 3000]);
}

#[test]
fn what_is_no_address_of_user_code_is_no_object() {
    let mut table = ObjectTable::new(2);
    for argument in [0, 1, 0xffff, 1 << 56, u64::MAX] {
        assert_eq!(table.name(ThreadId(0), argument, 0), None);
    }
    assert_eq!(table.objects(), 0);
    assert!(table.name(ThreadId(0), 0x1_0000, 0).is_some());
    assert!(table.name(ThreadId(0), (1 << 56) - 1, 0).is_some());
    assert_eq!(table.objects(), 2);
}
