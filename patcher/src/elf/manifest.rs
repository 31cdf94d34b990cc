//! A patched file's manifest records the original file, and all changes.
//!
//! The manifest contains the original of every changed byte. So a patched file can be checked, and
//! undone, without the original file.

use crate::Hook;
use corehop_plan::{Destination, Mode};
use serde::{Deserialize, Serialize};

/// Version of the manifest.
pub(crate) const VERSION: u32 = 6;

/// A patched file's description of itself.
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
    /// Returns that end calls, except those that a hook displaces.
    pub returns: Vec<PatchedReturn>,
    /// Every range of the original that has other bytes now.
    pub changes: Vec<Change>,
}

/// The plan's description in all files patched by it, so that the runtime notices a missing one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Whole {
    /// Cores of the plan.
    pub cores: u32,
    /// Number of its functions whose calls are delegated.
    pub calls: u32,
    /// Number of its functions that hop by an argument, or at single calls of a request.
    pub arguments: u32,
    /// Number of the hook that counts requests, plus one; 0 without one.
    pub request: u32,
    /// Checksum of its hooks: files of different plans are not mixed.
    pub plan: u32,
    /// Why carriers refuse the program as a whole, if its plan records that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carriers_refuse: Option<String>,
    pub modules: Vec<PlannedModule>,
    /// Which of them this file is.
    pub own: u32,
}

/// One of the files of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlannedModule {
    /// File name by which it is loaded.
    pub name: String,
    pub build_id: String,
    /// Number of hooks, which are numbered across all modules.
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
    /// The address of the jump: the entry, or after its `endbr64`. The hooks of several calls of
    /// one function are consecutive and share one site.
    pub site: u64,
    pub trampoline: u64,
}

impl PatchedHook {
    /// The hook that was requested.
    pub fn hook(&self) -> Hook {
        Hook {
            offset: self.offset,
            symbol: self.symbol.clone(),
            to: self.to,
            mode: self.mode,
        }
    }
}

/// The jumps at entries, each once, and their targets.
pub(crate) fn entries(hooks: &[PatchedHook]) -> impl Iterator<Item = (u64, u64)> {
    let apart = hooks.chunk_by(|one, next| one.site == next.site);
    apart.map(|hooks| (hooks[0].site, hooks[0].trampoline))
}

/// One return, by virtual addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PatchedReturn {
    /// The address of the jump.
    pub site: u64,
    pub trampoline: u64,
}

/// The code that trampolines call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stubs {
    /// Virtual address of the function that an entry calls.
    pub enter: u64,
    /// Virtual address of the function that a return calls.
    pub leave: u64,
    /// Virtual address of the function that calls a function of another file.
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

    /// The original bytes; `None` if they are not hexadecimal.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let digits = self.was.as_bytes().chunks(2);
        digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect()
    }
}
