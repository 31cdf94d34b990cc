//! Memory that a walk has to itself: mapped in huge pages, or in none, and given back at the end.

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap,
};
use std::ffi::c_void;
use std::io;

/// The size of a huge page, and what mappings are rounded up and aligned to.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Which pages to ask the kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Of 2 MiB, where the kernel has them.
    Huge,
    /// Of 4 KiB.
    Small,
}

/// Memory of its own, all zero at first.
pub struct Mapping {
    whole: *mut c_void,
    whole_bytes: usize,
    start: *mut u8,
    bytes: usize,
}

impl Mapping {
    /// At least so many bytes, in such pages. A kernel without huge pages gives small ones, as
    /// [`Mapping::is_huge`] then says.
    pub fn new(bytes: usize, pages: Pages) -> io::Result<Mapping> {
        let bytes = bytes.max(1).next_multiple_of(HUGE_PAGE_BYTES);
        let whole_bytes = bytes + HUGE_PAGE_BYTES;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses a place that nobody refers to.
        let whole = unsafe { mmap_anonymous(std::ptr::null_mut(), whole_bytes, rights, flags)? };
        let skipped = whole.cast::<u8>().align_offset(HUGE_PAGE_BYTES);
        let mapping = Mapping {
            whole,
            whole_bytes,
            start: whole.cast::<u8>().wrapping_add(skipped),
            bytes,
        };
        let advice = match pages {
            Pages::Huge => Advice::LinuxHugepage,
            Pages::Small => Advice::LinuxNoHugepage,
        };
        // SAFETY: the range lies in the mapping, whose contents the advice leaves alone.
        let _ = unsafe { madvise(mapping.start.cast(), bytes, advice) };
        Ok(mapping)
    }

    /// Its first byte, on the boundary of a huge page.
    pub fn start(&self) -> *const u8 {
        self.start
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// Has the word at `from` point to the one at `to`, both in bytes from the start.
    ///
    /// # Panics
    /// When one of them is no place for a word.
    pub fn link(&mut self, from: usize, to: usize) {
        const WORD_BYTES: usize = size_of::<*const u8>();
        for place in [from, to] {
            assert!(place.is_multiple_of(WORD_BYTES) && place + WORD_BYTES <= self.bytes);
        }
        let target = self.start.wrapping_add(to).cast_const();
        // SAFETY: an aligned word within the mapping, which may be written to.
        unsafe {
            self.start
                .wrapping_add(from)
                .cast::<*const u8>()
                .write(target);
        }
    }

    /// Writes bytes at so many bytes from the start.
    ///
    /// # Panics
    /// When they go beyond the end.
    pub fn write(&mut self, place: usize, bytes: &[u8]) {
        assert!(place <= self.bytes && bytes.len() <= self.bytes - place);
        // SAFETY: the range lies within the mapping, which may be written to and overlaps nothing.
        unsafe {
            self.start
                .wrapping_add(place)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Lets it be run and no more be written to.
    pub fn make_executable(&self) -> io::Result<()> {
        let rights = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: the range is the mapping's own, and no reference into it exists.
        let changed = unsafe { mprotect(self.start.cast(), self.bytes, rights) };
        changed.map_err(io::Error::from)
    }

    /// Whether the kernel has put any of it into huge pages, by /proc/self/smaps.
    pub fn is_huge(&self) -> bool {
        let Ok(maps) = procfs::process::Process::myself().and_then(|process| process.smaps())
        else {
            return false;
        };
        let start = self.start as u64;
        let is_ours = |(from, to): (u64, u64)| from <= start && start < to;
        maps.iter()
            .filter(|map| is_ours(map.address))
            .filter_map(|map| map.extension.map.get("AnonHugePages"))
            .any(|&bytes| bytes > 0)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing refers to it after.
        let _ = unsafe { munmap(self.whole, self.whole_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_begins_on_a_huge_page_and_has_whole_ones() {
        for pages in [Pages::Huge, Pages::Small] {
            let mapping = Mapping::new(100, pages).unwrap();
            assert_eq!(mapping.start() as usize % HUGE_PAGE_BYTES, 0);
            assert_eq!(mapping.size(), HUGE_PAGE_BYTES);
        }
    }

    #[test]
    fn memory_that_asked_for_small_pages_has_none_that_are_huge() {
        let mut mapping = Mapping::new(HUGE_PAGE_BYTES, Pages::Small).unwrap();
        mapping.write(0, &[1; 4096]);
        assert!(!mapping.is_huge());
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn no_pointer_leads_out_of_a_mapping() {
        let mut mapping = Mapping::new(64, Pages::Small).unwrap();
        mapping.link(0, HUGE_PAGE_BYTES);
    }
}
