//! Reads numbers and texts at an offset; `None` if they do not fit into the bytes.

/// The `N` bytes at `offset`, if they are there.
fn array<const N: usize>(bytes: &[u8], offset: u64) -> Option<[u8; N]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn u32_at(bytes: &[u8], offset: u64) -> Option<u32> {
    array(bytes, offset).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], offset: u64) -> Option<u64> {
    array(bytes, offset).map(u64::from_le_bytes)
}

pub(super) fn u16_at(bytes: &[u8], offset: u64) -> Option<u16> {
    array(bytes, offset).map(u16::from_le_bytes)
}

pub(super) fn slice(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}

/// The zero-terminated text at `offset`.
pub(crate) fn text_at(bytes: &[u8], offset: u64) -> Option<&str> {
    let rest = bytes.get(usize::try_from(offset).ok()?..)?;
    let end = rest.iter().position(|&b| b == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}
