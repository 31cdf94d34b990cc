//! Checks that a patched file's longer unwind tables agree with the original's for every function.
//!
//! Every exception depends on them. Each function of the original is looked up as unwinders do.

use super::finding::Finding;
use crate::elf::abi::PT_GNU_EH_FRAME;
use crate::elf::{Frames, Image, search_table};
use crate::emit::rows;
use gimli::{EhFrame, EhFrameOffset, UnwindSection};

pub(super) fn check_unwinding(image: &Image, before: &Image) -> Result<(), Finding> {
    let place = |image: &Image| image.segment(PT_GNU_EH_FRAME).cloned();
    let Some(place) = place(image).filter(|new| place(before).as_ref() != Some(new)) else {
        return Ok(()); // they are the original's
    };
    let none = || Finding::NoSearchTable(place.address);
    let own = Frames::of(before).ok_or_else(none)?;
    let new = Frames::of(image).ok_or_else(none)?;
    let table = search_table(image).ok_or_else(none)?;
    if !table.is_sorted() {
        return Err(none());
    }
    let found_at = |start: u64| {
        let entry = table.binary_search_by_key(&start, |entry| entry.0).ok()?;
        let offset = usize::try_from(table[entry].1.checked_sub(new.address)?).ok()?;
        let cie = EhFrame::cie_from_offset;
        let found = new
            .section
            .fde_from_offset(&new.bases, EhFrameOffset(offset), cie);
        found.ok()
    };
    for fde in own.entries() {
        let start = fde.initial_address();
        if fde.len() == 0 || before.segment_at(start).is_none() {
            continue;
        }
        let found = found_at(start);
        let is_same = found.is_some_and(|found| {
            found.initial_address() == start
                && found.len() == fde.len()
                && found.is_signal_trampoline() == fde.is_signal_trampoline()
                && found.personality() == fde.personality()
                && found.lsda() == fde.lsda()
                && rows(&new, &found) == rows(&own, &fde)
        });
        if !is_same {
            return Err(Finding::Unwinding(start));
        }
    }
    Ok(())
}
