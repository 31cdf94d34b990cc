//! Private memory for a walk: mapped in huge pages or in small pages, and unmapped when dropped.

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap,
};
use std::ffi::c_void;
use std::io;

/// The size of a huge page, and what mappings are rounded up and aligned to.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Page size to request from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// 2 MiB, if the kernel provides them.
    Huge,
    /// 4 KiB.
    Small,
}

/// A private mapping, initially zero.
pub struct Mapping {
    whole: *mut c_void,
    whole_bytes: usize,
    start: *mut u8,
    bytes: usize,
}

impl Mapping {
    /// Maps at least this many bytes in such pages. A kernel without huge pages provides small
    /// ones; [`Mapping::is_huge`] reports that.
    pub fn new(bytes: usize, pages: Pages) -> io::Result<Mapping> {
        let bytes = bytes.max(1).next_multiple_of(HUGE_PAGE_BYTES);
        let whole_bytes = bytes + HUGE_PAGE_BYTES;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses an unused address range.
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
        // SAFETY: the range lies in the mapping, and the advice does not change its contents.
        let _ = unsafe { madvise(mapping.start.cast(), bytes, advice) };
        Ok(mapping)
    }

    /// Returns the first byte, aligned to a huge page.
    pub fn start(&self) -> *const u8 {
        self.start
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// Makes the word at `from` point to the one at `to`, both in bytes from the start.
    ///
    /// # Panics
    /// If one of them is unaligned or outside the mapping.
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

    /// Writes bytes at an offset from the start.
    ///
    /// # Panics
    /// If they exceed the mapping.
    pub fn write(&mut self, place: usize, bytes: &[u8]) {
        assert!(place <= self.bytes && bytes.len() <= self.bytes - place);
        // SAFETY: the range lies within the mapping, which may be written to and overlaps nothing.
        unsafe {
            self.start
                .wrapping_add(place)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Makes the memory executable and read-only.
    pub fn make_executable(&self) -> io::Result<()> {
        let rights = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: the range is the mapping's own, and no reference into it exists.
        let changed = unsafe { mprotect(self.start.cast(), self.bytes, rights) };
        changed.map_err(io::Error::from)
    }

    /// Whether /proc/self/smaps shows any huge page in the mapping.
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
        // SAFETY: this value owns the mapping, and nothing refers to it afterwards.
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
