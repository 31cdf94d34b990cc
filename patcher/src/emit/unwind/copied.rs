//! A copy of the original's unwind tables at another place: their pointers are relative to
//! themselves.

use crate::elf::bytes::{text_at, u32_at};
use std::collections::BTreeMap;

// Encodings of pointers, as the Linux Standard Base numbers them.
const OMITTED: u8 = 0xff;
const APPLICATION: u8 = 0x70;
const RELATIVE: u8 = 0x10;
const FORMAT: u8 = 0x0f;

/// Version and augmentation of a common entry begin here, and the first pointer of another.
const BODY: usize = 8;

/// The encoding of pointers that a common entry sets for other entries.
#[derive(Clone, Copy)]
struct Encodings {
    has_size: bool,
    function: u8,
    exceptions: u8,
}

/// Tables that are being copied.
struct Copy<'a> {
    bytes: &'a mut [u8],
    /// The value to add to a distance.
    closer: i64,
    common: BTreeMap<usize, Encodings>,
    described: usize,
}

/// The entries of `.eh_frame` at `from`, without its end, copied for `to`, and how many functions
/// they describe. `None` if they are not in the form that compilers for x86-64 generate.
pub(super) fn copied(bytes: &[u8], from: u64, to: u64) -> Option<(Vec<u8>, usize)> {
    let mut end = 0;
    while let Some(size @ 1..) = u32_at(bytes, end as u64) {
        end += 4 + size as usize;
    }
    let mut bytes = bytes.get(..end)?.to_vec();
    let mut copy = Copy {
        bytes: &mut bytes,
        closer: from.wrapping_sub(to) as i64,
        common: BTreeMap::new(),
        described: 0,
    };
    let mut at = 0;
    while at < end {
        at += copy.entry(at)?;
    }
    let described = copy.described;
    Some((bytes, described))
}

impl Copy<'_> {
    /// Adjusts the entry at `at`; returns its size.
    fn entry(&mut self, at: usize) -> Option<usize> {
        let size = u32_at(self.bytes, at as u64)? as usize;
        let owner = u32_at(self.bytes, at as u64 + 4)? as usize;
        if owner == 0 {
            let encodings = self.common(at)?;
            self.common.insert(at, encodings);
        } else {
            let encodings = *self.common.get(&(at + 4).checked_sub(owner)?)?;
            self.function(at, encodings)?;
            self.described += 1;
        }
        Some(4 + size)
    }

    fn common(&mut self, at: usize) -> Option<Encodings> {
        let augmentation = text_at(self.bytes, (at + BODY + 1) as u64)?.to_owned();
        let mut next = at + BODY + 2 + augmentation.len();
        // The alignments of code and data; then the register of the return address, one byte too.
        for _ in 0..2 {
            next = self.behind_number(next)?;
        }
        next += 1;
        let mut encodings = Encodings {
            has_size: augmentation.starts_with('z'),
            function: 0,
            exceptions: OMITTED,
        };
        for letter in augmentation.chars() {
            let encoding = *self.bytes.get(next)?;
            match letter {
                'z' => next = self.behind_number(next)?,
                'R' => encodings.function = encoding,
                'L' => encodings.exceptions = encoding,
                'P' => next += self.pointer(next + 1, encoding)?,
                'S' => {}
                _ => return None,
            }
            if matches!(letter, 'R' | 'L' | 'P') {
                next += 1;
            }
        }
        Some(encodings)
    }

    fn function(&mut self, at: usize, encodings: Encodings) -> Option<()> {
        let size = self.pointer(at + BODY, encodings.function)?;
        if encodings.has_size && encodings.exceptions != OMITTED {
            let next = self.behind_number(at + BODY + 2 * size)?;
            self.pointer(next, encodings.exceptions)?;
        }
        Some(())
    }

    /// The end of a number of variable length.
    fn behind_number(&self, at: usize) -> Option<usize> {
        let size = self
            .bytes
            .get(at..)?
            .iter()
            .position(|byte| byte & 0x80 == 0)?;
        Some(at + size + 1)
    }

    /// Adjusts a pointer; returns its size.
    fn pointer(&mut self, at: usize, encoding: u8) -> Option<usize> {
        let size = match encoding & FORMAT {
            0x00 | 0x04 | 0x0c => 8,
            0x03 | 0x0b => 4,
            _ => return None,
        };
        let place = self.bytes.get_mut(at..at + size)?;
        let is_relative = match encoding & APPLICATION {
            0 => false,
            RELATIVE => true,
            _ => return None,
        };
        let is_null = place.iter().all(|&byte| byte == 0);
        if is_relative && !is_null && size == 4 {
            let distance = i64::from(i32::from_le_bytes(place.try_into().ok()?));
            let distance = i32::try_from(distance + self.closer).ok()?;
            place.copy_from_slice(&distance.to_le_bytes());
        } else if is_relative && !is_null {
            let distance = i64::from_le_bytes(place.try_into().ok()?);
            place.copy_from_slice(&distance.wrapping_add(self.closer).to_le_bytes());
        }
        Some(size)
    }
}
