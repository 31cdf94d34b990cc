//! One access that a code block makes whenever it runs, and how its address is known.

/// The most accesses of a code block that are told of: as two an instruction, of which QEMU puts at
/// most 512 into a block.
pub(crate) const MOST_ACCESSES: usize = 1 << 10;

/// The bits of a place among them.
const ACCESS: u16 = MOST_ACCESSES as u16 - 1;

const DISTANCE_BITS: u32 = 40;

/// All of an access but its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessForm {
    /// Place of its instruction in the code block, below 512.
    pub instruction: u16,
    /// log2 of the number of bytes, at most 7.
    pub size_shift: u8,
    /// Load or store.
    pub store: bool,
}

/// An access that is made whenever its code block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAccess {
    /// All but its address.
    pub form: AccessForm,
    /// How its address is known.
    pub address: Address,
}

/// How the address of an access is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// It is recorded.
    Recorded,
    /// It is so far from the code block's first byte.
    FromCode(i64),
    /// It is so far from that of an earlier access, which is recorded.
    From {
        /// Place of the other one among the block's accesses.
        access: u16,
        /// In bytes.
        distance: i64,
    },
}

impl Address {
    /// One that is so far from something, if such a distance can be told.
    pub(crate) fn at(distance: i64, from: impl FnOnce(i64) -> Address) -> Option<Address> {
        let can_be_told = distance.unsigned_abs() < 1 << (DISTANCE_BITS - 1);
        can_be_told.then(|| from(distance))
    }
}

impl PlainAccess {
    /// Whether it need not be recorded.
    pub fn is_elided(&self) -> bool {
        self.address != Address::Recorded
    }

    /// All of it in one number.
    pub fn encode(self) -> u64 {
        let (how, access, distance) = match self.address {
            Address::Recorded => (0, 0, 0),
            Address::FromCode(distance) => (1, 0, distance),
            Address::From { access, distance } => (2, access, distance),
        };
        let AccessForm {
            instruction,
            size_shift,
            store,
        } = self.form;
        let form = u64::from(instruction & 511) << 3 | u64::from(size_shift & 3) << 1;
        let rest = (form | u64::from(store)) << 12 | u64::from(access & ACCESS) << 2 | how;
        rest << DISTANCE_BITS | distance.cast_unsigned() & ((1 << DISTANCE_BITS) - 1)
    }

    /// The access of this number; `None` where none has it.
    pub fn decode(number: u64) -> Option<PlainAccess> {
        let unused = 64 - DISTANCE_BITS;
        let distance = (number << unused).cast_signed() >> unused;
        let rest = number >> DISTANCE_BITS;
        let access = (rest >> 2) as u16 & ACCESS;
        let form = (rest >> 12) as u16;
        Some(PlainAccess {
            form: AccessForm {
                instruction: form >> 3,
                size_shift: (form >> 1) as u8 & 3,
                store: form & 1 == 1,
            },
            address: match rest & 3 {
                0 => Address::Recorded,
                1 => Address::FromCode(distance),
                2 => Address::From { access, distance },
                _ => return None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let distances = [0, 1, -1, 0x7f_ffff_ffff, -0x7f_ffff_ffff];
        for distance in distances {
            for access in [0, 1, 1023] {
                for address in [
                    Address::Recorded,
                    Address::FromCode(distance),
                    Address::From { access, distance },
                ] {
                    for (instruction, size_shift, store) in [(0, 0, false), (511, 3, true)] {
                        let form = AccessForm {
                            instruction,
                            size_shift,
                            store,
                        };
                        let access = PlainAccess { form, address };
                        assert_eq!(PlainAccess::decode(access.encode()), Some(access));
                    }
                }
            }
        }
        assert_eq!(PlainAccess::decode(3 << DISTANCE_BITS), None);
        assert_eq!(Address::at(1 << 39, Address::FromCode), None);
    }
}
