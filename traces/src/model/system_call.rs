//! What threads ask of the kernel.

/// A system call that a thread made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// Executions before it: of the thread, or of its chunk while that is read and written. The
    /// last of them made the call.
    pub after: u64,
    /// Which one it is, as Linux numbers them.
    pub number: i32,
    /// What it returned, an error as its negative number; `None` if it was not seen to return.
    pub result: Option<i64>,
}

/// The most system calls in one chunk, which bounds the memory that reading one takes.
pub const MAX_SYSTEM_CALLS: usize = 1 << 20;
