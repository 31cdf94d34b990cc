//! The data that a replay sees: executions of code blocks, and the accesses of each.

use crate::model::ids::{FunctionId, RequestId, ThreadId};

/// Whether an access fetches, loads or stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// An instruction fetch: the bytes of one code block within one 64-byte line.
    Fetch = 0,
    /// A data load.
    Load = 1,
    /// A data store; an atomic read-modify-write is recorded as one store.
    Store = 2,
}

/// One recorded access: the instruction at `pc` accesses bytes `address .. address + size_bytes`.
/// It may span two lines (a replay then counts it on both); a fetch never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Guest virtual address of the first byte. In a trace that distinguishes the memories of
    /// several processes, it is located, so that equal addresses are the same byte. Its bits from
    /// 47 on then contain the number of its memory ([`Trace::owner`](crate::Trace::owner)).
    pub address: u64,
    /// Guest virtual address of the instruction; for a fetch, that of the bytes fetched.
    pub pc: u64,
    /// Number of bytes, at least 1.
    pub size_bytes: u16,
    /// Fetch, load or store.
    pub kind: Kind,
}

impl Access {
    /// Returns whether the kernel made the access: its code is in the upper half of addresses.
    pub fn is_kernels(&self) -> bool {
        self.pc >> 63 == 1
    }

    /// Returns the numbers (`address / 64`) of the lines that this access covers, first to last.
    pub fn lines(&self) -> std::ops::RangeInclusive<u64> {
        let last = self
            .address
            .saturating_add(u64::from(self.size_bytes.max(1)) - 1);
        self.address >> LINE_SHIFT..=last >> LINE_SHIFT
    }
}

/// log2 of the line size: corehop uses lines of 64 bytes everywhere.
pub const LINE_SHIFT: u32 = 6;

/// One run of one code block by one thread, in replay order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// Stamp of the run that it belongs to.
    pub stamp: u64,
    /// The request that this thread is serving, if any.
    pub request: Option<RequestId>,
    /// How many executions the thread made before this one, selected for replay or not.
    pub number: u64,
    /// Index into the trace's code blocks.
    pub code_block: u32,
    /// Number of its template: executions with equal numbers make the same accesses, except for
    /// the addresses of data.
    pub template: u32,
    /// The function whose entry is the start of this block, if there is one.
    pub entry: Option<FunctionId>,
    /// Fetches, loads and stores in program order. The fetch of a line precedes the data accesses
    /// of the instructions that begin on it.
    pub accesses: &'a [Access],
}
