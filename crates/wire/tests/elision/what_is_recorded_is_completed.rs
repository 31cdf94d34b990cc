//! Checks that all accesses of arbitrary code are restored from the recorded ones.

use corehop_wire::elision::{AccessForm, Address, BlockAccesses, PlainAccess, complete};
use iced_x86::{Decoder, DecoderOptions};
use proptest::prelude::*;

/// Returns the instructions in the bytes, up to the first invalid one.
fn instructions(bytes: &[u8]) -> Vec<&[u8]> {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let mut instructions = Vec::new();
    while decoder.can_decode() {
        let begin = decoder.position();
        if decoder.decode().is_invalid() {
            break;
        }
        instructions.push(&bytes[begin..decoder.position()]);
    }
    instructions
}

/// Generates bytes that often are instructions that access memory through few registers.
fn code() -> impl Strategy<Value = Vec<u8>> {
    let usual = prop_oneof![
        Just(vec![0x50]),                   // push rax
        Just(vec![0x5b]),                   // pop rbx
        Just(vec![0xc9]),                   // leave
        Just(vec![0x48, 0x83, 0xec, 0x18]), // sub rsp, 24
        (0..=255u8).prop_map(|m| vec![0x48, 0x8b, m, 8, 0, 0, 0, 0]),
        // movups xmm, [...]; movaps [...], xmm; vmovdqu ymm, [...]
        (0..=255u8).prop_map(|m| vec![0xc5, 0xfe, 0x6f, m, 8, 0, 0, 0]),
        (0..=255u8).prop_map(|m| vec![0x0f, 0x10, m, 8, 0, 0, 0]),
        (0..=255u8).prop_map(|m| vec![0x0f, 0x29, m, 24, 0, 0, 0]),
        (0..=255u8).prop_map(|m| vec![0x01, m, 16, 0, 0, 0, 0]),
        (0..=255u8).prop_map(|m| vec![0xff, m, 24, 0, 0, 0, 0]),
        (0..=255u8).prop_map(|m| vec![0x48, 0x8d, m, 4, 0, 0, 0, 0]),
        proptest::collection::vec(any::<u8>(), 1..6),
    ];
    proptest::collection::vec(usual, 1..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn all_accesses_are_found_in_order(
        bytes in code(),
        start in any::<u64>(),
        in_pieces in any::<bool>(),
    ) {
        let found = BlockAccesses::of(start, instructions(&bytes).into_iter(), in_pieces);
        let recorded = found.all.iter().filter(|access| !access.is_elided());
        let recorded: Vec<AccessForm> = recorded.map(|access| access.form).collect();
        for leads in [false, true] {
            let leads = leads && !recorded.is_empty();
            let parts = complete(start, &found.all, leads, &recorded[usize::from(leads)..]);
            let forms: Vec<AccessForm> = parts.iter().map(|part| part.form).collect();
            let expected: Vec<AccessForm> = found.all.iter().map(|access| access.form).collect();
            prop_assert_eq!(forms, expected);
            let mut word = u32::from(!leads);
            for (part, access) in parts.iter().zip(&found.all) {
                match access.address {
                    Address::Recorded => {
                        prop_assert_eq!((part.word, part.distance), (Some(word), 0));
                        word += 1;
                    }
                    Address::FromCode(distance) => {
                        let address = start.wrapping_add_signed(distance);
                        prop_assert_eq!((part.word, part.distance), (None, address));
                    }
                    Address::From { access, distance } => {
                        let from = parts[usize::from(access)];
                        prop_assert_eq!(from.distance, 0);
                        let expected = (from.word, distance.cast_unsigned());
                        prop_assert_eq!((part.word, part.distance), expected);
                    }
                }
            }
        }
        // One callback handles all loads of an instruction, and one handles all its stores.
        for access in &found.all {
            let alike = |other: &&PlainAccess| {
                let (form, its) = (other.form, access.form);
                (form.instruction, form.store) == (its.instruction, its.store)
            };
            let mut alike = found.all.iter().filter(alike);
            prop_assert!(alike.all(|other| other.is_elided() == access.is_elided()));
        }
        for access in found.all {
            prop_assert_eq!(PlainAccess::decode(access.encode()), Some(access));
        }
    }
}
