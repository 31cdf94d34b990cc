//! One set partition's entries of a chunk, in pages of memory that are reused for other chunks.
//!
//! The length of a stream is not known in advance, and streams of one chunk differ widely. One
//! buffer for each stream, kept from chunk to chunk, grows to the length of the longest stream of
//! all chunks and is copied every time. This took a twelfth of a replay, mostly in page faults.

/// Entries in a page: 8 KiB. With a quarter of that, hardware prefetching has hardly begun.
const PAGE: usize = 1024;

/// A list of pages; all but the last are full.
#[derive(Default)]
pub(crate) struct EntryStream(Vec<Vec<u64>>);

impl EntryStream {
    /// Maximum number of entries per append; it divides the size of a page.
    pub const AT_ONCE: usize = 256;

    /// Returns the contiguous entries from `place` on; the result is empty only at the end.
    pub fn from(&self, place: usize) -> &[u64] {
        let page = self.0.get(place / PAGE).map_or(&[][..], Vec::as_slice);
        page.get(place % PAGE..).unwrap_or_default()
    }

    /// Appends `entries`; every append except the last has [`EntryStream::AT_ONCE`] entries. Reuses
    /// `spare` pages if there are any.
    pub fn append(&mut self, entries: &[u64], spare: &mut Vec<Vec<u64>>) {
        if self.0.last().is_none_or(|last| last.len() == PAGE) {
            let mut page = spare.pop().unwrap_or_else(|| Vec::with_capacity(PAGE));
            page.clear();
            self.0.push(page);
        }
        if let Some(last) = self.0.last_mut() {
            last.extend_from_slice(entries);
        }
    }

    /// Moves all its pages to `spare`.
    pub fn empty(&mut self, spare: &mut Vec<Vec<u64>>) {
        spare.append(&mut self.0);
    }
}
