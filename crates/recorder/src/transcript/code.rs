//! Derives from the bytes of a code block the data kept in the trace: the sources of addresses, and
//! the use of register contents.

use corehop_traces::{Dependence, Dependent, Pointer, Source};
use corehop_wire::elision;

/// Returns the dependences and pointers of the code block at `start`, with these instruction
/// lengths and bytes.
pub fn told_by(start: u64, sizes: &[u8], code: &[u8]) -> (Vec<Dependence>, Vec<Pointer>) {
    let mut rest = code;
    let instructions = sizes.iter().map(|&size| {
        let (instruction, others) = rest.split_at(usize::from(size).min(rest.len()));
        rest = others;
        instruction
    });
    let instructions: Vec<&[u8]> = instructions.collect();
    let dependences = elision::dependences(start, instructions.iter().copied());
    let pointers = elision::pointers(start, instructions.into_iter());
    (
        dependences.into_iter().map(kept).collect(),
        pointers.into_iter().map(kept_pointer).collect(),
    )
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

fn kept_pointer(found: elision::Pointer) -> Pointer {
    match found {
        elision::Pointer::Accessed {
            instruction,
            register,
            distance,
        } => Pointer::Accessed {
            instruction,
            register,
            distance,
        },
        elision::Pointer::Held {
            at_end,
            register,
            distance,
        } => Pointer::Held {
            at_end,
            register,
            distance,
        },
        elision::Pointer::Lost { at_end } => Pointer::Lost { at_end },
    }
}
