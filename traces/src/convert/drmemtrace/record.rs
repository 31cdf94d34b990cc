//! A record of drmemtrace as bytes, and its numeric constants.

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) kind: u16,
    /// Size in bytes of an access or instruction, number of instructions of a bundle, or marker
    /// type.
    pub(super) size: u16,
    /// Address, process, thread, or value of a marker.
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
    /// Any non-branch instruction; several kinds of branches follow.
    pub const INSTRUCTION: u16 = 10;
    pub const DIRECT_JUMP: u16 = 11;
    pub const INDIRECT_JUMP: u16 = 12;
    /// In versions up to 4; later ones contain whether it is taken.
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

/// Sub-types of marker records. Those from 100 on are for users; two of them are ours.
pub(super) mod marker {
    /// The next instruction is the first of a signal handler or similar.
    pub const EVENT: u16 = 0;
    /// The next instruction is the one that a handler has returned to.
    pub const EVENT_END: u16 = 1;
    pub const TIMESTAMP: u16 = 2;
    pub const CPU: u16 = 3;
    /// The function that the next markers refer to; for a system call, its number plus
    /// [`SYSTEM_CALL_FUNCTIONS`](super::SYSTEM_CALL_FUNCTIONS).
    pub const FUNCTION: u16 = 4;
    /// The function's result.
    pub const RETURNED: u16 = 7;
    pub const FILE_TYPE: u16 = 9;
    pub const LINE_BYTES: u16 = 10;
    pub const VERSION: u16 = 12;
    /// A restartable sequence was restarted; an [`EVENT`] follows.
    pub const SEQUENCE_ABORT: u16 = 13;
    /// The number of the traced window of the run.
    pub const WINDOW: u16 = 14;
    /// Physical address of the page whose virtual address is in the next marker.
    pub const PHYSICAL_ADDRESS: u16 = 15;
    pub const NO_PHYSICAL_ADDRESS: u16 = 16;
    pub const VIRTUAL_ADDRESS: u16 = 17;
    pub const PAGE_BYTES: u16 = 18;
    /// Records before it were filtered by a cache; those after it are not.
    pub const FILTER_END: u16 = 23;
    /// The previous instruction makes the system call with this number.
    pub const SYSTEM_CALL: u16 = 25;
    /// The kernel executes what follows, in a system call or a thread switch.
    pub const KERNEL_CALL: u16 = 27;
    pub const KERNEL_CALL_END: u16 = 28;
    /// The thread gives its core to another thread, until that or a third one lets it continue.
    pub const DIRECT_SWITCH: u16 = 31;
    pub const CORE_WAITS: u16 = 32;
    pub const CORE_IDLE: u16 = 33;
    pub const KERNEL_SWITCH: u16 = 34;
    pub const KERNEL_SWITCH_END: u16 = 35;
    pub const UNSCHEDULED: u16 = 37;
    pub const SCHEDULED: u16 = 38;
    /// An instruction began and did not complete; no other record describes it.
    pub const UNCOMPLETED: u16 = 41;
    /// Correspond to [`EVENT`] and [`EVENT_END`] in the trace of a whole system.
    pub const HARDWARE_EVENT: u16 = 43;
    pub const HARDWARE_RETURN: u16 = 44;
    /// An access that was masked out.
    pub const SKIPPED_ACCESS: u16 = 46;
    pub const FIRST_OF_USERS: u16 = 100;
    /// A request begins with the thread's next instruction; the value is its number.
    pub const REQUEST: u16 = 0xc00;
    /// The thread's request ends here; what follows belongs to no request.
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
    /// Each instruction's bytes precede its first execution.
    pub const ENCODINGS: u64 = 0x200;
    /// Markers contain the numbers of system calls.
    pub const SYSTEM_CALLS: u64 = 0x400;
    /// Only the records before [`marker::FILTER_END`](super::marker::FILTER_END) are filtered.
    pub const FILTERED_AT_FIRST: u64 = 0x2000;
    /// It contains the kernel's instructions, but not their loads and stores.
    pub const KERNEL_INSTRUCTIONS_ONLY: u64 = 0x8000;
    /// Each file belongs to a core, and contains the threads that ran there in sequence.
    pub const OF_CORES: u64 = 0x1_0000;
    pub const WHOLE_SYSTEM: u64 = 0x4_0000;
}
