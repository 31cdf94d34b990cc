// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the guest's memory, for the kernel's data.
//!
//! The guest is started without address randomisation, so the kernel's image and its direct map are
//! at their default addresses (the kernel's Documentation/arch/x86/x86_64/mm.rst, with four-level
//! page tables).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Address of the direct map of all memory.
const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;
/// Address of the kernel's image, from physical address 0.
const IMAGE: u64 = 0xffff_ffff_8000_0000;

/// The guest's memory.
pub(crate) struct Ram {
    base: NonNull<AtomicU64>,
    bytes: u64,
    /// Device and inode of the file.
    identity: [u64; 2],
}

// SAFETY: the mapping is never moved, and is only read, as atomics.
unsafe impl Send for Ram {}
// SAFETY: as above.
unsafe impl Sync for Ram {}

impl Ram {
    /// Maps the file at `path` permanently.
    pub(crate) fn map(path: &Path) -> std::io::Result<Ram> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let (bytes, device) = (metadata.len(), metadata.dev());
        let major_and_minor = [libc::major(device), libc::minor(device)].map(u64::from);
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        let descriptor = file.as_raw_fd();
        // SAFETY: a new mapping at an address chosen by the system affects no other memory.
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

    /// Returns device and inode of the file, as in /proc/self/maps.
    pub(crate) fn identity(&self) -> [u64; 2] {
        self.identity
    }

    /// Returns the 8 bytes at a kernel address that is a multiple of 8; 0 without memory there.
    pub(crate) fn word(&self, address: u64) -> u64 {
        let start = if address >= IMAGE { IMAGE } else { DIRECT_MAP };
        let physical = address.wrapping_sub(start);
        if physical >= self.bytes || !physical.is_multiple_of(8) || self.bytes - physical < 8 {
            return 0;
        }
        // SAFETY: the place is aligned and within the mapping, which is permanent.
        let word = unsafe { &*self.base.as_ptr().add(physical as usize / 8) };
        word.load(Ordering::Relaxed)
    }

    /// Returns the 4 bytes at a kernel address that is a multiple of 4.
    pub(crate) fn half_word(&self, address: u64) -> u32 {
        let word = self.word(address & !7);
        (word >> (8 * (address & 4))) as u32
    }
}
