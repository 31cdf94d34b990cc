//! The entries of DWARF: finds variables by address, and follows references.
//!
//! Debian's debug files share types in a common file (dwz), units may be in files of their own
//! (`split`), and types in units of their own, which a signature names. A type of a variable may be
//! in any. Damaged DWARF has no members: what cannot be read is skipped, and reading has a limit.

use super::split::{Bytes, SplitUnit};
use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_location, DW_AT_signature, DW_AT_specification,
    DW_AT_type, DW_TAG_variable, DebugInfoOffset, DebugTypeSignature, DebuggingInformationEntry,
    Dwarf, EntriesRaw, Expression, Operation, Unit, UnitOffset, UnitType,
};
use std::collections::{BTreeMap, HashMap};

pub(super) type Entry<'d> = DebuggingInformationEntry<Bytes<'d>>;
pub(super) type Value<'d> = AttributeValue<Bytes<'d>>;

/// References that are followed to reach a type.
const MOST_REFERENCES: usize = 8;

/// Entries that are kept for one address.
const MOST_ENTRIES: usize = 4;

/// The place of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Die {
    file: usize,
    unit: usize,
    offset: UnitOffset,
}

/// The units of a file.
struct Units<'d> {
    dwarf: &'d Dwarf<Bytes<'d>>,
    /// Those of `.debug_info` by ascending offset, then those of `.debug_types`.
    all: Vec<Unit<Bytes<'d>>>,
    /// Number of the former.
    in_info: usize,
    /// The types that have a unit of their own.
    types: HashMap<DebugTypeSignature, (usize, UnitOffset)>,
}

impl<'d> Units<'d> {
    /// Finds the units of a file, which may be the rest of a unit of another file.
    fn of(dwarf: &'d Dwarf<Bytes<'d>>, skeleton: Option<&Unit<Bytes<'d>>>) -> Units<'d> {
        let mut all = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            all.extend(dwarf.unit(header));
        }
        let in_info = all.len();
        let mut headers = dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            all.extend(dwarf.unit(header));
        }
        if let Some(skeleton) = skeleton {
            let own = all.iter_mut().filter(|unit| unit.dwo_id == skeleton.dwo_id);
            own.for_each(|unit| unit.copy_relocated_attributes(skeleton));
        }
        let types = all.iter().enumerate().filter_map(|(index, unit)| {
            let (signature, offset) = match unit.header.type_() {
                UnitType::Type {
                    type_signature,
                    type_offset,
                }
                | UnitType::SplitType {
                    type_signature,
                    type_offset,
                } => (type_signature, type_offset),
                _ => return None,
            };
            Some((signature, (index, offset)))
        });
        Units {
            dwarf,
            types: types.collect(),
            all,
            in_info,
        }
    }

    /// Returns the unit that holds an offset, and the offset in it.
    fn find(&self, offset: DebugInfoOffset) -> Option<(usize, UnitOffset)> {
        let in_info = &self.all[..self.in_info];
        let starts_before = |unit: &Unit<_>| unit.header.debug_info_offset() <= Some(offset);
        let unit = in_info.partition_point(starts_before).checked_sub(1)?;
        let offset = offset.to_unit_offset(&in_info[unit].header)?;
        Some((unit, offset))
    }
}

/// The DWARF of a program.
pub(super) struct DebugInfo<'d> {
    /// The program's own file first.
    files: Vec<Units<'d>>,
    /// Which one is the common file.
    common: Option<usize>,
}

impl<'d> DebugInfo<'d> {
    /// Finds the units of a file, of those outside, and of its common part; `None` if the file has
    /// none.
    pub fn of(dwarf: &'d Dwarf<Bytes<'d>>, split: &'d [SplitUnit<'d>]) -> Option<DebugInfo<'d>> {
        let mut files = vec![Units::of(dwarf, None)];
        if files[0].all.is_empty() {
            return None;
        }
        let split = split.iter();
        files.extend(split.map(|unit| Units::of(&unit.dwarf, Some(&unit.skeleton))));
        let common = dwarf.sup().map(|dwarf| Units::of(dwarf, None));
        let common_file = common.is_some().then_some(files.len());
        files.extend(common);
        Some(DebugInfo {
            files,
            common: common_file,
        })
    }

    fn unit(&self, die: Die) -> Option<(&'d Dwarf<Bytes<'d>>, &Unit<Bytes<'d>>)> {
        let units = self.files.get(die.file)?;
        Some((units.dwarf, units.all.get(die.unit)?))
    }

    /// Returns the contents of an entry.
    pub fn entry(&self, die: Die) -> Option<Entry<'d>> {
        let (_, unit) = self.unit(die)?;
        unit.entry(die.offset).ok()
    }

    /// Returns the text of an attribute.
    pub fn text(&self, die: Die, value: Value<'d>) -> Option<String> {
        let (dwarf, unit) = self.unit(die)?;
        let text = dwarf.attr_string(unit, value).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    /// Returns the number of bytes of an address.
    pub fn address_bytes(&self, die: Die) -> Option<u64> {
        let (_, unit) = self.unit(die)?;
        Some(unit.encoding().address_size.into())
    }

    /// Returns the value of an expression of one operation, which is added to an address.
    pub fn added(&self, die: Die, expression: Expression<Bytes<'d>>) -> Option<u64> {
        let (_, unit) = self.unit(die)?;
        let mut operations = expression.operations(unit.encoding());
        match (operations.next(), operations.next()) {
            (Ok(Some(Operation::PlusConstant { value })), Ok(None)) => Some(value),
            _ => None,
        }
    }

    /// Returns the entry that an attribute of `die` refers to.
    pub fn referred(&self, die: Die, value: Value<'d>) -> Option<Die> {
        let (file, offset) = match value {
            AttributeValue::UnitRef(offset) => return Some(Die { offset, ..die }),
            AttributeValue::DebugInfoRef(offset) => (die.file, offset),
            AttributeValue::DebugInfoRefSup(offset) => (self.common?, offset),
            AttributeValue::DebugTypesRef(signature) => return self.signed(die, signature),
            _ => return None,
        };
        let (unit, offset) = self.files[file].find(offset)?;
        Some(Die { file, unit, offset })
    }

    /// Returns the type with this signature: in the file of `die`, or in another one.
    fn signed(&self, die: Die, signature: DebugTypeSignature) -> Option<Die> {
        let mut files = std::iter::once(die.file).chain(0..self.files.len());
        files.find_map(|file| {
            let &(unit, offset) = self.files[file].types.get(&signature)?;
            Some(Die { file, unit, offset })
        })
    }

    /// Returns the definition of a declared type, if it is in a type unit.
    pub fn defined(&self, die: Die, entry: &Entry<'d>) -> Option<Die> {
        self.referred(die, entry.attr_value(DW_AT_signature)?)
    }

    /// Returns the type of a variable, which may be that of its declaration.
    pub fn type_of(&self, mut die: Die) -> Option<Die> {
        for _ in 0..MOST_REFERENCES {
            let entry = self.entry(die)?;
            if let Some(value) = entry.attr_value(DW_AT_type) {
                return self.referred(die, value);
            }
            let elsewhere = [DW_AT_specification, DW_AT_abstract_origin];
            let value = elsewhere.iter().find_map(|&name| entry.attr_value(name))?;
            die = self.referred(die, value)?;
        }
        None
    }

    /// Returns the children of an entry. Each entry below it takes one from `budget`; `None` if
    /// there are more.
    pub fn children(&self, die: Die, budget: &mut u32) -> Option<Vec<Die>> {
        let mut children = Vec::new();
        let Some((_, unit)) = self.unit(die) else {
            return Some(children);
        };
        let Ok(mut entries) = unit.entries_raw(Some(die.offset)) else {
            return Some(children);
        };
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            if depth == 1 {
                children.push(Die { offset, ..die });
            }
            match skip(&mut entries) {
                Some(true) => {}
                Some(false) if depth == 1 => children.truncate(children.len() - 1),
                Some(false) => {}
                None => break,
            }
            *budget = budget.checked_sub(1)?;
            if entries.next_depth() < 1 {
                break;
            }
        }
        Some(children)
    }

    /// Returns the entries of variables at these addresses.
    pub fn at(&self, wanted: &HashMap<u64, Vec<usize>>) -> BTreeMap<u64, Vec<Die>> {
        let mut found = BTreeMap::<u64, Vec<Die>>::new();
        let files = (0..self.files.len()).filter(|&file| Some(file) != self.common);
        let units = files.flat_map(|file| (0..self.files[file].in_info).map(move |of| (file, of)));
        for (file, unit) in units {
            let offset = UnitOffset(0);
            self.in_unit(Die { file, unit, offset }, |die, address| {
                if wanted.contains_key(&address) {
                    let entries = found.entry(address).or_default();
                    if entries.len() < MOST_ENTRIES {
                        entries.push(die);
                    }
                }
            });
        }
        found
    }

    /// Calls `take` for each variable of a unit with an address.
    fn in_unit(&self, of: Die, mut take: impl FnMut(Die, u64)) -> Option<()> {
        let (dwarf, unit) = self.unit(of)?;
        let mut entries = unit.entries_raw(None).ok()?;
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(kind) = entries.read_abbreviation().ok()? else {
                continue;
            };
            if kind.tag() != DW_TAG_variable {
                entries.skip_attributes(kind.attributes()).ok()?;
                continue;
            }
            for &specification in kind.attributes() {
                let attribute = entries.read_attribute(specification).ok()?;
                if attribute.name() == DW_AT_location
                    && let Some(expression) = attribute.exprloc_value()
                    && let Some(address) = address(dwarf, unit, expression)
                {
                    take(Die { offset, ..of }, address);
                }
            }
        }
        Some(())
    }
}

/// Skips an entry; returns whether it was one, and not the end of a list.
fn skip(entries: &mut EntriesRaw<'_, Bytes<'_>>) -> Option<bool> {
    let Some(kind) = entries.read_abbreviation().ok()? else {
        return Some(false);
    };
    entries.skip_attributes(kind.attributes()).ok()?;
    Some(true)
}

/// Returns the address that an expression is, if it is no more than that.
fn address<'d>(
    dwarf: &Dwarf<Bytes<'d>>,
    unit: &Unit<Bytes<'d>>,
    expression: Expression<Bytes<'d>>,
) -> Option<u64> {
    let mut operations = expression.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        Operation::Address { address } => address,
        Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(address)
}
