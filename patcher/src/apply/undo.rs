//! Takes a patched file's changes back, by what its manifest says the bytes were.

use crate::elf::{Image, Manifest};

/// The original, from the patched file and what its manifest says was changed.
pub(super) fn undo(image: &Image, manifest: &Manifest) -> Result<Vec<u8>, String> {
    let size = usize::try_from(manifest.original.size_bytes).unwrap_or(usize::MAX);
    let head = image.bytes.get(..size);
    let mut bytes = head.ok_or("it is shorter than its original was")?.to_vec();
    for change in &manifest.changes {
        let was = change.bytes();
        let place = was
            .zip(usize::try_from(change.at).ok())
            .and_then(|(was, at)| {
                let place = bytes.get_mut(at..at.checked_add(was.len())?)?;
                place.copy_from_slice(&was);
                Some(())
            });
        place.ok_or_else(|| format!("its manifest's change at {:#x} makes no sense", change.at))?;
    }
    if crc32c::crc32c(&bytes) != manifest.original.crc32c {
        return Err(
            "bytes differ from the original where nothing was patched: the checksum of \
                    the undone file is not the original's"
                .into(),
        );
    }
    Ok(bytes)
}
