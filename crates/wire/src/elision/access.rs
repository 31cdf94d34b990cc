//! An access that a code block always makes, and how its address is determined.

/// Maximum number of accesses of a code block: two per instruction, and at most 512 instructions in
/// a QEMU block. Further accesses are not included.
pub(crate) const MOST_ACCESSES: usize = 1 << 10;

/// Mask of an access's index.
const ACCESS: u16 = MOST_ACCESSES as u16 - 1;

const DISTANCE_BITS: u32 = 40;

/// An access without its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessForm {
    /// Index of its instruction in the code block, below 512.
    pub instruction: u16,
    /// log2 of the number of bytes, at most 7.
    pub size_shift: u8,
    /// Load or store.
    pub store: bool,
}

/// An access that is made at every execution of its code block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAccess {
    /// The access without its address.
    pub form: AccessForm,
    /// How its address is determined.
    pub address: Address,
}

/// How the address of an access is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// It is recorded.
    Recorded,
    /// At this distance from the code block's first byte.
    FromCode(i64),
    /// At a distance from an earlier, recorded access.
    From {
        /// Index of the other access among the block's accesses.
        access: u16,
        /// In bytes.
        distance: i64,
    },
}

impl Address {
    /// Returns the address at this distance, if the distance can be encoded.
    pub(crate) fn at(distance: i64, from: impl FnOnce(i64) -> Address) -> Option<Address> {
        let can_be_told = distance.unsigned_abs() < 1 << (DISTANCE_BITS - 1);
        can_be_told.then(|| from(distance))
    }
}

impl PlainAccess {
    /// Returns whether it need not be recorded.
    pub fn is_elided(&self) -> bool {
        self.address != Address::Recorded
    }

    /// Packs the access into one number.
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

    /// Unpacks an access; `None` if the number is not valid.
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
