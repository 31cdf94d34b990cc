//! System calls that change how the kernel treats a process or thread from then on.

/// Such a call, made at any time while a process ran under the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastingCall {
    /// The process that made it.
    pub process_id: u32,
    /// Linux system-call number.
    pub number: i32,
    /// The arguments that determine its effect, or 0. First: the option of prctl, the operation of
    /// seccomp, the request of ptrace. Second: the argument of prctl, the command of futex, the
    /// flags of io_uring_setup.
    pub arguments: [u64; 2],
}
