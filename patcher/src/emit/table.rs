//! The tables that the runtime reads: the hooks of a file, and the plan to which they belong.
//!
//! Offsets in the tables are those of `runtime/threads/program.h` (`struct hook`) and
//! `runtime/hooks/modules.h` (`struct planned`).

use crate::Hook;
use crate::elf::{RuntimeNote, Whole};
use crate::hook::goes_on;
use corehop_plan::{Argument, Destination, KthCall, Mode};

/// A core on which no thread ever is. A function by argument adds the number of calls before an
/// object gets its core; a hook at a call of a request adds the core.
const NO_CORE: u16 = 0x8000;

/// In the field of the argument: larger numbers are calls of a request.
const ARGUMENTS: u8 = Argument::ALL.len() as u8;

/// In the field of the mode: another call of the same function as the previous hook.
const ANOTHER_CALL: u8 = 3;

/// The number of a mode in `runtime/threads/program.h`.
pub(crate) fn number(mode: Mode) -> u8 {
    match mode {
        Mode::Enter => 0,
        Mode::Call => 1,
        Mode::Count => 2,
    }
}

/// What the runtime reads of the hooks, and of the plan to which they belong.
pub(crate) struct Table {
    /// `struct hook` for each hook, `struct planned` for each module, names.
    pub bytes: Vec<u8>,
    address: u64,
    hooks: u32,
    modules: u64,
    names: u64,
    /// Distance of the reason why carriers refuse from the names, plus one; 0 without a reason.
    refusal: u32,
}

impl Table {
    /// The tables of `hooks` and of the whole plan, for `address`.
    pub fn new(hooks: &[Hook], whole: &Whole, address: u64) -> Table {
        let (mut bytes, mut names) = (Vec::new(), Vec::new());
        let mut place_of = |name: &str| {
            let place = names.len() as u32;
            names.extend(name.bytes().filter(|&byte| byte != 0));
            names.push(0);
            place
        };
        for (index, hook) in hooks.iter().enumerate() {
            bytes.extend(hook.offset.to_le_bytes());
            let (core, argument) = match (hook.mode, hook.to) {
                (Mode::Count, _) => (NO_CORE, 0),
                (Mode::Enter | Mode::Call, Destination::Core(core)) => (core as u16, 0),
                (Mode::Enter | Mode::Call, Destination::By(by)) => {
                    (NO_CORE + by.after as u16, by.argument.number())
                }
                (Mode::Enter | Mode::Call, Destination::At(KthCall { core, call })) => {
                    (NO_CORE + core as u16, ARGUMENTS + call as u8)
                }
            };
            bytes.extend(core.to_le_bytes());
            let mode = match goes_on(hooks, index) {
                true => ANOTHER_CALL,
                false => number(hook.mode),
            };
            bytes.extend([mode, argument]);
            bytes.extend(place_of(&hook.symbol).to_le_bytes());
        }
        let modules = address + bytes.len() as u64;
        for (index, module) in whole.modules.iter().enumerate() {
            bytes.extend(whole.before(index).to_le_bytes());
            bytes.extend(module.hooks.to_le_bytes());
            bytes.extend(place_of(&module.name).to_le_bytes());
            bytes.extend(place_of(&module.build_id).to_le_bytes());
        }
        let refusal = whole.carriers_refuse.as_deref();
        let refusal = refusal.map_or(0, |reason| place_of(reason) + 1);
        let names_at = address + bytes.len() as u64;
        bytes.extend(names);
        Table {
            bytes,
            address,
            hooks: hooks.len() as u32,
            modules,
            names: names_at,
            refusal,
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
            arguments: whole.arguments,
            refusal: self.refusal,
        }
    }
}
