//! A second layout, which shares no code with the first: it writes every array out byte by byte,
//! and looks each byte of an access up in what it wrote.

use corehop_profile::what_if::{Change, ChangedObject};
use corehop_traces::{Access, Kind};
use std::collections::HashMap;

pub const GIB: u64 = 1 << 30;

/// An array written out: the old address of each byte, and `None` for padding.
type Written = Vec<Option<u64>>;

/// The arrays of a change of the bytes from `start` to `end`.
fn written(change: &Change, (start, end): (u64, u64)) -> Vec<Written> {
    let element = change.element_bytes.unwrap_or(end - start);
    let arrays = change
        .split
        .iter()
        .map(|part| part.array)
        .max()
        .unwrap_or(0);
    let mut all = Vec::new();
    for array in 0..=arrays {
        let mut bytes = Vec::new();
        let mut first = start;
        while first < end {
            let before = bytes.len();
            for offset in 0..element {
                let of = change
                    .split
                    .iter()
                    .find(|part| (part.from..part.to).contains(&offset));
                if of.map_or(0, |part| part.array) == array {
                    bytes.push(Some(first + offset).filter(|&address| address < end));
                }
            }
            if let Some(size) = change.pad_to_bytes
                && array == 0
            {
                bytes.resize(before + size as usize, None);
            }
            first += element;
        }
        all.push(bytes);
    }
    all
}

/// The new address of each byte that moves, and the object that each new byte is of.
#[derive(Default)]
pub struct Moved {
    new: HashMap<u64, u64>,
    object_of_new: HashMap<u64, usize>,
    object_of_old: HashMap<u64, usize>,
    /// By object: the first byte of each array, and the one behind the last.
    arrays: Vec<Vec<(u64, u64)>>,
}

impl Moved {
    /// The layout of these changes at the addresses that were found. A change without keys is of an
    /// object that only others follow.
    pub fn of(changes: &[Change], found: &[ChangedObject]) -> Moved {
        let mut moved = Moved::default();
        for (index, object) in found.iter().enumerate() {
            let none = Change::default();
            let change = changes.get(index).unwrap_or(&none);
            let arrays: Vec<Written> = written(change, object.range);
            let arrays: Vec<Written> = arrays.into_iter().filter(|of| !of.is_empty()).collect();
            assert_eq!(arrays.len(), object.new_ranges.len());
            moved.arrays.push(object.new_ranges.clone());
            for (bytes, &(start, end)) in arrays.iter().zip(&object.new_ranges) {
                assert_eq!(end - start, bytes.len() as u64);
                for (address, old) in (start..).zip(bytes) {
                    assert_eq!(moved.object_of_new.insert(address, index), None);
                    if let Some(old) = old {
                        assert_eq!(moved.new.insert(*old, address), None);
                        moved.object_of_old.insert(*old, index);
                    }
                }
            }
            let (start, end) = object.range;
            assert!((start..end).all(|byte| moved.new.contains_key(&byte)));
        }
        moved
    }

    /// Where the arrays of an object are.
    pub fn arrays(&self, object: usize) -> &[(u64, u64)] {
        &self.arrays[object]
    }

    /// The object that a byte belongs to, before or after the change.
    pub fn object(&self, address: u64, is_after: bool) -> Option<usize> {
        let objects = match is_after {
            true => &self.object_of_new,
            false => &self.object_of_old,
        };
        objects.get(&address).copied()
    }

    /// The accesses of runs of bytes that follow each other at their new addresses.
    pub fn accesses(&self, access: &Access) -> Vec<Access> {
        if access.kind == Kind::Fetch {
            return vec![*access];
        }
        let bytes = access.address..access.address + u64::from(access.size_bytes);
        let mut all: Vec<Access> = Vec::new();
        for byte in bytes {
            let address = self.new.get(&byte).copied().unwrap_or(byte);
            match all.last_mut() {
                Some(last) if last.address + u64::from(last.size_bytes) == address => {
                    last.size_bytes += 1;
                }
                _ => all.push(Access {
                    address,
                    size_bytes: 1,
                    ..*access
                }),
            }
        }
        all
    }
}
