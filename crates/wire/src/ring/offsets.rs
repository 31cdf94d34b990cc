//! The layout of the shared memory, from the sizes of its parts; a file may claim arbitrary sizes.

use crate::ring::chunk::ChunkHeader;
use crate::ring::header::Header;
use crate::ring::settings::Settings;

const PAGE_BYTES: usize = 4096;

/// Start of each part, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    pub(crate) chunk_headers: usize,
    pub(crate) control: usize,
    pub(crate) listed: usize,
    pub(crate) data: usize,
    pub(crate) end: usize,
}

impl Offsets {
    /// Computes the layout; `None` if it is larger than the address space.
    pub(crate) fn of(settings: &Settings) -> Option<Offsets> {
        let chunks = settings.chunks as usize;
        let after =
            |begin: usize, count: usize, bytes: usize| count.checked_mul(bytes)?.checked_add(begin);
        let chunk_headers = size_of::<Header>().next_multiple_of(64);
        let headers_end = after(chunk_headers, chunks, size_of::<ChunkHeader>())?;
        let control = headers_end.checked_next_multiple_of(PAGE_BYTES)?;
        let listed = after(control, settings.control_words as usize, 8)?;
        let listed_end = after(listed, settings.listed as usize, 8)?;
        let data = listed_end.checked_next_multiple_of(PAGE_BYTES)?;
        let end = after(data, chunks.checked_mul(settings.chunk_words as usize)?, 8)?;
        Some(Offsets {
            chunk_headers,
            control,
            listed,
            data,
            end: end.checked_next_multiple_of(PAGE_BYTES)?,
        })
    }

    pub(crate) fn of_the_header_alone() -> Offsets {
        Offsets {
            end: size_of::<Header>(),
            ..Offsets::default()
        }
    }
}
