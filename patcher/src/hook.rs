//! A hook names a function of a file, and says where its threads go.

use corehop_plans::{Destination, Mode};

/// A function to hook.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hook {
    /// Virtual address of its entry.
    pub offset: u64,
    /// Linker symbol, for statistics.
    pub symbol: String,
    /// Where it moves the thread.
    #[serde(flatten)]
    pub to: Destination,
    /// Whether the thread goes back when the call returns.
    pub mode: Mode,
}
