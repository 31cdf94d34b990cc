//! Debug data outside the file: `-gsplit-dwarf` leaves a skeleton of each unit in the program, with
//! the name of the file that has the rest, or a package next to the program has all of them.

use gimli::{
    Dwarf, DwarfPackageSections, DwarfSections, EndianSlice, Reader, RunTimeEndian, Section,
    SectionId, Unit,
};
use object::{Object, ObjectSection, ReadRef};
use std::borrow::Cow;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Sections are read in the order of bytes of their file.
pub(super) type Bytes<'d> = EndianSlice<'d, RunTimeEndian>;

/// Bytes of other files that are read for one program: what is beyond has no types.
const MOST_BYTES: u64 = 1 << 30;

/// A unit whose data is in another file, and that file's debug data.
pub(super) struct SplitUnit<'d> {
    pub skeleton: Unit<Bytes<'d>>,
    pub dwarf: Dwarf<Bytes<'d>>,
}

/// The contents of the files outside.
#[derive(Default)]
pub(super) struct Contents {
    files: Vec<Vec<u8>>,
    package: Option<Vec<u8>>,
}

/// Their sections.
pub(super) struct Sections<'c> {
    files: Vec<DwarfSections<Cow<'c, [u8]>>>,
    package: Option<DwarfPackageSections<Cow<'c, [u8]>>>,
}

/// Returns the units of a file that are skeletons.
pub(super) fn skeletons<'d>(dwarf: &Dwarf<Bytes<'d>>) -> Vec<Unit<Bytes<'d>>> {
    let mut found = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let unit = dwarf.unit(header).ok();
        found.extend(unit.filter(|unit| unit.dwo_id.is_some()));
    }
    found
}

impl Contents {
    /// Reads the files that the skeletons of a file name, or its package.
    pub fn of<'d>(
        dwarf: &Dwarf<Bytes<'d>>,
        skeletons: &[Unit<Bytes<'d>>],
        debug_file: &Path,
    ) -> Contents {
        if skeletons.is_empty() {
            return Contents::default();
        }
        let mut left = MOST_BYTES;
        if let Some(package) = read(&package_of(debug_file), &mut left) {
            return Contents {
                files: Vec::new(),
                package: Some(package),
            };
        }
        let files = skeletons.iter().filter_map(|skeleton| {
            let places = places(dwarf, skeleton, debug_file);
            places.iter().find_map(|place| read(place, &mut left))
        });
        Contents {
            files: files.collect(),
            package: None,
        }
    }

    /// Finds the sections of the files.
    pub fn sections(&self) -> Sections<'_> {
        let parse = |bytes| object::File::parse(bytes).ok();
        let files = self.files.iter().filter_map(|bytes| {
            let file = parse(bytes.as_slice())?;
            let sections = DwarfSections::load(|id| Ok::<_, Infallible>(section(&file, id)));
            let Ok(sections) = sections;
            Some(sections)
        });
        let package = self.package.as_ref().and_then(|bytes| {
            let file = parse(bytes.as_slice())?;
            DwarfPackageSections::load(|id| Ok::<_, gimli::Error>(section(&file, id))).ok()
        });
        Sections {
            files: files.collect(),
            package,
        }
    }
}

impl Sections<'_> {
    /// Returns the units of a program whose data is in these sections.
    pub fn units<'d>(
        &'d self,
        dwarf: &Dwarf<Bytes<'d>>,
        mut skeletons: Vec<Unit<Bytes<'d>>>,
    ) -> Vec<SplitUnit<'d>> {
        let endian = dwarf.debug_info.reader().endian();
        let bytes = |bytes: &'d Cow<'_, [u8]>| EndianSlice::new(bytes, endian);
        let package = self.package.as_ref();
        let package =
            package.and_then(|package| package.borrow(bytes, EndianSlice::new(&[], endian)).ok());
        let mut split = Vec::new();
        if let Some(package) = package {
            for skeleton in skeletons {
                let found = skeleton
                    .dwo_id
                    .and_then(|id| package.find_cu(id, dwarf).ok()?);
                split.extend(found.map(|dwarf| SplitUnit { skeleton, dwarf }));
            }
            return split;
        }
        for sections in &self.files {
            let mut own = sections.borrow(bytes);
            own.make_dwo(dwarf);
            let id = id_of(&own);
            let place = skeletons
                .iter()
                .position(|of| id.is_some() && of.dwo_id == id);
            if let Some(place) = place {
                let skeleton = skeletons.swap_remove(place);
                let dwarf = own;
                split.push(SplitUnit { skeleton, dwarf });
            }
        }
        split
    }
}

/// Returns the id of the unit in a file, which its skeleton has as well.
fn id_of(dwarf: &Dwarf<Bytes<'_>>) -> Option<gimli::DwoId> {
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        if let Some(id) = dwarf.unit(header).ok().and_then(|unit| unit.dwo_id) {
            return Some(id);
        }
    }
    None
}

/// Returns where the file of a skeleton may be: at the path that the compiler wrote, or next to the
/// program.
fn places(dwarf: &Dwarf<Bytes<'_>>, skeleton: &Unit<Bytes<'_>>, debug_file: &Path) -> Vec<PathBuf> {
    let Ok(Some(name)) = skeleton.dwo_name() else {
        return Vec::new();
    };
    let Ok(name) = dwarf.attr_string(skeleton, name) else {
        return Vec::new();
    };
    let name = Path::new(OsStr::from_bytes(name.slice()));
    let folder = skeleton.comp_dir.map(|folder| folder.slice());
    let folder = Path::new(OsStr::from_bytes(folder.unwrap_or_default()));
    let beside = name.file_name().map(|name| debug_file.with_file_name(name));
    [folder.join(name)].into_iter().chain(beside).collect()
}

/// Returns the path of the package of a program: its own with `.dwp` appended.
fn package_of(debug_file: &Path) -> PathBuf {
    let mut name = OsString::from(debug_file);
    name.push(".dwp");
    name.into()
}

/// Reads a file if it is one, and not larger than what is left.
fn read(path: &Path, left: &mut u64) -> Option<Vec<u8>> {
    let size = path.metadata().ok().filter(|of| of.is_file())?.len();
    let rest = left.checked_sub(size)?;
    let bytes = std::fs::read(path).ok()?;
    *left = rest;
    Some(bytes)
}

/// Returns a section of such a file; one that is missing or damaged is empty. Type units are in
/// separate sections with the same name, which follow one another here.
fn section<'d, R: ReadRef<'d>>(file: &object::File<'d, R>, id: SectionId) -> Cow<'d, [u8]> {
    let all = file.sections().filter(|section| {
        let name = section.name().ok();
        name.is_some() && name == id.dwo_name()
    });
    let mut all = all.filter_map(|section| section.uncompressed_data().ok());
    let mut bytes = all.next().unwrap_or_default();
    all.for_each(|more| bytes.to_mut().extend_from_slice(&more));
    bytes
}
