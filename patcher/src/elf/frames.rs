//! The unwind tables of a file: where `.eh_frame` is, and its entries for each function.

use super::Image;
use super::abi::PT_GNU_EH_FRAME;
use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    ParsedEhFrameHdr, Pointer, UnwindSection,
};

pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;
/// The tables' entry for one function or fragment.
pub(crate) type Fde<'a> = FrameDescriptionEntry<Bytes<'a>>;

/// `.eh_frame` of a file.
pub(crate) struct Frames<'a> {
    pub section: EhFrame<Bytes<'a>>,
    pub bases: BaseAddresses,
    pub address: u64,
    pub bytes: &'a [u8],
}

impl<'a> Frames<'a> {
    /// Finds it by the search table that every loader needs, else by section.
    pub fn of(image: &'a Image) -> Option<Frames<'a>> {
        let (address, bytes) = by_table(image).or_else(|| {
            let section = image.section(".eh_frame")?;
            Some((section.address, image.contents(section)?))
        })?;
        let mut bases = BaseAddresses::default().set_eh_frame(address);
        if let Some(text) = image.section(".text") {
            bases = bases.set_text(text.address);
        }
        Some(Frames {
            section: EhFrame::new(bytes, LittleEndian),
            bases,
            address,
            bytes,
        })
    }

    /// All readable entries, in the order of the file.
    pub fn entries(&self) -> Vec<Fde<'a>> {
        let mut found = Vec::new();
        let mut entries = self.section.entries(&self.bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            found.extend(partial.parse(EhFrame::cie_from_offset));
        }
        found
    }
}

fn by_table(image: &Image) -> Option<(u64, &[u8])> {
    match header(image)?.0.eh_frame_ptr() {
        Pointer::Direct(address) => Some((address, image.bytes_at(address)?)),
        Pointer::Indirect(_) => None,
    }
}

/// The search table of unwinders, as far as it can be read: the start of each function, and the
/// address of its frame description.
pub(crate) fn search_table(image: &Image) -> Option<Vec<(u64, u64)>> {
    let (header, bases) = header(image)?;
    let mut found = Vec::new();
    if let Some(table) = header.table() {
        let mut entries = table.iter(&bases);
        while let Ok(Some((Pointer::Direct(start), Pointer::Direct(entry)))) = entries.next() {
            found.push((start, entry));
        }
    }
    Some(found)
}

fn header(image: &Image) -> Option<(ParsedEhFrameHdr<Bytes<'_>>, BaseAddresses)> {
    let segment = image.segment(PT_GNU_EH_FRAME)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(segment.address);
    let header = EhFrameHdr::new(image.bytes_at(segment.address)?, LittleEndian);
    Some((header.parse(&bases, 8).ok()?, bases))
}
