//! Undoes a patched file's changes, from the original bytes in its manifest.

use super::finding::Finding;
use crate::elf::{Image, Manifest};

/// The original, from the patched file and its manifest's record of changes.
pub(super) fn undo(image: &Image, manifest: &Manifest) -> Result<Vec<u8>, Finding> {
    let size = usize::try_from(manifest.original.size_bytes).unwrap_or(usize::MAX);
    let head = image.bytes.get(..size);
    let mut bytes = head.ok_or(Finding::Shorter)?.to_vec();
    for change in &manifest.changes {
        let was = change.bytes();
        let place = was
            .zip(usize::try_from(change.at).ok())
            .and_then(|(was, at)| {
                let place = bytes.get_mut(at..at.checked_add(was.len())?)?;
                place.copy_from_slice(&was);
                Some(())
            });
        place.ok_or(Finding::Change(change.at))?;
    }
    if crc32c::crc32c(&bytes) != manifest.original.crc32c {
        return Err(Finding::Undone);
    }
    Ok(bytes)
}
