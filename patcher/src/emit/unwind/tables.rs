//! The unwind tables of a patched file: the original's, then those of the hooks' code, and the
//! table by which unwinders search both.

use super::copied::copied;
use super::rows::{Row, row_at};
use crate::elf::{Fde, Frames, Image, search_table};
use crate::emit::code::{Code, Stack};
use gimli::UnwindContext;
use gimli::constants as dwarf;

/// Entries have sizes that are multiples of this.
const ALIGNMENT: usize = 8;
/// Version, augmentation `zR`, both alignments 1, the register of the return address, and that
/// pointers are 32-bit distances.
const COMMON: [u8; 9] = [1, b'z', b'R', 0, 1, 1, 16, 1, 0x1b];
const DISTANCE: u8 = dwarf::DW_EH_PE_pcrel.0 | dwarf::DW_EH_PE_sdata4.0;

/// The new `.eh_frame` of the file, and the search table after it.
pub(crate) struct UnwindTables {
    pub frames: Vec<u8>,
    pub index: Vec<u8>,
}

impl UnwindTables {
    /// The tables of a file with such code, for `address`; `None` if its own stay.
    pub fn new(image: &Image, code: &Code, address: u64) -> Option<UnwindTables> {
        let own = Frames::of(image)?;
        let searched = search_table(image)?.len();
        let (bytes, described) = copied(own.bytes, own.address, address)?;
        let mut entries = own.entries();
        if entries.len() != described || searched > described {
            return None;
        }
        // Some linkers keep the entries of code that they have removed.
        entries.retain(|fde| fde.len() != 0 && image.segment_at(fde.initial_address()).is_some());
        entries.sort_unstable_by_key(|fde| fde.initial_address());
        let mut tables = Writer {
            address,
            common: bytes.len(),
            places: entries
                .iter()
                .map(|fde| (fde.initial_address(), fde.offset()))
                .collect(),
            bytes,
        };
        tables.common();
        let mut context = UnwindContext::new();
        for stack in &code.stacks {
            let (rows, end) = rows(&own, &entries, stack, &mut context);
            if !rows.is_empty() {
                tables.describe(&rows, end)?;
            }
        }
        tables.finish()
    }
}

/// The rows of a stub or trampoline, by the address at which each begins, and their end. There are
/// none if the original has none.
fn rows(
    own: &Frames<'_>,
    entries: &[Fde<'_>],
    stack: &Stack,
    context: &mut UnwindContext<usize>,
) -> (Vec<(u64, Row)>, u64) {
    let mut rows = Vec::new();
    for step in &stack.steps {
        let row = step.from.map_or(Some(Row::of_entry(step.pushed)), |from| {
            let next = entries.partition_point(|fde| fde.initial_address() <= from);
            let fde = &entries[next.checked_sub(1)?];
            row_at(own, fde, context, from, step.pushed)
        });
        let Some(row) = row else {
            return (rows, step.at);
        };
        rows.push((step.at, row));
    }
    (rows, stack.end)
}

struct Writer {
    address: u64,
    bytes: Vec<u8>,
    /// The offset of the entry that all new ones share.
    common: usize,
    /// Where functions begin, and the entry of each.
    places: Vec<(u64, usize)>,
}

impl Writer {
    /// Appends an entry, preceded by its size and without padding.
    fn append(&mut self, mut entry: Vec<u8>) {
        let size = (4 + entry.len()).next_multiple_of(ALIGNMENT) - 4;
        entry.resize(size, dwarf::DW_CFA_nop.0);
        self.bytes.extend((size as u32).to_le_bytes());
        self.bytes.extend(entry);
    }

    fn common(&mut self) {
        let mut entry = vec![0; 4];
        entry.extend(COMMON);
        entry.extend(Row::of_entry(0).after(None));
        self.append(entry);
    }

    fn describe(&mut self, rows: &[(u64, Row)], end: u64) -> Option<()> {
        let place = self.bytes.len();
        let start = rows.first()?.0;
        let mut entry = Vec::from(u32::try_from(place + 4 - self.common).ok()?.to_le_bytes());
        let here = self.address + place as u64 + 8;
        entry.extend(distance(here, start)?);
        entry.extend(u32::try_from(end - start).ok()?.to_le_bytes());
        entry.push(0);
        let mut before = (start, Row::of_entry(0));
        for (at, row) in rows {
            let change = row.after(Some(&before.1));
            if change.is_empty() {
                continue;
            }
            if *at > before.0 {
                entry.push(dwarf::DW_CFA_advance_loc4.0);
                entry.extend(u32::try_from(at - before.0).ok()?.to_le_bytes());
            }
            entry.extend(change);
            before = (*at, row.clone());
        }
        self.append(entry);
        self.places.push((start, place));
        Some(())
    }

    /// The end of the entries, and the search table.
    fn finish(mut self) -> Option<UnwindTables> {
        self.bytes.extend([0; ALIGNMENT]);
        self.places.sort_unstable();
        let is_twice = |pair: &[(u64, usize)]| pair[0].0 == pair[1].0;
        if self.places.windows(2).any(is_twice) {
            return None;
        }
        let here = self.address + self.bytes.len() as u64;
        let number = dwarf::DW_EH_PE_udata4.0;
        let places = dwarf::DW_EH_PE_datarel.0 | dwarf::DW_EH_PE_sdata4.0;
        let mut index = vec![1, DISTANCE, number, places];
        index.extend(distance(here + 4, self.address)?);
        index.extend(u32::try_from(self.places.len()).ok()?.to_le_bytes());
        for (start, place) in self.places {
            index.extend(distance(here, start)?);
            index.extend(distance(here, self.address + place as u64)?);
        }
        Some(UnwindTables {
            frames: self.bytes,
            index,
        })
    }
}

fn distance(from: u64, to: u64) -> Option<[u8; 4]> {
    let distance = i32::try_from(to.wrapping_sub(from) as i64).ok()?;
    Some(distance.to_le_bytes())
}
