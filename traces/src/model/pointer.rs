//! Pointers: what a code block does with the initial values of registers, if it only adds
//! constants.
//!
//! A trace does not contain register values. An access at a known distance from a register reveals
//! the register's value, though. Blocks that only copy the value allow following it back to a
//! function entry, where it was an argument. The recorder finds pointers in the bytes of a code
//! block (`corehop_wire::elision::pointers`). They are stored with the block, because a trace does
//! not contain the bytes of the code.

use crate::model::dependence::GENERAL_REGISTERS;
use crate::model::malformed::Malformed;

/// One use of a general register's initial value by a code block. Packed as described in
/// `schema/trace.capnp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointer {
    /// The first access of the instruction is at `distance` from the initial value of `register`.
    Accessed {
        /// The instruction's index in the block.
        instruction: u16,
        /// The register.
        register: u8,
        /// In bytes.
        distance: i64,
    },
    /// At the end, register `at_end` contains the initial value of `register` plus `distance`.
    Held {
        /// The register at the end.
        at_end: u8,
        /// The register at the beginning.
        register: u8,
        /// In bytes.
        distance: i64,
    },
    /// At the end, this register contains an unrelated value; a register without an entry is
    /// unchanged.
    Lost {
        /// The register at the end.
        at_end: u8,
    },
}

/// Maximum number of pointers of a code block: one per instruction and one per register.
pub const MAX_POINTERS: usize = 512 + GENERAL_REGISTERS;

const KIND_SHIFT: u32 = 62;
const OF_SHIFT: u32 = 48;
const REGISTER_SHIFT: u32 = 40;
const DISTANCE_BITS: u32 = 40;

impl Pointer {
    /// Packs the pointer into one number.
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

    /// Unpacks a pointer; `None` if the number is not valid.
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

/// Checks the pointers of a block with this many instructions.
///
/// # Errors
/// The rule that they break.
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
