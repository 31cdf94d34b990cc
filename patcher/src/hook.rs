//! A hook: a function of a file, and where it moves threads.

use corehop_plan::{Destination, Mode};
use std::collections::HashMap;

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
    /// Whether the thread returns to its previous core when the call returns.
    pub mode: Mode,
}

/// Whether the hook at this index is another call of the same function as the previous one. It then
/// needs no separate site, since one entry counts the calls for both.
pub(crate) fn goes_on(hooks: &[Hook], index: usize) -> bool {
    let call = |hook: &Hook| matches!(hook.to, Destination::At(_)).then_some(hook.offset);
    let before = index.checked_sub(1).and_then(|before| call(&hooks[before]));
    before.is_some() && before == call(&hooks[index])
}

/// The same hooks, with those of one function's calls next to each other, in the order of these
/// calls.
pub(crate) fn together(mut hooks: Vec<Hook>) -> Vec<Hook> {
    let mut first = HashMap::new();
    for (place, hook) in hooks.iter().enumerate() {
        first.entry(hook.offset).or_insert(place);
    }
    hooks.sort_by_key(|hook| {
        let call = match hook.to {
            Destination::At(meant) => meant.call,
            Destination::Core(_) | Destination::By(_) => 0,
        };
        (first[&hook.offset], call)
    });
    hooks
}
