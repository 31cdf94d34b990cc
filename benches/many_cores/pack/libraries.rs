//! The libraries that programs need, except glibc's, and the glibc that all of them need.

use super::copy;
use crate::Outcome;
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries of glibc, which every machine has, without their versions.
const GLIBC: &[&str] = &[
    "ld-linux-x86-64",
    "libc",
    "libm",
    "libmvec",
    "libpthread",
    "libdl",
    "librt",
    "libresolv",
    "libutil",
    "libanl",
    "linux-vdso",
];

/// Copies the libraries of these programs into a folder, under the names by which they are loaded.
pub fn pack(programs: &[PathBuf], folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = BTreeMap::new();
    for program in programs.iter().filter(|program| is_elf(program)) {
        found.extend(libraries_of(program)?);
    }
    std::fs::create_dir_all(folder)?;
    let copied = found.into_iter().map(|(name, source)| {
        let target = folder.join(name);
        copy(&source, &target)?;
        Ok(target)
    });
    copied.collect()
}

/// Returns the name and path of each library that the loader brings in for a program.
fn libraries_of(program: &Path) -> Outcome<Vec<(String, PathBuf)>> {
    let output = Command::new("ldd").arg(program).env_clear().output()?;
    let listed = String::from_utf8(output.stdout)?;
    if !output.status.success() || listed.contains("not found") {
        return Err(format!("ldd {}: {listed}", program.display()).into());
    }
    // "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007fdfbb0fe000)"
    let library = |line: &str| {
        let (name, place) = line.trim().split_once(" => ")?;
        let path = place.split(" (").next()?;
        let plain = name.split(".so").next()?;
        (!GLIBC.contains(&plain)).then(|| (name.to_owned(), path.into()))
    };
    Ok(listed.lines().filter_map(library).collect())
}

fn is_elf(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(&object::elf::ELFMAG))
}

/// Returns the newest version of glibc that one of these files needs, such as 2.34.
pub fn needed_glibc(files: &[PathBuf]) -> Outcome<String> {
    let mut newest = [0, 0];
    for file in files.iter().filter(|file| is_elf(file)) {
        for name in needed_versions(&std::fs::read(file)?)? {
            if let Some(version) = name.strip_prefix("GLIBC_").and_then(numbers) {
                newest = newest.max(version);
            }
        }
    }
    match newest {
        [0, 0] => Err("no packed file needs a version of glibc".into()),
        [major, minor] => Ok(format!("{major}.{minor}")),
    }
}

/// Parses `2.34`, and `2.2.5` as `2.2`. Private versions have no number.
fn numbers(text: &str) -> Option<[u32; 2]> {
    let mut numbers = text.split('.').map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
}

/// Returns the names of all symbol versions that a file needs.
fn needed_versions(bytes: &[u8]) -> Outcome<Vec<String>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let mut names = Vec::new();
    for section in sections.iter() {
        let Some((mut needs, strings)) = section.gnu_verneed(endian, bytes)? else {
            continue;
        };
        let strings = sections.strings(endian, bytes, strings)?;
        while let Some((_, mut versions)) = needs.next()? {
            while let Some(version) = versions.next()? {
                let name = version.name(endian, strings)?;
                names.push(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
    Ok(names)
}
