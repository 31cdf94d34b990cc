//! Sizes of the shared memory's parts, and the number of requests to record.

/// Sizes of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Words of one chunk, at least 16.
    pub chunk_words: u32,
    /// Number of chunks. A server with more active threads is slowed down.
    pub chunks: u32,
    /// Words of the control ring, at least 2048, so that any message fits.
    pub control_words: u32,
    /// Number of requests to record from the first one on, if none are listed.
    pub request_limit: u64,
    /// Number of listed requests, which are the only ones recorded; 0 to record the first ones.
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
    /// Returns the settings with each size raised to its minimum.
    pub(crate) fn at_least_the_least(&self) -> Settings {
        Settings {
            chunk_words: self.chunk_words.max(16),
            chunks: self.chunks.max(1),
            control_words: self.control_words.max(2048),
            ..*self
        }
    }
}
