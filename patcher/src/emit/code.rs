//! Lays out the code of a set of hooks from an address. It is the same for a patched file, in which
//! it becomes a segment, and for a running program, which gets it while it starts.
//!
//! It refers to the module only by distance, so module and code may be moved together.

use super::trampoline::{self, Step, stub_steps};
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
    /// The state of the stack in each stub and trampoline, in order of address.
    pub stacks: Vec<Stack>,
}

/// The state of the stack in a stub or a trampoline.
pub(crate) struct Stack {
    pub steps: Vec<Step>,
    pub end: u64,
}

impl Code {
    /// The code of `hooks`, numbered from `first`, for `address`; `slot` is the runtime's three
    /// pointers.
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
        let mut code = Code {
            bytes: Vec::new(),
            stubs: Stubs {
                enter: address,
                leave: 0,
                through: 0,
            },
            hooks: Vec::with_capacity(hooks.len()),
            returns: Vec::new(),
            stacks: Vec::new(),
        };
        code.add_stub(address, slot, trampoline::ABOVE_ENTRY)?;
        code.stubs.leave = code.add_stub(address, slot + POINTER_SIZE, trampoline::ABOVE_EXIT)?;
        code.stubs.through =
            code.add_stub(address, slot + 2 * POINTER_SIZE, trampoline::ABOVE_EXIT)?;
        for site in sites(analysis, hooks)? {
            let at = code.align(address);
            let trampoline = trampoline::trampoline(at, first, code.stubs, &site)?;
            code.append(address, &trampoline.bytes, trampoline.steps);
            code.add(&site, hooks, at);
        }
        Ok(code)
    }

    /// Where the next stub or trampoline begins.
    fn align(&mut self, address: u64) -> u64 {
        let place = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(place, 0);
        address + place as u64
    }

    fn append(&mut self, address: u64, bytes: &[u8], steps: Vec<Step>) {
        self.bytes.extend(bytes);
        let end = address + self.bytes.len() as u64;
        self.stacks.push(Stack { steps, end });
    }

    fn add_stub(&mut self, address: u64, slot: u64, above: u64) -> Result<u64, Unfit> {
        let at = self.align(address);
        let bytes = trampoline::stub(at, slot)?;
        self.append(address, &bytes, stub_steps(at, bytes.len(), above));
        Ok(at)
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

    /// The places to be changed into jumps, and the target of each.
    pub fn jumps(&self) -> impl Iterator<Item = (u64, u64)> {
        let returns = self.returns.iter().map(|r| (r.site, r.trampoline));
        entries(&self.hooks).chain(returns)
    }
}
