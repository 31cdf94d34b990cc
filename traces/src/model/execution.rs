//! What a replay sees: executions of code blocks, and the accesses each of them made.

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

/// One recorded access: bytes `address .. address + size_bytes`, referenced by the instruction at
/// `pc`. It may span two lines (a replay then counts it on both); a fetch never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Guest virtual address of the first byte; in a trace that tells the memories of several
    /// processes apart, located: with the number of its memory in the bits from 47 on
    /// ([`Trace::owner`](crate::Trace::owner)), so that equal addresses are the same byte.
    pub address: u64,
    /// Guest virtual address of the instruction; for a fetch, that of the bytes fetched.
    pub pc: u64,
    /// Number of bytes, at least 1.
    pub size_bytes: u16,
    /// Fetch, load or store.
    pub kind: Kind,
}

impl Access {
    /// Whether the kernel made it: its code is in the upper half of addresses.
    pub fn is_kernels(&self) -> bool {
        self.pc >> 63 == 1
    }

    /// The lines this access references, as line numbers (`address / 64`), first to last.
    pub fn lines(&self) -> std::ops::RangeInclusive<u64> {
        let last = self
            .address
            .saturating_add(u64::from(self.size_bytes.max(1)) - 1);
        self.address >> LINE_SHIFT..=last >> LINE_SHIFT
    }
}

/// log2 of the line size: corehop counts in lines of 64 bytes everywhere.
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
    /// How many executions the thread made before this one, chosen for replay or not.
    pub number: u64,
    /// Index into the trace's code blocks.
    pub code_block: u32,
    /// The function at whose entry this block starts, if it does at one's.
    pub entry: Option<FunctionId>,
    /// Fetches, loads and stores in program order, the fetch of a line before the data accesses of
    /// the instructions that begin on it.
    pub accesses: &'a [Access],
}
