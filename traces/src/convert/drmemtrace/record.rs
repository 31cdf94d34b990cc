//! A record of drmemtrace as bytes, and the numbers that say what it is.

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) kind: u16,
    /// Bytes of an access or instruction, instructions of a bundle, or which marker.
    pub(super) size: u16,
    /// Address, process, thread or value of a marker.
    pub(super) value: u64,
}

pub(super) const RECORD_BYTES: usize = 12;

impl Record {
    pub(super) fn encode(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..2].copy_from_slice(&self.kind.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.size.to_le_bytes());
        bytes[4..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; RECORD_BYTES]) -> Record {
        let [a, b, c, d, value @ ..] = *bytes;
        Record {
            kind: u16::from_le_bytes([a, b]),
            size: u16::from_le_bytes([c, d]),
            value: u64::from_le_bytes(value),
        }
    }
}

/// Types of records.
pub(super) mod kind {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const FIRST_PREFETCH: u16 = 2;
    pub const LAST_PREFETCH: u16 = 9;
    /// Any instruction that is no branch; branches of several kinds follow.
    pub const INSTRUCTION: u16 = 10;
    pub const LAST_BRANCH: u16 = 16;
    pub const BUNDLE: u16 = 17;
    pub const FIRST_FLUSH: u16 = 18;
    pub const LAST_FLUSH: u16 = 21;
    pub const THREAD: u16 = 22;
    pub const THREAD_EXIT: u16 = 23;
    pub const PROCESS: u16 = 24;
    pub const HEADER: u16 = 25;
    pub const FOOTER: u16 = 26;
    pub const HARDWARE_PREFETCH: u16 = 27;
    pub const MARKER: u16 = 28;
    pub const NO_FETCH: u16 = 29;
    pub const MAYBE_FETCH: u16 = 30;
    pub const SYSENTER: u16 = 31;
    pub const FIRST_HINT: u16 = 32;
    pub const LAST_HINT: u16 = 46;
    pub const ENCODING: u16 = 47;
    pub const TAKEN: u16 = 48;
    pub const UNTAKEN: u16 = 49;
}

/// Sub-types of marker records. Those from 100 on are for users: two are ours.
pub(super) mod marker {
    pub const TIMESTAMP: u16 = 2;
    pub const CPU: u16 = 3;
    /// Which function the next markers tell of; a system call's number on top of
    /// [`SYSTEM_CALL_FUNCTIONS`](super::SYSTEM_CALL_FUNCTIONS).
    pub const FUNCTION: u16 = 4;
    /// What it has returned.
    pub const RETURNED: u16 = 7;
    pub const FILE_TYPE: u16 = 9;
    pub const LINE_BYTES: u16 = 10;
    pub const VERSION: u16 = 12;
    /// Where the page of the virtual address is that the next marker names.
    pub const PHYSICAL_ADDRESS: u16 = 15;
    pub const VIRTUAL_ADDRESS: u16 = 17;
    pub const PAGE_BYTES: u16 = 18;
    /// The instruction before makes the system call of this number.
    pub const SYSTEM_CALL: u16 = 25;
    /// A request begins with the thread's next instruction; the value is its number.
    pub const REQUEST: u16 = 0xc00;
    /// The thread's request ends here, and what follows belongs to none.
    pub const REQUEST_END: u16 = 0xc01;
}

/// Functions from this number on are system calls: `TRACE_FUNC_ID_SYSCALL_BASE`.
pub(super) const SYSTEM_CALL_FUNCTIONS: u64 = 1 << 32;

/// Bits of the file type.
pub(super) mod file_type {
    pub const FILTERED: u64 = 0x1;
    pub const ARM32: u64 = 0x10;
    pub const X86_32: u64 = 0x20;
    pub const X86_64: u64 = 0x40;
    pub const INSTRUCTIONS_FILTERED: u64 = 0x80;
    pub const DATA_FILTERED: u64 = 0x100;
}
