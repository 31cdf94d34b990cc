//! Checks that the dependences of arbitrary bytes as instructions are in order and in range.

use corehop_wire::elision::{Dependent, Source, dependences};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_found_of_any_bytes_is_in_order_and_in_range(
        code in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..16), 0..40),
    ) {
        let found = dependences(0x1000, code.iter().map(Vec::as_slice));
        let places = code.len() as u16;
        for pair in found.windows(2) {
            prop_assert!((pair[0].of, pair[0].from) < (pair[1].of, pair[1].from));
        }
        for one in found {
            let before = match one.of {
                Dependent::Address(place) => place,
                Dependent::Stored(place) => place + 1,
                Dependent::Register(_) => places,
            };
            prop_assert!(before <= places);
            match one.from {
                Source::Load(place) => prop_assert!(place < before),
                Source::Register(number) => prop_assert!(number < 16 && number != 4),
                Source::Nothing => prop_assert!(matches!(one.of, Dependent::Register(_))),
            }
        }
    }
}
