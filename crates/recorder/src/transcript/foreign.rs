//! Accesses that QEMU reports but no instruction made.
//!
//! When QEMU 7.2 delivers a signal, it saves the floating-point registers on the handler's stack,
//! and loads them when the handler returns. It uses the same functions as for instructions that do
//! so. These functions report accesses for the instruction whose callbacks were left behind (see
//! qemu-plugin/src/stale.rs), mostly the last return or indirect jump. So 50 or more accesses
//! follow those of an execution, all of an instruction that may not be in the code block. On
//! hardware, the kernel makes these accesses, and kernel accesses are not recorded. A Go program
//! gets such signals all the time.

use corehop_wire::elision::{AccessForm, Address, PlainAccess};

/// Returns how many accesses of an execution are its own. The first other access has an instruction
/// before the previous one, beyond `instructions`, or a plain one that has already made its
/// accesses. `accesses` are those of its plain instructions. `leads` means that the first recorded
/// one of them is not in `forms`.
pub fn own(
    instructions: usize,
    accesses: &[PlainAccess],
    leads: bool,
    forms: &[AccessForm],
) -> usize {
    let is_recorded = |access: &&PlainAccess| access.address == Address::Recorded;
    let recorded = || accesses.iter().filter(is_recorded);
    let first = recorded().next().map(|access| access.form.instruction);
    let mut before = first.filter(|_| leads).unwrap_or(0);
    let mut made = usize::from(leads);
    for (place, form) in forms.iter().enumerate() {
        let instruction = form.instruction;
        if instruction != before {
            made = 0;
        }
        made += 1;
        let is_of = |access: &&PlainAccess| access.form.instruction == instruction;
        let is_plain = accesses.iter().any(|access| is_of(&access));
        let too_many = is_plain && made > recorded().filter(is_of).count();
        if instruction < before || usize::from(instruction) >= instructions || too_many {
            return place;
        }
        before = instruction;
    }
    forms.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(instruction: u16) -> AccessForm {
        AccessForm {
            instruction,
            size_shift: 3,
            store: false,
        }
    }

    fn own_of(accesses: &[PlainAccess], leads: bool, places: &[u16]) -> usize {
        let forms: Vec<AccessForm> = places.iter().map(|&place| form(place)).collect();
        own(4, accesses, leads, &forms)
    }

    #[test]
    fn what_goes_back_or_beyond_the_block_is_foreign() {
        assert_eq!(own_of(&[], false, &[0, 1, 1, 3, 3]), 5);
        assert_eq!(own_of(&[], false, &[0, 2, 1, 3]), 2);
        assert_eq!(own_of(&[], false, &[0, 2, 4, 4]), 2);
        assert_eq!(own_of(&[], false, &[]), 0);
    }

    #[test]
    fn what_a_plain_instruction_makes_beyond_its_accesses_is_foreign() {
        let access = |instruction, address| PlainAccess {
            form: form(instruction),
            address,
        };
        let recorded = access(1, Address::Recorded);
        let left_out = access(3, Address::FromCode(0));
        assert_eq!(own_of(&[recorded, left_out], false, &[0, 0, 1, 2]), 4);
        assert_eq!(own_of(&[recorded, left_out], false, &[0, 1, 1, 1]), 2);
        assert_eq!(own_of(&[recorded, left_out], false, &[1, 3]), 1);
        assert_eq!(own_of(&[recorded, left_out], true, &[1, 2]), 0);
        assert_eq!(own_of(&[recorded, left_out], true, &[2, 2]), 2);
        assert_eq!(own_of(&[recorded, left_out], true, &[0]), 0);
        assert_eq!(own_of(&[recorded, recorded], false, &[1, 1, 1]), 2);
    }
}
