//! A recorded thread, as the operating system identified it.

/// A recorded thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Process that the thread belonged to.
    pub process_id: u32,
    /// The operating system's number of the thread.
    pub os_thread_id: u32,
}
