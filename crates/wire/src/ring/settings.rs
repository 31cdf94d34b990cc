//! How large the parts of the shared memory are, and how many requests are recorded.

/// Sizes of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Words of one chunk, at least 16.
    pub chunk_words: u32,
    /// Number of chunks. A server with more threads than this at work at once is slowed down.
    pub chunks: u32,
    /// Words of the control ring, at least 2048, which any message fits into.
    pub control_words: u32,
    /// Number of requests to record, the first that come, where none are listed.
    pub request_limit: u64,
    /// Number of requests that are listed, which alone are recorded; 0 for the first that come.
    pub listed: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            chunk_words: 2 * 1024,
            chunks: 1024,
            control_words: 128 * 1024,
            request_limit: u64::MAX,
            listed: 0,
        }
    }
}

impl Settings {
    /// The same, but nothing smaller than it may be.
    pub(crate) fn at_least_the_least(&self) -> Settings {
        Settings {
            chunk_words: self.chunk_words.max(16),
            chunks: self.chunks.max(1),
            control_words: self.control_words.max(2048),
            ..*self
        }
    }
}
