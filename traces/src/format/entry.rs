//! One entry of a trace file as bytes. Seals an entry with its number and checksum, and
//! distinguishes the next entry from the end of a truncated file, from damage, and from another
//! file.
//!
//! Nothing here depends on the format's version: see the promise in `schema/trace.capnp`.

use crate::format::trace_capnp;
use capnp::message::{Builder, HeapAllocator, ReaderOptions};

/// The magic number in every entry.
pub const MAGIC: u64 = trace_capnp::MAGIC;
/// The format version that this crate writes, and the newest that it reads.
pub const VERSION: u16 = trace_capnp::VERSION;

const SEQUENCE_AT: usize = 16;
const CHECKSUM_AT: usize = 20;
const MAGIC_AT: usize = 24;
/// Minimum size of an entry in bytes.
pub const PREFIX_BYTES: usize = 32;

/// A message with enough space that its single segment does not grow.
pub type Message = Builder<HeapAllocator>;

/// Creates an empty message whose segment has space for `content_bytes` and the fixed structs.
pub fn message(content_bytes: usize) -> Message {
    let words = content_bytes / 8 + 128;
    let words = u32::try_from(words).expect("an entry is far smaller than 32 GiB");
    Builder::new(HeapAllocator::new().first_segment_words(words))
}

/// Returns the message as the bytes of entry `number`.
///
/// # Panics
/// If the message is larger than the requested size, which is a bug of the caller.
pub fn seal(message: &mut Message, number: u32) -> Vec<u8> {
    {
        let root = message.get_root::<trace_capnp::entry::Builder<'_>>();
        let mut entry = root.expect("the root was made by the caller");
        entry.set_sequence(number);
        entry.set_checksum(0);
        entry.set_magic(MAGIC);
    }
    let segments = message.get_segments_for_output();
    assert_eq!(segments.len(), 1, "an entry has one segment");
    let mut bytes = capnp::serialize::write_message_to_words(message);
    let checksum = crc32c::crc32c(&bytes);
    bytes[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// What a place in the file contains.
pub enum Found<'a> {
    /// An intact entry.
    Entry(&'a [u8]),
    /// The end of the file, directly after an entry.
    End,
    /// The beginning of an entry that is truncated.
    Cut,
    /// Not an entry; the text gives the reason.
    Damage(String),
}

/// Returns whether `bytes` begins like an entry, with the magic number in its place.
pub fn has_magic(bytes: &[u8]) -> bool {
    bytes.len() >= PREFIX_BYTES && u64_at(bytes, MAGIC_AT) == MAGIC
}

/// Examines `file[offset..]`, where entry `number` should begin.
pub fn look(file: &[u8], offset: usize, number: u32) -> Found<'_> {
    let rest = &file[offset..];
    if rest.is_empty() {
        return Found::End;
    }
    if rest.len() < PREFIX_BYTES {
        return Found::Cut;
    }
    if !has_magic(rest) {
        return Found::Damage("an entry has no magic number".into());
    }
    let Some(length) = length(rest) else {
        return Found::Damage("the entry's length is invalid".into());
    };
    if length > rest.len() {
        return match next_intact(file, offset + 8) {
            None => Found::Cut,
            Some(_) => Found::Damage("the entry's length is wrong".into()),
        };
    }
    let bytes = &rest[..length];
    if !checksum_holds(bytes) {
        return Found::Damage("the checksum is wrong".into());
    }
    let sequence = u32_at(bytes, SEQUENCE_AT);
    if sequence != number {
        let problem = format!("found entry {sequence}, expected entry {number}");
        return Found::Damage(problem);
    }
    Found::Entry(bytes)
}

/// Returns the offset and number of the first intact entry that begins at `from` or later.
///
/// The search ends early in a file crafted to look like an endless sequence of entries.
pub fn next_intact(file: &[u8], from: usize) -> Option<(usize, u32)> {
    let mut offset = from.next_multiple_of(8);
    let mut worth_checking = file.len().saturating_mul(16);
    while offset + PREFIX_BYTES <= file.len() {
        let rest = &file[offset..];
        if has_magic(rest) {
            let bytes = length(rest).and_then(|length| rest.get(..length));
            if bytes.is_some_and(checksum_holds) {
                return Some((offset, u32_at(rest, SEQUENCE_AT)));
            }
            worth_checking = worth_checking.checked_sub(bytes.map_or(0, <[u8]>::len))?;
        }
        offset += 8;
    }
    None
}

/// Returns the sequence number in an intact entry.
pub fn number(bytes: &[u8]) -> u32 {
    u32_at(bytes, SEQUENCE_AT)
}

/// Returns the entry as a Cap'n Proto message. Its pointers are checked when they are followed.
pub fn read(bytes: &[u8]) -> capnp::Result<EntryReader<'_>> {
    let mut options = ReaderOptions::new();
    // A regular entry is read about once; the limit stops entries with overlapping lists.
    options.traversal_limit_in_words(Some(bytes.len() + 1024));
    capnp::serialize::read_message_from_flat_slice(&mut &bytes[..], options)
}

/// A message that borrows the file.
pub type EntryReader<'a> = capnp::message::Reader<capnp::serialize::BufferSegments<&'a [u8]>>;

/// Returns the entry's length in bytes from the start of `bytes`; `None` if it is invalid.
fn length(bytes: &[u8]) -> Option<usize> {
    let segments_less_one = u32_at(bytes, 0);
    let words = u32_at(bytes, 4) as usize;
    (segments_less_one == 0 && words >= (PREFIX_BYTES - 8) / 8).then_some(8 + words * 8)
}

fn checksum_holds(bytes: &[u8]) -> bool {
    let before = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    let zeroed = crc32c::crc32c_append(before, &[0; 4]);
    let all = crc32c::crc32c_append(zeroed, &bytes[CHECKSUM_AT + 4..]);
    all == u32_at(bytes, CHECKSUM_AT)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
