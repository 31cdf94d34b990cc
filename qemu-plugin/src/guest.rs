// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the server's memory at addresses in system calls, which may be invalid.
//!
//! In user mode, these are addresses of this process. The system copies the memory, and reports
//! unmapped addresses.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The maximum length of a text that the kernel accepts for an executed program (MAX_ARG_STRLEN).
const MOST_TEXT_BYTES: usize = 32 * PAGE_BYTES;
/// More texts than the kernel's total limit allows.
const MOST_TEXTS: u64 = 1 << 20;
const PAGE_BYTES: usize = 4096;

/// Copies readable bytes at an address, up to the length of `bytes`; returns their number.
fn copy(address: u64, bytes: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: the local buffer has the given length, and the system checks whether the remote bytes
    // are mapped.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// Returns the word at an address.
pub(crate) fn word(address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (copy(address, &mut bytes) == bytes.len()).then(|| u64::from_le_bytes(bytes))
}

/// Returns the text at an address, up to its zero.
pub(crate) fn text(address: u64) -> Option<OsString> {
    let mut text = Vec::new();
    while text.len() < MOST_TEXT_BYTES {
        let place = address.checked_add(text.len() as u64)?;
        let mut page = [0; PAGE_BYTES];
        // Only up to the end of the page, because the next one may be unmapped.
        let room = PAGE_BYTES - place as usize % PAGE_BYTES;
        let read = copy(place, &mut page[..room]);
        let page = &page[..read];
        if let Some(end) = page.iter().position(|&byte| byte == 0) {
            text.extend_from_slice(&page[..end]);
            return Some(OsString::from_vec(text));
        }
        if read < room {
            return None;
        }
        text.extend_from_slice(page);
    }
    None
}

/// Returns the texts of a zero-terminated list of pointers; empty for a null list.
pub(crate) fn texts(address: u64) -> Option<Vec<OsString>> {
    let mut texts = Vec::new();
    if address == 0 {
        return Some(texts);
    }
    for place in 0..MOST_TEXTS {
        match word(address.checked_add(8 * place)?)? {
            0 => return Some(texts),
            at => texts.push(text(at)?),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_where_there_is_one() {
        let there = 0x1234_5678u64;
        assert_eq!(word(&raw const there as u64), Some(there));
        assert_eq!(word(8), None);
    }

    #[test]
    fn texts_are_read_across_pages_and_not_where_nothing_is() {
        let long = "x".repeat(3 * PAGE_BYTES);
        let both = [format!("{long}\0"), "short\0".into()];
        let list = [both[0].as_ptr() as u64, both[1].as_ptr() as u64, 0];
        let found = texts(&raw const list as u64).unwrap();
        assert_eq!(found, [OsString::from(long), "short".into()]);
        assert_eq!(texts(0), Some(Vec::new()));
        assert_eq!(texts(8), None);
    }
}
