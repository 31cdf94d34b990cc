//! A hook names a function of a file, and says where its threads go.

use corehop_plans::Mode;

/// A function to hook.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hook {
    /// Virtual address of its entry.
    pub offset: u64,
    /// Linker symbol, for statistics.
    pub symbol: String,
    /// Plan core it moves the thread to.
    pub core: u32,
    /// Whether the thread goes back when the call returns.
    pub mode: Mode,
}
