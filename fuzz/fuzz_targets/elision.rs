//! For any code of a server, and any damage by its wild stores to that code's description, the
//! accesses of a run can be completed.
#![no_main]

use corehop_wire::elision::{AccessForm, BlockAccesses, PlainAccess, complete};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // A length for each instruction, and its bytes.
    let in_pieces = bytes.len() % 2 == 1;
    let mut rest = bytes;
    let mut code = Vec::new();
    while let [length, others @ ..] = rest
        && code.len() < 512
    {
        let (instruction, others) = others.split_at(others.len().min(usize::from(length % 15) + 1));
        code.push(instruction);
        rest = others;
    }
    let found = BlockAccesses::of(0x40_0000, code.into_iter(), in_pieces);
    let recorded = found.all.iter().filter(|access| !access.is_elided());
    let recorded: Vec<AccessForm> = recorded.map(|access| access.form).collect();
    let parts = complete(0x40_0000, &found.all, false, &recorded);
    assert!(parts.iter().map(|part| part.form).eq(found.all.iter().map(|access| access.form)));

    // The same bytes as a table from an arbitrary writer.
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8")));
    let wild: Vec<PlainAccess> = words.map_while(PlainAccess::decode).collect();
    for leads in [false, true] {
        let parts = complete(0x40_0000, &wild, leads, &recorded);
        assert!(parts.len() <= wild.len() + recorded.len());
        let words = parts.iter().filter_map(|part| part.word);
        assert!(words.max().is_none_or(|word| word as usize <= recorded.len()));
    }
});
