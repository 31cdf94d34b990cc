//! Re-reads a patched file and checks every promise the patcher makes.
//!
//! It starts from the file and its manifest alone: the manifest's changes are undone, and the
//! result must be the original down to its checksum. What the patched file should then hold
//! follows from that original: each jump, each moved instruction, the loader's tables. Only then,
//! where this same corehop wrote the file, is the writer run again and every byte compared.

use super::undo::undo;
use crate::analyse::{Analysis, Site, sites};
use crate::elf::abi::{
    DT_NEEDED, DT_STRSZ, DT_STRTAB, PF_R, PF_W, PF_X, PHDR_SIZE, PT_DYNAMIC, PT_LOAD, PT_PHDR,
};
use crate::elf::bytes::{text_at, u32_at, u64_at};
use crate::elf::{self, Image, Manifest, PatchedHook, RuntimeNote, Stubs};
use crate::emit::{self, Table};
use crate::{Error, Hook};
use std::path::Path;

/// What a verification looked at and found.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Verification {
    /// Number of hooks in the file.
    pub hooks: usize,
    /// Cores of its plan.
    pub cores: u32,
    /// Broken promises, one sentence each; none in a sound file.
    pub findings: Vec<String>,
}

/// Checks the patched file at `path` and the runtime beside it; with `original`, also that the
/// file was made from that one.
///
/// # Errors
/// [`Error::Read`] and [`Error::Input`] for a file that cannot be read or carries no manifest.
pub fn verify(path: &Path, original: Option<&Path>) -> Result<Verification, Error> {
    let read = |path: &Path| std::fs::read(path).map_err(Error::reading(path));
    let original = original.map(read).transpose()?;
    let bytes = read(path)?;
    let image = Image::new(bytes.clone(), path)?;
    let manifest = manifest(&image)?;
    let mut findings = check(bytes, path, original.as_deref())?;
    if findings.is_empty() && manifest.tool == emit::TOOL {
        findings.extend(check_every_byte(&image, &manifest).err());
    }
    let folder = corehop_outputs::folder_of(path);
    findings.extend(check_runtime(&folder.join(corehop_runtime::NAME), manifest.abi).err());
    let arrival = folder.join(corehop_runtime::arrival_name(&manifest.original.build_id));
    if image.is_library() && !arrival.exists() {
        let arrival = arrival.display();
        findings.push(format!(
            "{arrival}: not there, but it tells the runtime of this library"
        ));
    }
    Ok(Verification {
        hooks: manifest.hooks.len(),
        cores: manifest.whole.cores,
        findings,
    })
}

fn manifest(image: &Image) -> Result<Manifest, Error> {
    elf::manifest(image).map_err(|problem| Error::Input {
        path: image.path.clone(),
        problem,
    })
}

/// Checks a patched file's bytes; the runtime beside it is not looked at.
pub(super) fn check(
    bytes: Vec<u8>,
    path: &Path,
    original: Option<&[u8]>,
) -> Result<Vec<String>, Error> {
    let image = Image::new(bytes, path)?;
    let manifest = manifest(&image)?;
    let before = match undo(&image, &manifest) {
        Ok(before) => before,
        Err(finding) => return Ok(vec![finding]),
    };
    let mut findings = Vec::new();
    if original.is_some_and(|original| original != before) {
        findings.push("undoing its changes does not give the original named".into());
    }
    let before = match Analysis::from_bytes(before, path) {
        Ok(analysis) => analysis,
        Err(error) => return Ok(vec![format!("undone, it is no program: {error}")]),
    };
    if before.build_id() != Some(&manifest.original.build_id) {
        findings.push("undone, it has not the build id its manifest names".into());
    }
    findings.extend(check_segments(&image, &before.image).err());
    findings.extend(check_dynamic(&image, &before).err());
    findings.extend(check_note(&image, &manifest).err());
    let Stubs { enter, leave } = manifest.stubs;
    for (stub, slot) in [
        (enter, manifest.slot),
        (leave, manifest.slot.wrapping_add(8)),
    ] {
        let code = image.bytes_at(stub).unwrap_or_default();
        findings.extend(emit::check_stub(code, stub, slot).err());
    }
    findings.extend(check_sites(&image, &before, &manifest));
    Ok(findings)
}

/// Writes the file again from its own manifest and compares.
fn check_every_byte(image: &Image, manifest: &Manifest) -> Result<(), String> {
    let before = Analysis::from_bytes(undo(image, manifest)?, &image.path);
    let before = before.map_err(|error| error.to_string())?;
    let hooks: Vec<Hook> = manifest.hooks.iter().map(PatchedHook::hook).collect();
    let again = emit::compose(&before, &hooks, &manifest.whole)?.to_bytes();
    let same = again.iter().zip(&image.bytes).take_while(|(a, b)| a == b);
    let same = same.count();
    if same < again.len().max(image.bytes.len()) {
        return Err(format!("byte {same:#x} is not what {} writes", emit::TOOL));
    }
    Ok(())
}

/// Program headers: in order, within the file, congruent, reachable where the loader looks.
fn check_segments(image: &Image, before: &Image) -> Result<(), String> {
    let loaded: Vec<_> = image
        .segments
        .iter()
        .filter(|s| s.kind == PT_LOAD)
        .collect();
    let first = loaded.first().ok_or("it loads nothing")?;
    let base = first.address.wrapping_sub(first.offset);
    let old = before.segments.iter().filter(|s| s.kind == PT_LOAD);
    let old_count = old.clone().count();
    if !loaded.iter().copied().zip(old).all(|(new, old)| new == old) {
        return Err("a segment of the original was changed".into());
    }
    let new = loaded.get(old_count..).unwrap_or_default();
    let flags: Vec<u32> = new.iter().map(|s| s.flags).collect();
    if flags != [PF_R | PF_W, PF_R | PF_X, PF_R] {
        return Err("its new segments are not one each of RW, RX and R".into());
    }
    if let Some(segment) = new
        .iter()
        .find(|s| s.address.wrapping_sub(s.offset) != base)
    {
        let address = segment.address;
        return Err(format!(
            "the segment at {address:#x} is not where old kernels expect it"
        ));
    }
    let table = base.wrapping_add(image.header_table);
    let size = image.segments.len() as u64 * PHDR_SIZE;
    if image
        .bytes_at(table)
        .is_none_or(|bytes| (bytes.len() as u64) < size)
    {
        return Err("its program headers are not loaded".into());
    }
    match image.segment(PT_PHDR) {
        Some(headers) if headers.address != table || headers.file_size != size => {
            Err("PT_PHDR does not name the program headers' place".into())
        }
        _ => Ok(()),
    }
}

/// The dynamic section: the runtime first, then what the original had, by the same strings.
fn check_dynamic(image: &Image, before: &Analysis) -> Result<(), String> {
    let strings = |image: &Image| {
        let start = image.bytes_at(image.dynamic_value(DT_STRTAB)?)?;
        let size = usize::try_from(image.dynamic_value(DT_STRSZ)?).ok()?;
        start.get(..size).map(<[u8]>::to_vec)
    };
    let (new, old) = strings(image)
        .zip(strings(&before.image))
        .ok_or("no dynamic string table")?;
    if !new.starts_with(&old) {
        return Err("the dynamic strings are not the original's and more".into());
    }
    let expected = emit::needed(before);
    let (first, rest) = image
        .dynamic
        .split_at(expected.len().min(image.dynamic.len()));
    let needed = first.iter().map(|&(tag, place)| match tag {
        DT_NEEDED => text_at(&new, place),
        _ => None,
    });
    if !needed.eq(expected.iter().map(|name| Some(name.as_str()))) {
        return Err("the runtime is not the first library needed".into());
    }
    let moved = |entry: &&(u64, u64)| !matches!(entry.0, DT_STRTAB | DT_STRSZ);
    let rest = rest.iter().filter(moved);
    if !rest.eq(before.image.dynamic.iter().filter(moved)) {
        return Err("the dynamic section is not the original's and what the runtime needs".into());
    }
    let place = image
        .segment(PT_DYNAMIC)
        .and_then(|s| image.segment_at(s.address));
    match place {
        Some(segment) if segment.flags & PF_W != 0 => Ok(()),
        _ => Err("the dynamic section is not writable, as the loader needs it".into()),
    }
}

/// What the runtime will read agrees with the manifest.
fn check_note(image: &Image, manifest: &Manifest) -> Result<(), String> {
    let note = RuntimeNote::of(image).ok_or("the runtime's note is missing")?;
    let hooks: Vec<Hook> = manifest.hooks.iter().map(PatchedHook::hook).collect();
    let whole = &manifest.whole;
    let own = whole.modules.get(whole.own as usize);
    let is_own = own.is_some_and(|own| {
        own.build_id == manifest.original.build_id && own.hooks as usize == hooks.len()
    });
    let table = Table::new(&hooks, whole, note.table);
    let expected = RuntimeNote {
        abi: manifest.abi,
        ..table.note(manifest.slot, whole)
    };
    if note != expected || !is_own {
        return Err("the runtime's note and the manifest contradict each other".into());
    }
    let slot = image
        .segment_at(note.slot)
        .filter(|s| s.is_loaded(PF_R | PF_W));
    let words = image.bytes_at(note.slot).unwrap_or_default();
    let is_empty = [0, 8].iter().all(|&at| u64_at(words, at) == Some(0));
    if slot.is_none() || !is_empty {
        return Err("the runtime's slot is not two empty words it can write".into());
    }
    let found = image.bytes_at(note.table).unwrap_or_default();
    if !found.starts_with(&table.bytes) {
        return Err("the tables of hooks and modules are not its manifest's".into());
    }
    match hooks.iter().find(|hook| hook.core >= whole.cores) {
        Some(hook) => Err(format!("{} goes to core {}", hook.symbol, hook.core)),
        None => Ok(()),
    }
}

/// Every entry and return that the hooks ask for, and no other, is a jump to its own trampoline.
fn check_sites(image: &Image, before: &Analysis, manifest: &Manifest) -> Vec<String> {
    let hooks: Vec<Hook> = manifest.hooks.iter().map(PatchedHook::hook).collect();
    let sites = match sites(before, &hooks) {
        Ok(sites) => sites,
        Err(problem) => return vec![problem],
    };
    let hooks = manifest.hooks.iter().map(|h| (h.site, h.trampoline));
    let returns = manifest.returns.iter().map(|r| (r.site, r.trampoline));
    let (named, asked) = (manifest.returns.len() + manifest.hooks.len(), sites.len());
    if named != asked {
        return vec![format!(
            "its manifest names {named} places where its hooks ask for {asked}"
        )];
    }
    let problem = |(site, (at, trampoline)): (&Site, (u64, u64))| {
        let problem = check_site(image, manifest, site, at, trampoline).err()?;
        let hook = site.hook.map(|index| &manifest.hooks[index]);
        Some(match hook {
            Some(hook) => format!("hook {} at {:#x}: {problem}", hook.symbol, hook.offset),
            None => format!("return at {at:#x}: {problem}"),
        })
    };
    sites
        .iter()
        .zip(hooks.chain(returns))
        .filter_map(problem)
        .collect()
}

fn check_site(
    image: &Image,
    manifest: &Manifest,
    site: &Site,
    at: u64,
    trampoline: u64,
) -> Result<(), String> {
    if site.displaced.site != at {
        return Err(format!("its jump belongs to {:#x}", site.displaced.site));
    }
    let jump = emit::entry_jump(at, trampoline)?;
    let place = image.bytes_at(at).unwrap_or_default();
    if !place.starts_with(&jump) {
        return Err("it does not jump to its trampoline".into());
    }
    let segment = image.segment_at(trampoline);
    if !segment.is_some_and(|s| s.is_loaded(PF_R | PF_X)) {
        return Err("its trampoline is not in an executable segment".into());
    }
    let code = image.bytes_at(trampoline).unwrap_or_default();
    let first = manifest.whole.first_hook();
    emit::check_trampoline(code, trampoline, first, manifest.stubs, site)
}

/// Whether the runtime beside a patched file is there and speaks its interface.
fn check_runtime(path: &Path, abi: u32) -> Result<(), String> {
    let name = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| format!("{name}: the runtime cannot be read ({error})"))?;
    if bytes == corehop_runtime::LIBRARY && abi == corehop_runtime::ABI {
        return Ok(());
    }
    let image = Image::new(bytes, path).map_err(|error| error.to_string())?;
    let found = image.dynamic_symbol(corehop_runtime::ABI_SYMBOL);
    let found = found.and_then(|address| u32_at(image.bytes_at(address)?, 0));
    match found {
        Some(found) if found == abi => Ok(()),
        Some(found) => Err(format!(
            "{name}: speaks runtime interface {found}, but the program was patched for {abi}: \
             patch the original again"
        )),
        None => Err(format!("{name}: not a corehop runtime")),
    }
}
