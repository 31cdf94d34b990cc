//! Errors of replays with a pollute buffer and of searches.

use corehop::failure::{Exit, Failure};

/// An L2 whose pages all map to the same sets.
#[derive(Debug, thiserror::Error)]
#[error(
    "a page takes all {sets} sets of an L2 of machine {machine}, so none can be kept for polluting \
     pages: replay on a machine whose L2 has 128 sets or more, such as xeon-e5-2620-v4"
)]
pub struct TooFewColours {
    /// The machine's name.
    pub machine: String,
    /// Number of sets of its L2s.
    pub sets: u64,
}

/// Why a replay with a buffer, or a search, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The L2 is too small for a buffer.
    #[error(transparent)]
    TooFewColours(#[from] TooFewColours),
    /// The replay failed.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
}

impl From<TooFewColours> for Failure {
    fn from(error: TooFewColours) -> Self {
        Failure::new(Exit::Input, error).explained()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::TooFewColours(error) => error.into(),
            Error::Replay(error) => error.into(),
        }
    }
}
