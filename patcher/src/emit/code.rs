//! The code of a set of hooks is laid out from an address: the same for a patched file, a segment
//! of which it becomes, and for a running program, which gets it while it starts.
//!
//! All of it refers to the module by distance, so it is right wherever module and code are moved
//! together.

use super::trampoline;
use super::unfit::Unfit;
use crate::Hook;
use crate::analyse::{Analysis, Site, sites};
use crate::elf::{PatchedHook, PatchedReturn, Stubs, entries};
use crate::hook::goes_on;

const ALIGNMENT: usize = 16;
const POINTER_SIZE: u64 = 8;

/// Stubs and trampolines, and where they are.
pub(crate) struct Code {
    pub bytes: Vec<u8>,
    pub stubs: Stubs,
    pub hooks: Vec<PatchedHook>,
    pub returns: Vec<PatchedReturn>,
}

impl Code {
    /// The code of `hooks`, numbered from `first`, to stand at `address`; `slot` is the runtime's
    /// three pointers.
    ///
    /// # Errors
    /// The reason why one of them cannot be hooked.
    pub fn new(
        analysis: &Analysis,
        hooks: &[Hook],
        first: u32,
        address: u64,
        slot: u64,
    ) -> Result<Code, Unfit> {
        let mut bytes = trampoline::stub(address, slot)?;
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        let mut stubs = Stubs {
            enter: address,
            leave: address + bytes.len() as u64,
            through: 0,
        };
        bytes.extend(trampoline::stub(stubs.leave, slot + POINTER_SIZE)?);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        stubs.through = address + bytes.len() as u64;
        bytes.extend(trampoline::stub(stubs.through, slot + 2 * POINTER_SIZE)?);
        let mut code = Code {
            bytes,
            stubs,
            hooks: Vec::with_capacity(hooks.len()),
            returns: Vec::new(),
        };
        for site in sites(analysis, hooks)? {
            let place = code.bytes.len().next_multiple_of(ALIGNMENT);
            code.bytes.resize(place, 0);
            let trampoline = address + place as u64;
            let bytes = trampoline::trampoline(trampoline, first, stubs, &site)?;
            code.bytes.extend(bytes);
            code.add(&site, hooks, trampoline);
        }
        Ok(code)
    }

    fn add(&mut self, site: &Site, hooks: &[Hook], trampoline: u64) {
        let at = site.displaced.site;
        let Some(first) = site.hook else {
            self.returns.push(PatchedReturn {
                site: at,
                trampoline,
            });
            return;
        };
        let others = (first + 1..hooks.len()).take_while(|&index| goes_on(hooks, index));
        let here = hooks[first..=others.last().unwrap_or(first)].iter();
        self.hooks.extend(here.map(|hook| PatchedHook {
            offset: hook.offset,
            to: hook.to,
            mode: hook.mode,
            symbol: hook.symbol.clone(),
            site: at,
            trampoline,
        }));
    }

    /// The places to be changed into jumps, and where each of these leads.
    pub fn jumps(&self) -> impl Iterator<Item = (u64, u64)> {
        let returns = self.returns.iter().map(|r| (r.site, r.trampoline));
        entries(&self.hooks).chain(returns)
    }
}
