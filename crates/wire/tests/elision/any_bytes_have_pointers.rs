//! Checks that the pointers of arbitrary bytes as instructions are in order and in range.

use corehop_wire::elision::{Pointer, pointers};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_found_of_any_bytes_is_in_order_and_in_range(
        code in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..16), 0..40),
    ) {
        let found = pointers(0x1000, code.iter().map(Vec::as_slice));
        let key = |pointer: &Pointer| match *pointer {
            Pointer::Accessed { instruction, .. } => (0, instruction),
            Pointer::Held { at_end, .. } => (1, u16::from(at_end)),
            Pointer::Lost { at_end } => (2, u16::from(at_end)),
        };
        prop_assert!(found.is_sorted_by(|one, other| key(one) < key(other)));
        for one in found {
            let register = match one {
                Pointer::Accessed { instruction, register, distance } => {
                    prop_assert!(usize::from(instruction) < code.len());
                    prop_assert!(distance.unsigned_abs() < 1 << 39);
                    register
                }
                Pointer::Held { at_end, register, distance } => {
                    prop_assert!(distance.unsigned_abs() < 1 << 39);
                    prop_assert!(at_end < 16 && at_end != 4);
                    register
                }
                Pointer::Lost { at_end } => at_end,
            };
            prop_assert!(register < 16 && register != 4);
        }
    }
}
