//! Reads the DWARF of a file, and describes its variables.

use super::debug_info::DebugInfo;
use super::layout::VariableType;
use super::split::{Contents, skeletons};
use super::types::Types;
use crate::data::DataLayout;
use gimli::{DwarfSections, EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection, ReadCache, ReadRef};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

/// Returns what DWARF describes of each variable of `layout`; `None` without DWARF. Types may be in
/// the file of the common part.
pub(crate) fn variables(
    debug_file: &Path,
    common_part: Option<&Path>,
    layout: &DataLayout,
) -> Option<Vec<VariableType>> {
    let cache = ReadCache::new(File::open(debug_file).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let common_cache = common_part.and_then(|path| Some(ReadCache::new(File::open(path).ok()?)));
    let common = common_cache.as_ref();
    let common = common.and_then(|cache| object::File::parse(cache).ok());
    let sections = read(&file);
    let common = common.as_ref().map(read);
    let endian = match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let dwarf = sections.borrow_with_sup(common.as_ref(), |bytes| EndianSlice::new(bytes, endian));
    let skeletons = skeletons(&dwarf);
    let outside = Contents::of(&dwarf, &skeletons, debug_file);
    let outside = outside.sections();
    let split = outside.units(&dwarf, skeletons);
    let debug_info = DebugInfo::of(&dwarf, &split)?;
    let mut wanted = HashMap::<u64, Vec<usize>>::new();
    for (index, symbol) in layout.symbols.iter().enumerate() {
        wanted.entry(symbol.offset).or_default().push(index);
    }
    let mut types = Types::new(&debug_info);
    let mut variables = vec![VariableType::Unknown; layout.symbols.len()];
    for (address, entries) in debug_info.at(&wanted) {
        let of_entries = entries
            .into_iter()
            .filter_map(|die| debug_info.type_of(die));
        for die in of_entries {
            for &symbol in &wanted[&address] {
                let size_bytes = layout.symbols[symbol].size_bytes;
                let found = types.variable(die, size_bytes);
                let is_better = !matches!(variables[symbol], VariableType::Members(_));
                if is_better && found != VariableType::Unknown {
                    variables[symbol] = found;
                }
            }
        }
    }
    Some(variables)
}

/// Reads the sections of a file; one that is missing or damaged is empty.
fn read<'d, R: ReadRef<'d>>(file: &object::File<'d, R>) -> DwarfSections<Cow<'d, [u8]>> {
    let read = |id: gimli::SectionId| {
        let section = file.section_by_name(id.name());
        let bytes = section.and_then(|section| section.uncompressed_data().ok());
        Ok::<_, std::convert::Infallible>(bytes.unwrap_or_default())
    };
    let Ok(sections) = DwarfSections::load(read);
    sections
}
