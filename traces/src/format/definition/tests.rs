//! Checks columns of dependences with arbitrary numbers: what the schema allows is read unchanged,
//! and everything else is rejected with a rule.

use super::*;
use proptest::prelude::*;

const INSTRUCTIONS: u32 = 5;

/// Generates mostly numbers with small parts, which are valid in a block.
fn numbers() -> impl Strategy<Value = u32> {
    let small = (0u32..4, 0u32..6, 0u32..4, 0u32..6);
    let small = small.prop_map(|(of_kind, of, from_kind, from)| {
        of_kind << 30 | of << 16 | from_kind << 14 | from
    });
    prop_oneof![20 => small, 1 => any::<u32>()]
}

/// Generates blocks with numbers, half of them in order, and a surplus for the last block's count.
fn columns() -> impl Strategy<Value = (Vec<Vec<u32>>, u16)> {
    let own = (prop::collection::vec(numbers(), 0..4), any::<bool>());
    let own = own.prop_map(|(mut own, is_ordered)| {
        if is_ordered {
            own.sort_unstable();
        }
        own
    });
    let surplus = prop_oneof![9 => Just(0u16), 1 => any::<u16>()];
    (prop::collection::vec(own, 1..4), surplus)
}

/// Returns whether `schema/trace.capnp` allows this dependence of a block.
fn is_allowed(number: u32) -> bool {
    let (of_kind, of) = (number >> 30, number >> 16 & 0x3fff);
    let (from_kind, from) = (number >> 14 & 3, number & 0x3fff);
    let (is_value, loads_before) = match of_kind {
        0 => (of < INSTRUCTIONS, of),
        1 => (of < INSTRUCTIONS, of + 1),
        2 => (of < 16, INSTRUCTIONS),
        _ => (false, 0),
    };
    is_value
        && match from_kind {
            0 => from == 0,
            1 => from < loads_before,
            2 => from < 16,
            _ => false,
        }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn numbers_are_dependences_as_the_schema_says_or_refused((blocks, surplus) in columns()) {
        let plain = |place: u64| CodeBlock::new(place * 64, [4; INSTRUCTIONS as usize]);
        let written: Vec<EnteredBlock> =
            (0..).map(|place| (plain(place), None)).take(blocks.len()).collect();
        let mut compressor = Compressor::new(1).unwrap();
        let mut counts: Vec<u16> = blocks.iter().map(|own| own.len() as u16).collect();
        *counts.last_mut().unwrap() += surplus;
        let [packed_counts, packed] = [
            pack(&mut compressor, &counts).unwrap(),
            pack(&mut compressor, &blocks.concat()).unwrap(),
        ];
        let mut message = write_code_blocks(&mut compressor, &written).unwrap();
        let entry: entry::Builder<'_> = message.get_root().unwrap();
        let Ok(entry::CodeBlocks(entry)) = entry.which() else {
            panic!("no code blocks were written");
        };
        let mut entry = entry.unwrap();
        packed_counts.store(entry.reborrow().init_dependence_counts());
        packed.store(entry.reborrow().init_dependences());
        let mut decompressor = Decompressor::new().unwrap();
        let read = read_code_blocks(&mut decompressor, entry.into_reader());
        let is_sound = |own: &Vec<u32>| {
            own.iter().all(|&number| is_allowed(number)) && own.is_sorted_by(|a, b| a < b)
        };
        prop_assert_eq!(read.is_ok(), surplus == 0 && blocks.iter().all(is_sound));
        for ((block, _), own) in read.into_iter().flatten().zip(&blocks) {
            let numbers: Vec<u32> = block.dependences.iter().map(|one| one.pack()).collect();
            prop_assert_eq!(&numbers, own);
        }
    }
}
