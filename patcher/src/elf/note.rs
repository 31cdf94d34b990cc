//! The notes that identify a patched file: what the runtime needs, and all changes.
//!
//! Both live in one note segment with owner `corehop`. The runtime reads the first at start-up
//! (`runtime/hooks/modules.h` has the same layout). The second, the manifest, is a JSON text after
//! its CRC-32C. The checksum is necessary because nothing else in the file determines the manifest:
//! after a changed digit it would still be JSON.

use super::Image;
use super::bytes::{u32_at, u64_at};
use super::malformed::Malformed;
use super::manifest::{Manifest, VERSION};
use serde::Deserialize;

/// Owner of our notes, terminating zero included.
const OWNER: &[u8] = b"corehop\0";
/// Note type of the note for the runtime.
const RUNTIME: u32 = 1;
/// Note type of the manifest.
const MANIFEST: u32 = 2;

/// What the runtime reads: `struct note` of `runtime/hooks/modules.h`.
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
    pub arguments: u32,
    pub refusal: u32,
}

const RUNTIME_NOTE_SIZE: u32 = 80;

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
            self.arguments,
            self.refusal,
        ];
        let words = words.into_iter().flat_map(u32::to_le_bytes);
        words
            .chain(addresses.into_iter().flat_map(u64::to_le_bytes))
            .chain(more.into_iter().flat_map(u32::to_le_bytes))
            .collect()
    }

    /// The note of a patched file.
    pub fn of(image: &Image) -> Option<RuntimeNote> {
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
            arguments: u32_at(bytes, 72)?,
            refusal: u32_at(bytes, 76)?,
        })
    }
}

/// Both notes, as the bytes of the note segment.
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
pub(crate) fn manifest(image: &Image) -> Result<Manifest, Malformed> {
    let text = image.note(OWNER, MANIFEST);
    let text = text.ok_or(Malformed::NoManifest)?;
    let (_, text) = text
        .split_first_chunk::<4>()
        .filter(|(checksum, text)| crc32c::crc32c(text) == u32::from_le_bytes(**checksum))
        .ok_or(Malformed::ManifestChecksum)?;
    #[derive(Deserialize)]
    struct VersionOnly {
        version: u32,
    }
    let found: VersionOnly = serde_json::from_slice(text)?;
    if found.version != VERSION {
        return Err(Malformed::ManifestVersion(found.version));
    }
    Ok(serde_json::from_slice(text)?)
}
