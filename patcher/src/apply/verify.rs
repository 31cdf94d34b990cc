//! Reads a patched file again and checks every promise of the patcher.
//!
//! It starts from only the file and its manifest. It undoes the manifest's changes, and the result
//! must be the original, including its checksum. The contents of the patched file follow from that
//! original: each jump, each moved instruction, the loader's tables. Finally, if this version of
//! corehop wrote the file, the writer runs again and every byte is compared.

use super::finding::Finding;
use super::undo::undo;
use super::unwinding::check_unwinding;
use crate::analyse::{Analysis, Site, sites};
use crate::elf::abi::{
    DT_NEEDED, DT_STRSZ, DT_STRTAB, PF_R, PF_W, PF_X, PHDR_SIZE, PT_DYNAMIC, PT_LOAD, PT_PHDR,
};
use crate::elf::bytes::{text_at, u32_at, u64_at};
use crate::elf::{self, Image, Manifest, PatchedHook, RuntimeNote, Stubs};
use crate::emit::{self, Table};
use crate::{Error, Hook};
use corehop_support::whole_file;
use std::path::Path;

/// What a verification checked and found.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Verification {
    /// Number of hooks in the file.
    pub hooks: usize,
    /// Cores of its plan.
    pub cores: u32,
    /// Violated promises, one sentence each; empty for a correct file.
    pub findings: Vec<String>,
}

/// Checks the patched file at `path` and the runtime next to it; with `original`, also that the
/// file was made from that one.
///
/// # Errors
/// [`Error::Read`] and [`Error::Input`] for a file that cannot be read or carries no manifest.
pub fn verify(path: &Path, original: Option<&Path>) -> Result<Verification, Error> {
    let read = |path: &Path| whole_file::bytes(path).map_err(Error::reading(path));
    let original = original.map(read).transpose()?;
    let bytes = read(path)?;
    let image = Image::new(bytes.clone(), path)?;
    let manifest = manifest(&image)?;
    let mut findings = check(bytes, path, original.as_deref())?;
    if findings.is_empty() && manifest.tool == emit::TOOL {
        findings.extend(check_every_byte(&image, &manifest).err());
    }
    let folder = corehop_support::atomic_file::folder_of(path);
    findings.extend(check_runtime(&folder.join(corehop_runtime::NAME), manifest.abi).err());
    let arrival = folder.join(corehop_runtime::arrival_name(&manifest.original.build_id));
    if image.is_library() && !arrival.exists() {
        findings.push(Finding::NoArrival(arrival.display().to_string()));
    }
    Ok(Verification {
        hooks: manifest.hooks.len(),
        cores: manifest.whole.cores,
        findings: findings.iter().map(Finding::to_string).collect(),
    })
}

fn manifest(image: &Image) -> Result<Manifest, Error> {
    elf::manifest(image).map_err(|problem| Error::malformed(&image.path, &problem))
}

/// Checks a patched file's bytes, but not the runtime next to it.
pub(super) fn check(
    bytes: Vec<u8>,
    path: &Path,
    original: Option<&[u8]>,
) -> Result<Vec<Finding>, Error> {
    let image = Image::new(bytes, path)?;
    let manifest = manifest(&image)?;
    let before = match undo(&image, &manifest) {
        Ok(before) => before,
        Err(finding) => return Ok(vec![finding]),
    };
    let mut findings = Vec::new();
    if original.is_some_and(|original| original != before) {
        findings.push(Finding::OtherOriginal);
    }
    let before = match Analysis::from_bytes(before, path) {
        Ok(analysis) => analysis,
        Err(error) => return Ok(vec![Finding::NoProgram(error)]),
    };
    if before.build_id() != Some(&manifest.original.build_id) {
        findings.push(Finding::OtherBuildId);
    }
    findings.extend(check_segments(&image, &before.image).err());
    findings.extend(check_dynamic(&image, &before).err());
    findings.extend(check_note(&image, &manifest).err());
    findings.extend(check_unwinding(&image, &before.image).err());
    let Stubs {
        enter,
        leave,
        through,
    } = manifest.stubs;
    for (stub, slot) in [
        (enter, manifest.slot),
        (leave, manifest.slot.wrapping_add(8)),
        (through, manifest.slot.wrapping_add(16)),
    ] {
        let code = image.bytes_at(stub).unwrap_or_default();
        findings.extend(emit::check_stub(code, stub, slot).err().map(Finding::Code));
    }
    findings.extend(check_sites(&image, &before, &manifest));
    Ok(findings)
}

/// Writes the file again from its own manifest and compares.
fn check_every_byte(image: &Image, manifest: &Manifest) -> Result<(), Finding> {
    let before = Analysis::from_bytes(undo(image, manifest)?, &image.path)?;
    let hooks: Vec<Hook> = manifest.hooks.iter().map(PatchedHook::hook).collect();
    let again = emit::compose(&before, &hooks, &manifest.whole)?.to_bytes();
    let same = again.iter().zip(&image.bytes).take_while(|(a, b)| a == b);
    let same = same.count();
    if same < again.len().max(image.bytes.len()) {
        return Err(Finding::Byte {
            at: same,
            tool: emit::TOOL,
        });
    }
    Ok(())
}

/// Program headers: in order, within the file, congruent, reachable where the loader looks.
fn check_segments(image: &Image, before: &Image) -> Result<(), Finding> {
    let loaded: Vec<_> = image
        .segments
        .iter()
        .filter(|s| s.kind == PT_LOAD)
        .collect();
    let first = loaded.first().ok_or(Finding::LoadsNothing)?;
    let base = first.address.wrapping_sub(first.offset);
    let old = before.segments.iter().filter(|s| s.kind == PT_LOAD);
    let old_count = old.clone().count();
    if !loaded.iter().copied().zip(old).all(|(new, old)| new == old) {
        return Err(Finding::SegmentChanged);
    }
    let new = loaded.get(old_count..).unwrap_or_default();
    let flags: Vec<u32> = new.iter().map(|s| s.flags).collect();
    if flags != [PF_R | PF_W, PF_R | PF_X, PF_R] {
        return Err(Finding::NewSegments);
    }
    if let Some(segment) = new
        .iter()
        .find(|s| s.address.wrapping_sub(s.offset) != base)
    {
        return Err(Finding::SegmentPlace(segment.address));
    }
    let table = base.wrapping_add(image.header_table);
    let size = image.segments.len() as u64 * PHDR_SIZE;
    if image
        .bytes_at(table)
        .is_none_or(|bytes| (bytes.len() as u64) < size)
    {
        return Err(Finding::HeadersNotLoaded);
    }
    match image.segment(PT_PHDR) {
        Some(headers) if headers.address != table || headers.file_size != size => {
            Err(Finding::HeadersPlace)
        }
        _ => Ok(()),
    }
}

/// The dynamic section: the runtime first, then what the original had, by the same strings.
fn check_dynamic(image: &Image, before: &Analysis) -> Result<(), Finding> {
    let strings = |image: &Image| {
        let start = image.bytes_at(image.dynamic_value(DT_STRTAB)?)?;
        let size = usize::try_from(image.dynamic_value(DT_STRSZ)?).ok()?;
        start.get(..size).map(<[u8]>::to_vec)
    };
    let (new, old) = strings(image)
        .zip(strings(&before.image))
        .ok_or(Finding::NoStrings)?;
    if !new.starts_with(&old) {
        return Err(Finding::Strings);
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
        return Err(Finding::NotFirstNeeded);
    }
    let moved = |entry: &&(u64, u64)| !matches!(entry.0, DT_STRTAB | DT_STRSZ);
    let rest = rest.iter().filter(moved);
    if !rest.eq(before.image.dynamic.iter().filter(moved)) {
        return Err(Finding::Dynamic);
    }
    let place = image
        .segment(PT_DYNAMIC)
        .and_then(|s| image.segment_at(s.address));
    match place {
        Some(segment) if segment.flags & PF_W != 0 => Ok(()),
        _ => Err(Finding::DynamicNotWritable),
    }
}

/// The note that the runtime reads agrees with the manifest.
fn check_note(image: &Image, manifest: &Manifest) -> Result<(), Finding> {
    let note = RuntimeNote::of(image).ok_or(Finding::NoNote)?;
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
        return Err(Finding::Note);
    }
    let slot = image
        .segment_at(note.slot)
        .filter(|s| s.is_loaded(PF_R | PF_W));
    let words = image.bytes_at(note.slot).unwrap_or_default();
    let is_empty = [0, 8, 16].iter().all(|&at| u64_at(words, at) == Some(0));
    if slot.is_none() || !is_empty {
        return Err(Finding::Slot);
    }
    let found = image.bytes_at(note.table).unwrap_or_default();
    if !found.starts_with(&table.bytes) {
        return Err(Finding::Tables);
    }
    let beyond = hooks.iter().find_map(|hook| match hook.to.core() {
        Some(core) if core >= whole.cores => Some((hook, core)),
        _ => None,
    });
    match beyond {
        Some((hook, core)) => Err(Finding::Core {
            symbol: hook.symbol.clone(),
            core,
        }),
        None => Ok(()),
    }
}

/// Every entry and return that the hooks require, and no other, is a jump to its own trampoline.
fn check_sites(image: &Image, before: &Analysis, manifest: &Manifest) -> Vec<Finding> {
    let hooks: Vec<Hook> = manifest.hooks.iter().map(PatchedHook::hook).collect();
    let sites = match sites(before, &hooks) {
        Ok(sites) => sites,
        Err(obstacle) => return vec![obstacle.into()],
    };
    let returns = manifest.returns.iter().map(|r| (r.site, r.trampoline));
    let places: Vec<(u64, u64)> = elf::entries(&manifest.hooks).chain(returns).collect();
    let (named, asked) = (places.len(), sites.len());
    if named != asked {
        return vec![Finding::Places { named, asked }];
    }
    let problem = |(site, (at, trampoline)): (&Site, (u64, u64))| {
        let finding = Box::new(check_site(image, manifest, site, at, trampoline).err()?);
        let hook = site.hook.map(|index| &manifest.hooks[index]);
        Some(match hook {
            Some(hook) => Finding::Hook {
                symbol: hook.symbol.clone(),
                at: hook.offset,
                finding,
            },
            None => Finding::Return { at, finding },
        })
    };
    sites.iter().zip(places).filter_map(problem).collect()
}

fn check_site(
    image: &Image,
    manifest: &Manifest,
    site: &Site,
    at: u64,
    trampoline: u64,
) -> Result<(), Finding> {
    if site.displaced.site != at {
        return Err(Finding::OtherSite(site.displaced.site));
    }
    let jump = emit::entry_jump(at, trampoline)?;
    let place = image.bytes_at(at).unwrap_or_default();
    if !place.starts_with(&jump) {
        return Err(Finding::NoJump);
    }
    let segment = image.segment_at(trampoline);
    if !segment.is_some_and(|s| s.is_loaded(PF_R | PF_X)) {
        return Err(Finding::TrampolineNotExecutable);
    }
    let code = image.bytes_at(trampoline).unwrap_or_default();
    let first = manifest.whole.first_hook();
    Ok(emit::check_trampoline(
        code,
        trampoline,
        first,
        manifest.stubs,
        site,
    )?)
}

/// Whether the runtime next to a patched file exists and has its interface.
fn check_runtime(path: &Path, abi: u32) -> Result<(), Finding> {
    let name = || path.display().to_string();
    let bytes = whole_file::bytes(path).map_err(|error| Finding::RuntimeUnread {
        name: name(),
        error,
    })?;
    if bytes == corehop_runtime::LIBRARY && abi == corehop_runtime::ABI {
        return Ok(());
    }
    let image = Image::new(bytes, path)?;
    let found = image.dynamic_symbol(corehop_runtime::ABI_SYMBOL);
    let found = found.and_then(|address| u32_at(image.bytes_at(address)?, 0));
    match found {
        Some(found) if found == abi => Ok(()),
        Some(found) => Err(Finding::RuntimeInterface {
            name: name(),
            found,
            abi,
        }),
        None => Err(Finding::NoRuntime(name())),
    }
}
