//! Code and tables of a set of hooks, laid out from an address: the same for a patched file, whose
//! segments they become, and for a running program, which gets them while it starts.
//!
//! All of it refers to the module by distance, so it is right wherever module and code are moved
//! together. Offsets in the tables are those of `runtime/core/runtime.h`.

use crate::Analysis;
use crate::compose::Hook;
use crate::note::{PatchedHook, PatchedReturn, RuntimeNote, Whole};
use crate::sites::{Site, sites};
use crate::trampoline::{self, Stubs};
use corehop_plans::Mode;

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
    /// two pointers.
    ///
    /// # Errors
    /// The reason why one of them cannot be hooked.
    pub fn new(
        analysis: &Analysis,
        hooks: &[Hook],
        first: u32,
        address: u64,
        slot: u64,
    ) -> Result<Code, String> {
        let mut bytes = trampoline::stub(address, slot)?;
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        let stubs = Stubs {
            enter: address,
            leave: address + bytes.len() as u64,
        };
        bytes.extend(trampoline::stub(stubs.leave, slot + POINTER_SIZE)?);
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
        let at = site.stolen.site;
        match site.hook.map(|index| &hooks[index]) {
            Some(hook) => self.hooks.push(PatchedHook {
                offset: hook.offset,
                core: hook.core,
                mode: hook.mode,
                symbol: hook.symbol.clone(),
                site: at,
                trampoline,
            }),
            None => self.returns.push(PatchedReturn {
                site: at,
                trampoline,
            }),
        }
    }

    /// The places to be changed into jumps, and where each of these leads.
    pub fn jumps(&self) -> impl Iterator<Item = (u64, u64)> {
        let entries = self.hooks.iter().map(|hook| (hook.site, hook.trampoline));
        let returns = self.returns.iter().map(|r| (r.site, r.trampoline));
        entries.chain(returns)
    }
}

/// In the core's place: where no thread ever is.
const NO_CORE: u16 = u16::MAX;

/// As `runtime/core/runtime.h` numbers modes.
pub(crate) fn number(mode: Mode) -> u16 {
    match mode {
        Mode::Enter => 0,
        Mode::Call => 1,
        Mode::Count => 2,
    }
}

/// What the runtime reads of the hooks, and of the plan they are a part of.
pub(crate) struct Table {
    /// `struct hook` for each hook, `struct planned` for each module, names.
    pub bytes: Vec<u8>,
    address: u64,
    hooks: u32,
    modules: u64,
    names: u64,
}

impl Table {
    /// The tables of `hooks` and of the whole plan, to stand at `address`.
    pub fn new(hooks: &[Hook], whole: &Whole, address: u64) -> Table {
        let (mut bytes, mut names) = (Vec::new(), Vec::new());
        let mut place_of = |name: &str| {
            let place = names.len() as u32;
            names.extend(name.bytes().filter(|&byte| byte != 0));
            names.push(0);
            place
        };
        for hook in hooks {
            bytes.extend(hook.offset.to_le_bytes());
            let core = match hook.mode {
                Mode::Count => NO_CORE,
                Mode::Enter | Mode::Call => hook.core as u16,
            };
            bytes.extend(core.to_le_bytes());
            bytes.extend(number(hook.mode).to_le_bytes());
            bytes.extend(place_of(&hook.symbol).to_le_bytes());
        }
        let modules = address + bytes.len() as u64;
        for (index, module) in whole.modules.iter().enumerate() {
            bytes.extend(whole.before(index).to_le_bytes());
            bytes.extend(module.hooks.to_le_bytes());
            bytes.extend(place_of(&module.name).to_le_bytes());
            bytes.extend(place_of(&module.build_id).to_le_bytes());
        }
        let names_at = address + bytes.len() as u64;
        bytes.extend(names);
        Table {
            bytes,
            address,
            hooks: hooks.len() as u32,
            modules,
            names: names_at,
        }
    }

    /// The note by which the runtime finds the tables and the pointer at `slot`.
    pub fn note(&self, slot: u64, whole: &Whole) -> RuntimeNote {
        RuntimeNote {
            abi: corehop_runtime::ABI,
            cores: whole.cores,
            hooks: self.hooks,
            slot,
            table: self.address,
            names: self.names,
            modules: self.modules,
            names_size: (self.address + self.bytes.len() as u64 - self.names) as u32,
            plan: whole.plan,
            count: whole.modules.len() as u32,
            own: whole.own,
            calls: whole.calls,
            request: whole.request,
        }
    }
}
