//! Pointers: what a code block does with what registers hold when it begins, as far as that is a
//! matter of adding constants.
//!
//! A trace has no contents of registers. But an access at a known distance from a register tells
//! what the register held, and blocks that hand it on let it be followed back to the entry of a
//! function, whose argument it was. What the recorder finds in the bytes of a code block
//! (`corehop_wire::elision::pointers`) is kept with it, because a trace has no bytes of code.

use crate::model::dependence::GENERAL_REGISTERS;
use crate::model::malformed::Malformed;

/// One thing that a code block does with what a general register holds when an execution begins.
/// Packed as `schema/trace.capnp` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointer {
    /// The first access of the instruction at this place is at `distance` from what `register`
    /// held.
    Accessed {
        /// The instruction's place in the block.
        instruction: u16,
        /// The register.
        register: u8,
        /// In bytes.
        distance: i64,
    },
    /// At the end this register holds what is at `distance` from what `register` held.
    Held {
        /// The register at the end.
        at_end: u8,
        /// The register at the beginning.
        register: u8,
        /// In bytes.
        distance: i64,
    },
    /// At the end this register holds something else; one that is not named holds what it held.
    Lost {
        /// The register at the end.
        at_end: u8,
    },
}

/// The most pointers of a code block: one each instruction, and what each register holds.
pub const MAX_POINTERS: usize = 512 + GENERAL_REGISTERS;

const KIND_SHIFT: u32 = 62;
const OF_SHIFT: u32 = 48;
const REGISTER_SHIFT: u32 = 40;
const DISTANCE_BITS: u32 = 40;

impl Pointer {
    /// All of it in one number.
    pub(crate) fn pack(self) -> u64 {
        let (kind, of, register, distance) = match self {
            Pointer::Accessed {
                instruction,
                register,
                distance,
            } => (0, u64::from(instruction), register, distance),
            Pointer::Held {
                at_end,
                register,
                distance,
            } => (1, u64::from(at_end), register, distance),
            Pointer::Lost { at_end } => (2, u64::from(at_end), 0, 0),
        };
        let of = of & ((1 << (KIND_SHIFT - OF_SHIFT)) - 1);
        let distance = distance.cast_unsigned() & ((1 << DISTANCE_BITS) - 1);
        kind << KIND_SHIFT | of << OF_SHIFT | u64::from(register) << REGISTER_SHIFT | distance
    }

    /// The pointer of this number; `None` where none has it.
    pub(crate) fn unpack(number: u64) -> Option<Pointer> {
        let of = (number >> OF_SHIFT) as u16 & ((1 << (KIND_SHIFT - OF_SHIFT)) - 1);
        let register = (number >> REGISTER_SHIFT) as u8;
        let unused = 64 - DISTANCE_BITS;
        let distance = (number << unused).cast_signed() >> unused;
        let at_end = || u8::try_from(of).ok();
        Some(match number >> KIND_SHIFT {
            0 => Pointer::Accessed {
                instruction: of,
                register,
                distance,
            },
            1 => Pointer::Held {
                at_end: at_end()?,
                register,
                distance,
            },
            2 if register == 0 && distance == 0 => Pointer::Lost { at_end: at_end()? },
            _ => return None,
        })
    }
}

/// Checks the pointers of a block of so many instructions.
///
/// # Errors
/// Which rule they break.
pub(crate) fn check_pointers(instructions: usize, all: &[Pointer]) -> Result<(), Malformed> {
    let is_register = |register: u8| usize::from(register) < GENERAL_REGISTERS;
    let can_be_told = |distance: i64| distance.unsigned_abs() < 1 << (DISTANCE_BITS - 1);
    let is_sound = |one: &Pointer| match *one {
        Pointer::Accessed {
            instruction,
            register,
            distance,
        } => {
            usize::from(instruction) < instructions
                && is_register(register)
                && can_be_told(distance)
        }
        Pointer::Held {
            at_end,
            register,
            distance,
        } => is_register(at_end) && is_register(register) && can_be_told(distance),
        Pointer::Lost { at_end } => is_register(at_end),
    };
    if let Some(one) = all.iter().find(|one| !is_sound(one)) {
        return Err(Malformed::Pointer {
            instructions,
            pointer: format!("{one:?}"),
        });
    }
    let place = |one: &Pointer| one.pack() >> OF_SHIFT;
    match all.len() <= MAX_POINTERS && all.is_sorted_by(|one, other| place(one) < place(other)) {
        true => Ok(()),
        false => Err(Malformed::PointersOutOfOrder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        for distance in [0, 1, -1, (1 << 39) - 1, 1 - (1 << 39)] {
            for register in [0, 15] {
                for pointer in [
                    Pointer::Accessed {
                        instruction: 511,
                        register,
                        distance,
                    },
                    Pointer::Held {
                        at_end: 15,
                        register,
                        distance,
                    },
                    Pointer::Lost { at_end: register },
                ] {
                    assert_eq!(Pointer::unpack(pointer.pack()), Some(pointer));
                    assert!(check_pointers(512, &[pointer]).is_ok());
                    assert!(check_pointers(512, &[pointer, pointer]).is_err());
                }
            }
        }
        for number in [3 << 62, 2 << 62 | 1, 2 << 62 | 1 << 40, 1 << 62 | 256 << 48] {
            assert_eq!(Pointer::unpack(number), None, "{number:#x}");
        }
    }

    #[test]
    fn what_no_block_has_is_refused() {
        let accessed = |instruction, register, distance| Pointer::Accessed {
            instruction,
            register,
            distance,
        };
        let held = |at_end, register| Pointer::Held {
            at_end,
            register,
            distance: 0,
        };
        for refused in [
            accessed(3, 0, 0),
            accessed(0, 16, 0),
            accessed(0, 0, 1 << 39),
            held(16, 0),
            held(0, 16),
            Pointer::Lost { at_end: 16 },
        ] {
            assert!(check_pointers(3, &[refused]).is_err(), "{refused:?}");
        }
        let [first, last] = [held(7, 1), Pointer::Lost { at_end: 7 }];
        assert!(check_pointers(3, &[accessed(2, 1, -8), first, last]).is_ok());
        assert!(check_pointers(3, &[last, first]).is_err());
        assert!(check_pointers(3, &[accessed(2, 1, 0), accessed(2, 2, 0)]).is_err());
    }
}
