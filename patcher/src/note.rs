//! The notes by which a patched file is known: what the runtime needs, and all that was done.
//!
//! Both live in one note segment with owner `corehop`. The first is read by the runtime at
//! start-up (`runtime/core/runtime.h` has the same layout); the second, the manifest, is a JSON
//! text behind its CRC-32C: it keeps what every changed byte was, so that a patched file can be
//! checked, and undone, without the original at hand. The checksum is there because nothing else
//! in the file says what the manifest must be: a changed digit in it would still be JSON.

use crate::Hook;
use crate::image::Image;
use crate::trampoline::Stubs;
use corehop_plans::Mode;
use serde::{Deserialize, Serialize};

/// Owner of our notes, terminating zero included.
const OWNER: &[u8] = b"corehop\0";
/// Note type of what the runtime reads.
const RUNTIME: u32 = 1;
/// Note type of the manifest.
const MANIFEST: u32 = 2;
/// Version of the manifest.
pub(crate) const VERSION: u32 = 3;

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
    /// Virtual address of the runtime's two pointers.
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
    /// Number of the hook that counts requests, plus one; 0 where none does.
    pub request: u32,
    /// Checksum of its hooks: files of two plans are not mixed.
    pub plan: u32,
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
    pub core: u32,
    pub mode: Mode,
    pub symbol: String,
    /// Where the jump stands: the entry, or behind its `endbr64`.
    pub site: u64,
    pub trampoline: u64,
}

impl PatchedHook {
    /// What was asked for.
    pub fn hook(&self) -> Hook {
        Hook {
            offset: self.offset,
            symbol: self.symbol.clone(),
            core: self.core,
            mode: self.mode,
        }
    }
}

/// One return, by virtual addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PatchedReturn {
    /// Where the jump stands.
    pub site: u64,
    pub trampoline: u64,
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

/// What the runtime reads: `struct note` of `runtime/core/runtime.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuntimeNote {
    pub abi: u32,
    pub cores: u32,
    pub hooks: u32,
    pub slot: u64,
    pub table: u64,
    pub names: u64,
    pub modules: u64,
    pub names_size: u32,
    pub plan: u32,
    pub count: u32,
    pub own: u32,
    pub calls: u32,
    pub request: u32,
}

const RUNTIME_NOTE_SIZE: u32 = 72;

impl RuntimeNote {
    pub fn bytes(&self) -> Vec<u8> {
        let words = [self.abi, self.cores, self.hooks, RUNTIME_NOTE_SIZE];
        let addresses = [self.slot, self.table, self.names, self.modules];
        let more = [
            self.names_size,
            self.plan,
            self.count,
            self.own,
            self.calls,
            self.request,
        ];
        let words = words.into_iter().flat_map(u32::to_le_bytes);
        words
            .chain(addresses.into_iter().flat_map(u64::to_le_bytes))
            .chain(more.into_iter().flat_map(u32::to_le_bytes))
            .collect()
    }

    /// The note of a patched file.
    pub fn of(image: &Image) -> Option<RuntimeNote> {
        use crate::image::{u32_at, u64_at};
        let bytes = image.note(OWNER, RUNTIME)?;
        Some(RuntimeNote {
            abi: u32_at(bytes, 0)?,
            cores: u32_at(bytes, 4)?,
            hooks: u32_at(bytes, 8)?,
            slot: u64_at(bytes, 16)?,
            table: u64_at(bytes, 24)?,
            names: u64_at(bytes, 32)?,
            modules: u64_at(bytes, 40)?,
            names_size: u32_at(bytes, 48)?,
            plan: u32_at(bytes, 52)?,
            count: u32_at(bytes, 56)?,
            own: u32_at(bytes, 60)?,
            calls: u32_at(bytes, 64)?,
            request: u32_at(bytes, 68)?,
        })
    }
}

/// Both notes, as the note segment holds them.
pub(crate) fn render(runtime: &RuntimeNote, manifest: &Manifest) -> Vec<u8> {
    let text = serde_json::to_vec(manifest).expect("a manifest has only JSON types");
    let checksum = crc32c::crc32c(&text).to_le_bytes();
    let manifest = [&checksum, &text[..]].concat();
    let mut notes = Vec::new();
    for (kind, contents) in [(RUNTIME, runtime.bytes()), (MANIFEST, manifest)] {
        for word in [OWNER.len() as u32, contents.len() as u32, kind] {
            notes.extend(word.to_le_bytes());
        }
        notes.extend(OWNER);
        notes.extend(contents);
        notes.resize(notes.len().next_multiple_of(4), 0);
    }
    notes
}

/// Whether the file carries our manifest.
pub(crate) fn is_patched(image: &Image) -> bool {
    image.note(OWNER, MANIFEST).is_some()
}

/// The manifest, or why there is none.
pub(crate) fn manifest(image: &Image) -> Result<Manifest, String> {
    let text = image.note(OWNER, MANIFEST);
    let text = text.ok_or("not patched by corehop: it carries no manifest")?;
    let (_, text) = text
        .split_first_chunk::<4>()
        .filter(|(checksum, text)| crc32c::crc32c(text) == u32::from_le_bytes(**checksum))
        .ok_or("its manifest is damaged: its checksum is not that of its text")?;
    #[derive(Deserialize)]
    struct VersionOnly {
        version: u32,
    }
    let damaged = |error| format!("its manifest is damaged: {error}");
    let found: VersionOnly = serde_json::from_slice(text).map_err(damaged)?;
    if found.version != VERSION {
        return Err(format!(
            "its manifest has version {}, but this corehop reads version {VERSION}: \
             use the corehop that patched it",
            found.version
        ));
    }
    serde_json::from_slice(text).map_err(damaged)
}
