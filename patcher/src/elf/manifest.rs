//! A patched file says in its manifest what it was made from, and all that was done.
//!
//! The manifest keeps what every changed byte was, so that a patched file can be checked, and
//! undone, without the original at hand.

use crate::Hook;
use corehop_plan::{Destination, Mode};
use serde::{Deserialize, Serialize};

/// Version of the manifest.
pub(crate) const VERSION: u32 = 6;

/// What a patched file says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub version: u32,
    /// The corehop that patched.
    pub tool: String,
    pub original: Original,
    pub runtime: String,
    pub abi: u32,
    #[serde(flatten)]
    pub whole: Whole,
    /// Virtual address of the runtime's three pointers.
    pub slot: u64,
    pub stubs: Stubs,
    pub hooks: Vec<PatchedHook>,
    /// Returns that end calls, but for those that a hook displaces.
    pub returns: Vec<PatchedReturn>,
    /// Every place of the original that reads differently now.
    pub changes: Vec<Change>,
}

/// What all files patched by one plan say of it, so that the runtime knows when one is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Whole {
    /// Cores of the plan.
    pub cores: u32,
    /// Functions of it at the end of whose calls threads go back.
    pub calls: u32,
    /// Functions of it that go by an argument, or at one call of a request.
    pub arguments: u32,
    /// Number of the hook that counts requests, plus one; 0 where none does.
    pub request: u32,
    /// Checksum of its hooks: files of two plans are not mixed.
    pub plan: u32,
    /// Why carriers refuse the program as a whole, if its plan knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carriers_refuse: Option<String>,
    pub modules: Vec<PlannedModule>,
    /// Which of them this file is.
    pub own: u32,
}

/// One of the files that a plan names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlannedModule {
    /// File name by which it is loaded.
    pub name: String,
    pub build_id: String,
    /// Number of hooks: they are numbered through all modules.
    pub hooks: u32,
}

impl Whole {
    /// Number of this file's first hook.
    pub fn first_hook(&self) -> u32 {
        self.before(self.own as usize)
    }

    /// How many hooks lie in the modules before that one.
    pub fn before(&self, module: usize) -> u32 {
        let before = self.modules.iter().take(module);
        before.map(|m| m.hooks).fold(0, u32::saturating_add)
    }
}

/// The file that was patched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Original {
    pub build_id: String,
    pub size_bytes: u64,
    pub crc32c: u32,
}

/// One hook, by virtual addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PatchedHook {
    pub offset: u64,
    #[serde(flatten)]
    pub to: Destination,
    pub mode: Mode,
    pub symbol: String,
    /// Where the jump stands: the entry, or behind its `endbr64`. Hooks of several calls of one
    /// function, one behind the other, have one.
    pub site: u64,
    pub trampoline: u64,
}

impl PatchedHook {
    /// What was asked for.
    pub fn hook(&self) -> Hook {
        Hook {
            offset: self.offset,
            symbol: self.symbol.clone(),
            to: self.to,
            mode: self.mode,
        }
    }
}

/// The jumps at entries, each once, and where they lead.
pub(crate) fn entries(hooks: &[PatchedHook]) -> impl Iterator<Item = (u64, u64)> {
    let apart = hooks.chunk_by(|one, next| one.site == next.site);
    apart.map(|hooks| (hooks[0].site, hooks[0].trampoline))
}

/// One return, by virtual addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PatchedReturn {
    /// Where the jump stands.
    pub site: u64,
    pub trampoline: u64,
}

/// The code that trampolines call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stubs {
    /// Virtual address of what an entry calls.
    pub enter: u64,
    /// And of what a return calls.
    pub leave: u64,
    /// And of what calls a function of another file.
    pub through: u64,
}

/// Bytes that were at a file offset, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub at: u64,
    pub was: String,
}

impl Change {
    pub fn new(at: u64, was: &[u8]) -> Change {
        let was = was.iter().map(|byte| format!("{byte:02x}")).collect();
        Change { at, was }
    }

    /// The bytes that were there; `None` when they are not hexadecimal.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let digits = self.was.as_bytes().chunks(2);
        digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect()
    }
}
