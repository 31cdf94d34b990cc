//! System calls that threads made.

/// A system call that a thread made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// Number of executions before it: of the thread, or of its chunk during reading and writing.
    /// The last of them made the call.
    pub after: u64,
    /// Linux system-call number.
    pub number: i32,
    /// Its result, negative for an error; `None` if its return was not recorded.
    pub result: Option<i64>,
}

/// Maximum number of system calls in one chunk, to bound the memory for reading it.
pub const MAX_SYSTEM_CALLS: usize = 1 << 20;
