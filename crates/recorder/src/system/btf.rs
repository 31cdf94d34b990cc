//! Where in a kernel structure a member is, as the kernel describes its own types.
//!
//! BTF is a header, types one after another and a table of names (the kernel's
//! Documentation/bpf/btf.rst). Only named structures are looked at here.

/// Offset in bytes of a direct member of a structure; `None` where there is none, or the bytes are
/// no BTF.
pub fn member_offset(btf: &[u8], structure: &str, member: &str) -> Option<u64> {
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
    let is_named = |name: u32, expected: &str| {
        let name = names.get(name as usize..).unwrap_or_default();
        name.split(|&byte| byte == 0).next() == Some(expected.as_bytes())
    };
    let mut place = 0;
    while place < types.len() {
        let (name, info) = (number(types, place)?, number(types, place + 4)?);
        let (count, kind) = (info as usize & 0xffff, info >> 24 & 31);
        let members = place + TYPE_BYTES;
        if kind == STRUCTURE && is_named(name, structure) {
            let mut all = (0..count).map(|number| members + number * MEMBER_BYTES);
            let found =
                all.find(|&at| number(types, at).is_some_and(|name| is_named(name, member)));
            let bits = number(types, found? + 8)?;
            // With bit fields the highest byte is a size.
            let bits = if info >> 31 == 1 {
                bits & 0xff_ffff
            } else {
                bits
            };
            return bits.is_multiple_of(8).then_some(u64::from(bits / 8));
        }
        place = members + bytes_behind(kind, count)?;
    }
    None
}

const TYPE_BYTES: usize = 12;
const MEMBER_BYTES: usize = 12;
const STRUCTURE: u32 = 4;

/// What comes behind a type of this kind.
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

    /// An integer, a structure `task` of `state` at 0 and `pid` at 20, one of bit fields.
    fn btf() -> Vec<u8> {
        let names = b"\0int\0task\0state\0pid\0flags\0";
        let types: [u32; 4 + 9 + 6] = [
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
        assert_eq!(member_offset(&btf, "task", "int"), None);
        assert_eq!(member_offset(&btf, "int", "pid"), None);
    }

    #[test]
    fn what_is_cut_off_or_foreign_has_no_members() {
        let btf = btf();
        for end in 0..btf.len() {
            let _ = member_offset(&btf[..end], "flags", "pid");
        }
        assert_eq!(member_offset(&btf[..40], "task", "pid"), None);
        assert_eq!(member_offset(b"no such thing at all", "task", "pid"), None);
    }
}
