//! What addresses come from, as a trace keeps it, found in the bytes of a code block.

use corehop_elision as elision;
use corehop_traces::{Dependence, Dependent, Source};

/// The dependences of the code block at `start`, whose instructions have these lengths and bytes.
pub fn dependences_of(start: u64, sizes: &[u8], code: &[u8]) -> Vec<Dependence> {
    let mut rest = code;
    let instructions = sizes.iter().map(|&size| {
        let (instruction, others) = rest.split_at(usize::from(size).min(rest.len()));
        rest = others;
        instruction
    });
    let found = elision::dependences(start, instructions);
    found.into_iter().map(kept).collect()
}

fn kept(found: elision::Dependence) -> Dependence {
    Dependence {
        of: match found.of {
            elision::Dependent::Address(place) => Dependent::Address(place),
            elision::Dependent::Stored(place) => Dependent::Stored(place),
            elision::Dependent::Register(number) => Dependent::Register(number),
        },
        from: match found.from {
            elision::Source::Nothing => Source::Nothing,
            elision::Source::Load(place) => Source::Load(place),
            elision::Source::Register(number) => Source::Register(number),
        },
    }
}
