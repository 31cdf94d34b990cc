//! One set partition's entries of a chunk, in pages of memory that are used again for other
//! chunks.
//!
//! The length of a stream is not known before, and those of one chunk differ much. One buffer a
//! stream, kept from chunk to chunk, grows to what the longest of all chunks took, and is copied
//! every time: that was a twelfth of a replay, most of it spent in page faults.

/// Entries of a page: 8 KiB. In a quarter of that a processor has hardly begun to read ahead.
const PAGE: usize = 1024;

/// Some pages, of which all but the last are full.
#[derive(Default)]
pub(crate) struct EntryStream(Vec<Vec<u64>>);

impl EntryStream {
    /// The most entries that can be appended at once; divides those of a page.
    pub const AT_ONCE: usize = 256;

    /// Its entries from `place` on, as far as they lie side by side: none only at its end.
    pub fn from(&self, place: usize) -> &[u64] {
        let page = self.0.get(place / PAGE).map_or(&[][..], Vec::as_slice);
        page.get(place % PAGE..).unwrap_or_default()
    }

    /// Appends `entries`, always [`EntryStream::AT_ONCE`] but the last time. `spare` pages are used
    /// if there are any.
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

    /// Gives all its pages to the `spare` ones.
    pub fn empty(&mut self, spare: &mut Vec<Vec<u64>>) {
        spare.append(&mut self.0);
    }
}
