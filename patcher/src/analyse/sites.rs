//! The sites that a set of hooks changes: entries, and the returns that end calls.
//!
//! A return may lie among the instructions that an entry's hook displaces, and several functions
//! may end in one return. So hooks and sites differ. The writer of a patched file and the verifier
//! need the same answer.

use super::Analysis;
use super::analysis::leads_back;
use super::displaced::{Displaced, JUMP_SIZE};
use super::obstacle::Obstacle;
use crate::Hook;
use crate::hook::goes_on;
use corehop_plan::Mode;
use std::collections::BTreeMap;

/// Code to replace by a jump.
pub(crate) struct Site {
    pub displaced: Displaced,
    /// The index of the hook whose function is entered here; the first of several.
    pub hook: Option<usize>,
    /// Whether a return among the displaced instructions may end a call.
    pub ends_calls: bool,
    /// Whether the entry is that of a stub, through which the file calls an imported function.
    pub is_stub: bool,
    /// For a stub whose calls are delegated: the slot through which it jumps.
    pub through: Option<u64>,
}

/// The sites of all `hooks`, in their order, with one site for all hooks of a function's calls. The
/// sites of returns alone follow, by address.
///
/// # Errors
/// The reason why one of them cannot be changed, with the function's name.
pub(crate) fn sites(analysis: &Analysis, hooks: &[Hook]) -> Result<Vec<Site>, Obstacle> {
    let mut returns = BTreeMap::new();
    let stub = |hook: &Hook| {
        analysis
            .stub(hook.offset)
            .filter(|_| hook.mode == Mode::Call)
    };
    for hook in hooks.iter().filter(|hook| hook.mode == Mode::Call) {
        if let Some(stub) = stub(hook) {
            leads_back(stub)?;
            continue;
        }
        let ways_out = analysis.ways_out(hook.offset)?;
        returns.extend(
            ways_out
                .into_iter()
                .map(|displaced| (displaced.site, displaced)),
        );
    }
    let mut sites = Vec::with_capacity(hooks.len() + returns.len());
    for (index, hook) in hooks.iter().enumerate() {
        if goes_on(hooks, index) {
            continue;
        }
        let displaced = analysis.displaced(hook.offset)?;
        sites.push(Site {
            ends_calls: returns.remove(&displaced.site).is_some(),
            hook: Some(index),
            displaced,
            is_stub: analysis.stub(hook.offset).is_some(),
            through: stub(hook).map(|stub| stub.slot),
        });
    }
    sites.extend(returns.into_values().map(|displaced| Site {
        displaced,
        hook: None,
        ends_calls: true,
        is_stub: false,
        through: None,
    }));
    check_apart(&sites)?;
    Ok(sites)
}

fn check_apart(sites: &[Site]) -> Result<(), Obstacle> {
    let extent = |site: &Site| {
        let size = (site.displaced.bytes.len() as u64).max(JUMP_SIZE);
        (site.displaced.site, site.displaced.site + size)
    };
    let mut extents: Vec<(u64, u64)> = sites.iter().map(extent).collect();
    extents.sort_unstable();
    match extents.windows(2).find(|pair| pair[0].1 > pair[1].0) {
        Some(pair) => Err(Obstacle::Overlap(pair[0].0, pair[1].0)),
        None => Ok(()),
    }
}
