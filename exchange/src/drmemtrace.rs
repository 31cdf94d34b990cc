//! The records of DynamoRIO's drmemtrace: one file of 12-byte records, uncompressed.
//!
//! What is read and written is the stream that its analysis tools read: `trace_entry_t` of 64-bit
//! builds, packed, little-endian: a type in 16 bits, a size in 16, an address or value in 64. The
//! numbers are those of drmemtrace's `trace_type_t`, `trace_marker_type_t` and
//! `offline_file_type_t`. Raw traces that were not converted yet, and archives, are not read.

mod export;
mod import;

pub use export::Exporter;
pub use import::import;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    kind: u16,
    /// Bytes of an access or instruction, instructions of a bundle, or which marker.
    size: u16,
    /// Address, process, thread or value of a marker.
    value: u64,
}

const RECORD_BYTES: usize = 12;

impl Record {
    fn encode(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..2].copy_from_slice(&self.kind.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.size.to_le_bytes());
        bytes[4..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; RECORD_BYTES]) -> Record {
        let [a, b, c, d, value @ ..] = *bytes;
        Record {
            kind: u16::from_le_bytes([a, b]),
            size: u16::from_le_bytes([c, d]),
            value: u64::from_le_bytes(value),
        }
    }
}

/// Types of records.
mod kind {
    pub(super) const READ: u16 = 0;
    pub(super) const WRITE: u16 = 1;
    pub(super) const FIRST_PREFETCH: u16 = 2;
    pub(super) const LAST_PREFETCH: u16 = 9;
    /// Any instruction that is no branch; branches of several kinds follow.
    pub(super) const INSTRUCTION: u16 = 10;
    pub(super) const LAST_BRANCH: u16 = 16;
    pub(super) const BUNDLE: u16 = 17;
    pub(super) const FIRST_FLUSH: u16 = 18;
    pub(super) const LAST_FLUSH: u16 = 21;
    pub(super) const THREAD: u16 = 22;
    pub(super) const THREAD_EXIT: u16 = 23;
    pub(super) const PROCESS: u16 = 24;
    pub(super) const HEADER: u16 = 25;
    pub(super) const FOOTER: u16 = 26;
    pub(super) const HARDWARE_PREFETCH: u16 = 27;
    pub(super) const MARKER: u16 = 28;
    pub(super) const NO_FETCH: u16 = 29;
    pub(super) const MAYBE_FETCH: u16 = 30;
    pub(super) const SYSENTER: u16 = 31;
    pub(super) const FIRST_HINT: u16 = 32;
    pub(super) const LAST_HINT: u16 = 46;
    pub(super) const ENCODING: u16 = 47;
    pub(super) const TAKEN: u16 = 48;
    pub(super) const UNTAKEN: u16 = 49;
}

/// Sub-types of marker records. Those from 100 on are for users: two are ours.
mod marker {
    pub(super) const TIMESTAMP: u16 = 2;
    pub(super) const CPU: u16 = 3;
    pub(super) const FILE_TYPE: u16 = 9;
    pub(super) const LINE_BYTES: u16 = 10;
    pub(super) const VERSION: u16 = 12;
    pub(super) const PAGE_BYTES: u16 = 18;
    /// A request begins with the thread's next instruction; the value is its number.
    pub(super) const REQUEST: u16 = 0xc00;
    /// The thread's last request ends here.
    pub(super) const REQUEST_END: u16 = 0xc01;
}

/// Bits of the file type.
mod file_type {
    pub(super) const FILTERED: u64 = 0x1;
    pub(super) const ARM32: u64 = 0x10;
    pub(super) const X86_32: u64 = 0x20;
    pub(super) const X86_64: u64 = 0x40;
    pub(super) const INSTRUCTIONS_FILTERED: u64 = 0x80;
    pub(super) const DATA_FILTERED: u64 = 0x100;
}
