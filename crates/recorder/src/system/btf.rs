//! Finds the offset of a member in a kernel structure, from the kernel's description of its types.
//!
//! BTF has a header, a sequence of types and a table of names (the kernel's
//! Documentation/bpf/btf.rst). Only named structures and their unnamed members are searched.

/// Returns the offset in bytes of a member of a structure, also within its unnamed structures and
/// unions; `None` if it does not exist, or if the bytes are not BTF.
pub fn member_offset(btf: &[u8], structure: &str, member: &str) -> Option<u64> {
    let btf = Btf::of(btf)?;
    let is_meant = |&&at: &&usize| {
        let kind = btf.info(at).map(|info| info >> 24 & 31);
        kind == Some(STRUCTURE) && btf.is_named(at, structure)
    };
    let bits = btf.bit_of(*btf.places.iter().find(is_meant)?, member, MOST_NESTED)?;
    bits.is_multiple_of(8).then_some(bits / 8)
}

/// The types, numbered from 1, and their names.
struct Btf<'a> {
    types: &'a [u8],
    names: &'a [u8],
    /// Offset of each type.
    places: Vec<usize>,
}

impl<'a> Btf<'a> {
    fn of(btf: &'a [u8]) -> Option<Btf<'a>> {
        const MAGIC: u32 = 0xeb9f;
        if number(btf, 0)? & 0xffff != MAGIC {
            return None;
        }
        let header = number(btf, 4)? as usize;
        let part = |place| {
            let start = header.checked_add(number(btf, place)? as usize)?;
            let end = start.checked_add(number(btf, place + 4)? as usize)?;
            btf.get(start..end)
        };
        let (types, names) = (part(8)?, part(16)?);
        let mut places = Vec::new();
        let mut place = 0;
        while place < types.len() {
            let info = number(types, place + 4)?;
            places.push(place);
            place += TYPE_BYTES + bytes_behind(info >> 24 & 31, info as usize & 0xffff)?;
        }
        Some(Btf {
            types,
            names,
            places,
        })
    }

    fn info(&self, at: usize) -> Option<u32> {
        number(self.types, at + 4)
    }

    /// Whether the name at this offset of the types is the expected one.
    fn is_named(&self, at: usize, expected: &str) -> bool {
        let Some(name) = number(self.types, at) else {
            return false;
        };
        let name = self.names.get(name as usize..).unwrap_or_default();
        name.split(|&byte| byte == 0).next() == Some(expected.as_bytes())
    }

    /// Returns the offset in bits of a member of the structure or union at an offset.
    fn bit_of(&self, at: usize, member: &str, nested: u32) -> Option<u64> {
        let info = self.info(at)?;
        let members = at + TYPE_BYTES;
        (0..info as usize & 0xffff).find_map(|number_of_it| {
            let this = members + number_of_it * MEMBER_BYTES;
            let bits = number(self.types, this + 8)?;
            // With bit fields, the highest byte is a size.
            let bits = match info >> 31 {
                1 => u64::from(bits & 0xff_ffff),
                _ => u64::from(bits),
            };
            if self.is_named(this, member) {
                return Some(bits);
            }
            if nested == 0 || !self.is_named(this, "") {
                return None;
            }
            let of_type = number(self.types, this + 4)?.checked_sub(1)?;
            let within = *self.places.get(of_type as usize)?;
            let kind = self.info(within)? >> 24 & 31;
            let has_members = [STRUCTURE, UNION].contains(&kind);
            let found = has_members.then(|| self.bit_of(within, member, nested - 1))?;
            found.map(|more| bits + more)
        })
    }
}

/// Maximum nesting of unnamed members.
const MOST_NESTED: u32 = 8;
const TYPE_BYTES: usize = 12;
const MEMBER_BYTES: usize = 12;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;

/// Returns the size of the data that follows a type of this kind.
fn bytes_behind(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // Integers, variables and tags of declarations.
        1 | 14 | 17 => 4,
        // Pointers, forward declarations, type definitions, qualifiers, functions, floats, tags.
        2 | 7..=12 | 16 | 18 => 0,
        // Arrays.
        3 => 12,
        // Structures, unions, sections of data, enumerations of 64 bits.
        4 | 5 | 15 | 19 => 12 * count,
        // Enumerations and functions' parameters.
        6 | 13 => 8 * count,
        _ => return None,
    })
}

fn number(bytes: &[u8], place: usize) -> Option<u32> {
    let four = bytes.get(place..place.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns BTF of an integer, a structure `task` with `state` at 0 and `pid` at 20, a structure
    /// with bit fields, and `hot`. The `pid` of `hot` is 4 bytes into an unnamed structure, which
    /// is 8 bytes into it, in a union.
    fn btf() -> Vec<u8> {
        let names = b"\0int\0task\0state\0pid\0flags\0hot\0";
        let types: [u32; 4 + 9 + 6 + 6 + 6 + 6] = [
            1,
            1 << 24,
            4,
            32, // int
            5,
            4 << 24 | 2,
            24,
            10,
            1,
            0,
            16,
            1,
            160, // task
            20,
            1 << 31 | 4 << 24 | 1,
            4,
            16,
            1,
            3 << 24 | 16, // flags
            0,
            4 << 24 | 1,
            8,
            16,
            1,
            32, // the structure in the union, type 4
            0,
            5 << 24 | 1,
            8,
            0,
            4,
            0, // the union, type 5
            26,
            4 << 24 | 1,
            16,
            0,
            5,
            64, // hot
        ];
        let bytes = types.map(u32::to_le_bytes).concat();
        let header = [0x1_eb9f, 24, 0, bytes.len(), bytes.len(), names.len()];
        let header = header.map(|number: usize| (number as u32).to_le_bytes());
        [header.concat(), bytes, names.to_vec()].concat()
    }

    #[test]
    fn a_member_is_found_by_the_names() {
        let btf = btf();
        assert_eq!(member_offset(&btf, "task", "pid"), Some(20));
        assert_eq!(member_offset(&btf, "task", "state"), Some(0));
        assert_eq!(member_offset(&btf, "flags", "pid"), Some(2));
        assert_eq!(member_offset(&btf, "hot", "pid"), Some(12));
        assert_eq!(member_offset(&btf, "task", "int"), None);
        assert_eq!(member_offset(&btf, "int", "pid"), None);
    }

    #[test]
    fn what_is_cut_off_or_foreign_has_no_members() {
        let btf = btf();
        for end in 0..btf.len() {
            let _ = member_offset(&btf[..end], "flags", "pid");
            let _ = member_offset(&btf[..end], "hot", "pid");
        }
        assert_eq!(member_offset(&btf[..40], "task", "pid"), None);
        assert_eq!(member_offset(b"no such thing at all", "task", "pid"), None);
    }
}
