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
    pub const DIRECT_JUMP: u16 = 11;
    pub const INDIRECT_JUMP: u16 = 12;
    /// Of versions up to 4; later ones say whether it is taken.
    pub const CONDITIONAL_JUMP: u16 = 13;
    pub const DIRECT_CALL: u16 = 14;
    pub const INDIRECT_CALL: u16 = 15;
    pub const LAST_BRANCH: u16 = 16;
    pub const BUNDLE: u16 = 17;
    pub const INSTRUCTION_FLUSH: u16 = 18;
    pub const INSTRUCTION_FLUSH_END: u16 = 19;
    pub const DATA_FLUSH: u16 = 20;
    pub const DATA_FLUSH_END: u16 = 21;
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
    /// The next instruction is the first of a signal's handler, or the like.
    pub const EVENT: u16 = 0;
    /// The next instruction is where a handler has returned to.
    pub const EVENT_END: u16 = 1;
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
    /// A restartable sequence was begun anew; an [`EVENT`] follows.
    pub const SEQUENCE_ABORT: u16 = 13;
    /// The number of the part of the run that was traced.
    pub const WINDOW: u16 = 14;
    /// Where the page of the virtual address is that the next marker names.
    pub const PHYSICAL_ADDRESS: u16 = 15;
    pub const NO_PHYSICAL_ADDRESS: u16 = 16;
    pub const VIRTUAL_ADDRESS: u16 = 17;
    pub const PAGE_BYTES: u16 = 18;
    /// What came before was filtered by a cache, and what follows is not.
    pub const FILTER_END: u16 = 23;
    /// The instruction before makes the system call of this number.
    pub const SYSTEM_CALL: u16 = 25;
    /// What follows the kernel executes, in a system call or when it switches threads.
    pub const KERNEL_CALL: u16 = 27;
    pub const KERNEL_CALL_END: u16 = 28;
    /// The thread gives its core to another, until that or a third lets it go on.
    pub const DIRECT_SWITCH: u16 = 31;
    pub const CORE_WAITS: u16 = 32;
    pub const CORE_IDLE: u16 = 33;
    pub const KERNEL_SWITCH: u16 = 34;
    pub const KERNEL_SWITCH_END: u16 = 35;
    pub const UNSCHEDULED: u16 = 37;
    pub const SCHEDULED: u16 = 38;
    /// An instruction began and did not end; nothing else is told of it.
    pub const UNCOMPLETED: u16 = 41;
    /// What [`EVENT`] and [`EVENT_END`] are in the trace of a whole system.
    pub const HARDWARE_EVENT: u16 = 43;
    pub const HARDWARE_RETURN: u16 = 44;
    /// An access that was masked out.
    pub const SKIPPED_ACCESS: u16 = 46;
    pub const FIRST_OF_USERS: u16 = 100;
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
    /// It has no loads and stores.
    pub const INSTRUCTIONS_ONLY: u64 = 0x4;
    pub const AARCH64: u64 = 0x8;
    pub const ARM32: u64 = 0x10;
    pub const X86_32: u64 = 0x20;
    pub const X86_64: u64 = 0x40;
    pub const INSTRUCTIONS_FILTERED: u64 = 0x80;
    pub const DATA_FILTERED: u64 = 0x100;
    /// The bytes of each instruction are told before it is first executed.
    pub const ENCODINGS: u64 = 0x200;
    /// Markers tell the numbers of system calls.
    pub const SYSTEM_CALLS: u64 = 0x400;
    /// Only what comes before the marker that says so is filtered.
    pub const FILTERED_AT_FIRST: u64 = 0x2000;
    /// The kernel's instructions are there, without what they load and store.
    pub const KERNEL_INSTRUCTIONS_ONLY: u64 = 0x8000;
    /// A file is of a core, and has the threads one after another that ran there.
    pub const OF_CORES: u64 = 0x1_0000;
    pub const WHOLE_SYSTEM: u64 = 0x4_0000;
}
