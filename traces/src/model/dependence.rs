//! Dependences: the loads that the addresses of a code block's accesses come from, as far as its
//! instructions determine them.
//!
//! A processor overlaps independent misses, but cannot overlap two misses if one loads the address
//! of the other. The recorder finds the dependences in the bytes of a code block
//! (`corehop_wire::elision::dependences`). They are stored with the block, because a trace does not
//! contain the bytes of the code.

use crate::model::malformed::Malformed;

/// One source of a value. Packed as described in `schema/trace.capnp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dependence {
    /// The value.
    pub of: Dependent,
    /// Its source; one value may come from several registers.
    pub from: Source,
}

/// A value that may come from a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dependent {
    /// The address of the accesses of the instruction with this index.
    Address(u16),
    /// The value that the instruction with this index stores.
    Stored(u16),
    /// The value of this general register at the end of an execution, if the block writes it.
    Register(u8),
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// No load.
    Nothing,
    /// The last load by the instruction with this index in the execution.
    Load(u16),
    /// The source of this general register's value when the execution begins.
    Register(u8),
}

/// Number of general registers of x86-64, as dependences number them.
pub const GENERAL_REGISTERS: usize = 16;

/// Maximum number of dependences of a code block.
pub const MAX_DEPENDENCES: usize = 1 << 13;

const KIND_SHIFT: u32 = 14;
const NUMBER: u32 = (1 << KIND_SHIFT) - 1;

impl Dependence {
    /// Packs the dependence into one number.
    pub(crate) fn pack(self) -> u32 {
        let (kind, number) = match self.of {
            Dependent::Address(place) => (0, u32::from(place)),
            Dependent::Stored(place) => (1, u32::from(place)),
            Dependent::Register(register) => (2, u32::from(register)),
        };
        let (from_kind, from) = match self.from {
            Source::Nothing => (0, 0),
            Source::Load(place) => (1, u32::from(place)),
            Source::Register(register) => (2, u32::from(register)),
        };
        let of = kind << KIND_SHIFT | number & NUMBER;
        of << 16 | from_kind << KIND_SHIFT | from & NUMBER
    }

    /// Unpacks a dependence; `None` if the number is not valid.
    pub(crate) fn unpack(number: u32) -> Option<Dependence> {
        let of = number >> 16 & NUMBER;
        let from = number & NUMBER;
        let register = |number: u32| u8::try_from(number).ok();
        Some(Dependence {
            of: match number >> (16 + KIND_SHIFT) {
                0 => Dependent::Address(of as u16),
                1 => Dependent::Stored(of as u16),
                2 => Dependent::Register(register(of)?),
                _ => return None,
            },
            from: match number >> KIND_SHIFT & 3 {
                0 if from == 0 => Source::Nothing,
                1 => Source::Load(from as u16),
                2 => Source::Register(register(from)?),
                _ => return None,
            },
        })
    }
}

/// Checks the dependences of a block with this many instructions.
///
/// # Errors
/// The rule that they break.
pub(crate) fn check_dependences(instructions: usize, all: &[Dependence]) -> Result<(), Malformed> {
    if all.len() > MAX_DEPENDENCES {
        return Err(Malformed::TooManyDependences {
            count: all.len(),
            most: MAX_DEPENDENCES,
        });
    }
    if !all.is_sorted_by(|one, other| one < other) {
        return Err(Malformed::DependencesOutOfOrder);
    }
    let is_sound = |one: &Dependence| {
        // Loads by instructions before this index precede the value.
        let before = match one.of {
            Dependent::Address(place) => usize::from(place),
            Dependent::Stored(place) => usize::from(place) + 1,
            Dependent::Register(register) if usize::from(register) >= GENERAL_REGISTERS => {
                return false;
            }
            Dependent::Register(_) => instructions,
        };
        let is_of_block = match one.of {
            Dependent::Address(place) | Dependent::Stored(place) => {
                usize::from(place) < instructions
            }
            Dependent::Register(_) => true,
        };
        is_of_block
            && match one.from {
                Source::Nothing => true,
                Source::Load(place) => usize::from(place) < before,
                Source::Register(register) => usize::from(register) < GENERAL_REGISTERS,
            }
    };
    match all.iter().find(|one| !is_sound(one)) {
        None => Ok(()),
        Some(one) => Err(Malformed::Dependence {
            instructions,
            dependence: format!("{one:?}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        for of in [
            Dependent::Address(0),
            Dependent::Address(511),
            Dependent::Stored(511),
            Dependent::Register(15),
        ] {
            for from in [
                Source::Nothing,
                Source::Load(0),
                Source::Load(510),
                Source::Register(15),
            ] {
                let dependence = Dependence { of, from };
                assert_eq!(Dependence::unpack(dependence.pack()), Some(dependence));
            }
        }
        for number in [1, 3 << 14, 3 << 30, 2 << 14 | 256, (2 << 14 | 256) << 16] {
            assert_eq!(Dependence::unpack(number), None, "{number:#x}");
        }
    }

    #[test]
    fn what_no_block_has_is_refused() {
        let refused = |of, from| check_dependences(3, &[Dependence { of, from }]).is_err();
        assert!(refused(Dependent::Address(3), Source::Nothing));
        assert!(refused(Dependent::Address(1), Source::Load(1)));
        assert!(!refused(Dependent::Stored(1), Source::Load(1)));
        assert!(refused(Dependent::Stored(1), Source::Load(2)));
        assert!(!refused(Dependent::Register(0), Source::Load(2)));
        assert!(refused(Dependent::Register(0), Source::Load(3)));
        assert!(refused(Dependent::Register(16), Source::Nothing));
        assert!(refused(Dependent::Register(0), Source::Register(16)));
        let one = Dependence {
            of: Dependent::Stored(1),
            from: Source::Nothing,
        };
        assert!(check_dependences(3, &[one, one]).is_err());
    }
}
