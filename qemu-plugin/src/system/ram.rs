// SPDX-License-Identifier: GPL-2.0-or-later
//! The guest's memory, read where the kernel keeps what it knows.
//!
//! The guest is started without address randomisation, so the kernel's image and its map of all
//! memory are at the addresses they were built for (the kernel's
//! Documentation/arch/x86/x86_64/mm.rst, with page tables of four levels).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where all memory is mapped.
const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;
/// Where the kernel's image is mapped, from physical address 0 on.
const IMAGE: u64 = 0xffff_ffff_8000_0000;

/// The guest's memory.
pub(crate) struct Ram {
    base: NonNull<AtomicU64>,
    bytes: u64,
    /// Device and inode of the file.
    identity: [u64; 2],
}

// SAFETY: the mapping is never moved, only read, and as atomics.
unsafe impl Send for Ram {}
// SAFETY: as above.
unsafe impl Sync for Ram {}

impl Ram {
    /// Maps the file at `path`, for good.
    pub(crate) fn map(path: &Path) -> std::io::Result<Ram> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let (bytes, device) = (metadata.len(), metadata.dev());
        let major_and_minor = [libc::major(device), libc::minor(device)].map(u64::from);
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        let descriptor = file.as_raw_fd();
        // SAFETY: a new mapping at an address that the system chooses harms no other memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes as usize,
                protection,
                flags,
                descriptor,
                0,
            )
        };
        match NonNull::new(base) {
            Some(base) if base.as_ptr() != libc::MAP_FAILED => Ok(Ram {
                base: base.cast(),
                bytes,
                identity: [
                    major_and_minor[0] << 32 | major_and_minor[1],
                    metadata.ino(),
                ],
            }),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// Device and inode of the file, as /proc/self/maps has them.
    pub(crate) fn identity(&self) -> [u64; 2] {
        self.identity
    }

    /// The 8 bytes at an address of the kernel's that is a multiple of 8; 0 where there is no
    /// memory.
    pub(crate) fn word(&self, address: u64) -> u64 {
        let start = if address >= IMAGE { IMAGE } else { DIRECT_MAP };
        let physical = address.wrapping_sub(start);
        if physical >= self.bytes || !physical.is_multiple_of(8) || self.bytes - physical < 8 {
            return 0;
        }
        // SAFETY: the place is aligned and within the mapping, which is there for good.
        let word = unsafe { &*self.base.as_ptr().add(physical as usize / 8) };
        word.load(Ordering::Relaxed)
    }

    /// The 4 bytes at an address of the kernel's that is a multiple of 4.
    pub(crate) fn half_word(&self, address: u64) -> u32 {
        let word = self.word(address & !7);
        (word >> (8 * (address & 4))) as u32
    }
}
