//! System calls after which the kernel treats a process, or one of its threads, otherwise.

/// Such a call, made at any time while a process ran under the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastingCall {
    /// The process that made it.
    pub process_id: u32,
    /// Which one it is, as Linux numbers them.
    pub number: i32,
    /// What says what it does: of prctl the option and its argument, of seccomp the operation, of
    /// ptrace the request; and, as the second, of futex the command and of io_uring_setup the
    /// flags. 0 where there is nothing to say.
    pub arguments: [u64; 2],
}
