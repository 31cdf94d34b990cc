//! Makes trees of members of the types in DWARF.
//!
//! Members of unnamed structs and of base classes belong to the struct around them, as in the
//! source. Bit fields that share bytes, and the members of an unnamed union, overlap: they are one
//! member, `a|b`. A named union is a member without members.

use super::debug_info::{DebugInfo, Die, Entry};
use super::layout::{Field, Members, Node, VariableType};
use gimli::{
    AttributeValue, DW_AT_GNU_vector, DW_AT_bit_offset, DW_AT_bit_size, DW_AT_byte_size,
    DW_AT_byte_stride, DW_AT_count, DW_AT_data_bit_offset, DW_AT_data_member_location,
    DW_AT_declaration, DW_AT_external, DW_AT_lower_bound, DW_AT_name, DW_AT_type,
    DW_AT_upper_bound, DwAt, DwTag, constants as dw,
};

/// Types within types that are followed.
const MOST_LEVELS: u32 = 24;

/// Members of one variable.
const MOST_MEMBERS: usize = 1 << 14;

/// Entries that are read for all variables of a file.
const MOST_ENTRIES: u32 = 1 << 26;

/// Names of overlapping members that are shown.
const MOST_NAMES: usize = 4;

/// Something in a struct, by bytes.
struct Part {
    start: u64,
    /// `None` for an array without a length: up to the next part.
    size_bytes: Option<u64>,
    names: Vec<String>,
    /// Its type, unless it is shown as a whole.
    of: Option<Die>,
}

/// A type, and its size if it is known.
struct Type {
    size_bytes: Option<u64>,
    node: Node,
}

/// The types of a file.
pub(super) struct Types<'a, 'd> {
    debug_info: &'a DebugInfo<'d>,
    /// Entries that may still be read.
    budget: u32,
    /// Of the current variable.
    names: Vec<String>,
}

impl<'a, 'd> Types<'a, 'd> {
    pub fn new(debug_info: &'a DebugInfo<'d>) -> Types<'a, 'd> {
        Types {
            debug_info,
            budget: MOST_ENTRIES,
            names: Vec::new(),
        }
    }

    /// Describes a variable of this type; unknown if the type is larger than the variable, or not
    /// readable.
    pub fn variable(&mut self, of: Die, size_bytes: u64) -> VariableType {
        self.names.clear();
        let Some(Type {
            size_bytes: size,
            node,
        }) = self.node(Some(of), "", MOST_LEVELS)
        else {
            return VariableType::Unknown;
        };
        if size.is_some_and(|size| size > size_bytes) {
            return VariableType::Unknown;
        }
        match Members::new(node, std::mem::take(&mut self.names)) {
            Some(members) => VariableType::Members(members),
            None => VariableType::Whole,
        }
    }

    /// Adds a member; `None` if there are too many.
    fn number(&mut self, name: String) -> Option<usize> {
        let number = self.names.len();
        self.names.push(name);
        (number < MOST_MEMBERS).then_some(number)
    }

    fn whole(&mut self, path: &str, size_bytes: Option<u64>) -> Option<Type> {
        let node = Node::Whole(self.number(path.to_owned())?);
        Some(Type { size_bytes, node })
    }

    /// Returns the entry of a type without its names and qualifiers.
    fn stripped(&mut self, mut die: Die) -> Option<(Die, Entry<'d>)> {
        for _ in 0..MOST_LEVELS {
            self.budget = self.budget.checked_sub(1)?;
            let entry = self.debug_info.entry(die)?;
            match entry.tag() {
                dw::DW_TAG_typedef
                | dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_atomic_type
                | dw::DW_TAG_packed_type
                | dw::DW_TAG_immutable_type => {
                    die = self
                        .debug_info
                        .referred(die, entry.attr_value(DW_AT_type)?)?;
                }
                _ => match self.debug_info.defined(die, &entry) {
                    Some(defined) => die = defined,
                    None => return Some((die, entry)),
                },
            }
        }
        None
    }

    /// Returns the tree of a type; `None` if it has too many members.
    fn node(&mut self, of: Option<Die>, path: &str, levels: u32) -> Option<Type> {
        let Some((die, entry)) = of.and_then(|die| self.stripped(die)) else {
            return self.whole(path, None);
        };
        let size_bytes = number(&entry, DW_AT_byte_size);
        match entry.tag() {
            _ if levels == 0 => self.whole(path, size_bytes),
            tag if is_struct(tag) => {
                let mut parts = Vec::new();
                match self.parts(die, 0, levels, &mut parts)? {
                    true => self.fields(parts, (path, size_bytes), levels),
                    false => self.whole(path, size_bytes),
                }
            }
            dw::DW_TAG_array_type => self.array((die, &entry), path, levels),
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type => {
                let size_bytes = size_bytes.or(self.debug_info.address_bytes(die));
                self.whole(path, size_bytes)
            }
            _ => self.whole(path, size_bytes),
        }
    }

    /// Returns the size of a type; `None` if it is not known.
    fn size(&mut self, of: Die, levels: u32) -> Option<u64> {
        let (die, entry) = self.stripped(of)?;
        match entry.tag() {
            dw::DW_TAG_array_type if levels > 0 => {
                if let Some(size_bytes) = number(&entry, DW_AT_byte_size) {
                    return Some(size_bytes);
                }
                let element = self
                    .debug_info
                    .referred(die, entry.attr_value(DW_AT_type)?)?;
                let element = self.size(element, levels - 1)?;
                let (_, elements) = self.dimensions(die)?;
                element.checked_mul(elements?)
            }
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type => {
                number(&entry, DW_AT_byte_size).or(self.debug_info.address_bytes(die))
            }
            _ => number(&entry, DW_AT_byte_size),
        }
    }

    /// Adds the parts of a struct that begins at `start`. Returns whether they are all: not of a
    /// declaration, or of a Rust enum, whose fields depend on its variant.
    fn parts(&mut self, die: Die, start: u64, levels: u32, parts: &mut Vec<Part>) -> Option<bool> {
        let mut has_all = true;
        for child in self.debug_info.children(die, &mut self.budget)? {
            let Some(entry) = self.debug_info.entry(child) else {
                continue;
            };
            match entry.tag() {
                dw::DW_TAG_member | dw::DW_TAG_inheritance => {
                    self.part((child, &entry), start, levels, parts)?;
                }
                dw::DW_TAG_variant_part => has_all = false,
                _ => {}
            }
            if parts.len() > MOST_MEMBERS {
                return None;
            }
        }
        Some(has_all && !parts.is_empty())
    }

    fn part(
        &mut self,
        (die, entry): (Die, &Entry<'d>),
        start: u64,
        levels: u32,
        parts: &mut Vec<Part>,
    ) -> Option<()> {
        // Static members are variables.
        let is_static = [DW_AT_external, DW_AT_declaration];
        if is_static.iter().any(|&name| entry.has_attr(name)) {
            return Some(());
        }
        let of = entry.attr_value(DW_AT_type);
        let of = of.and_then(|value| self.debug_info.referred(die, value));
        let name = entry.attr_value(DW_AT_name);
        let name = name.and_then(|value| self.debug_info.text(die, value));
        let Some((first, bits)) = self.bits((die, entry), of) else {
            return Some(());
        };
        let Some(at) = start.checked_add(first / 8) else {
            return Some(());
        };
        if let Some(bits) = bits {
            // Bits without a name are padding.
            parts.extend(name.map(|name| Part {
                start: at,
                size_bytes: Some((first % 8).saturating_add(bits).div_ceil(8)),
                names: vec![name],
                of: None,
            }));
            return Some(());
        }
        let Some(of) = of else {
            return Some(());
        };
        let size_bytes = self.size(of, levels);
        let is_base = entry.tag() == dw::DW_TAG_inheritance;
        let names = match name {
            Some(name) if !is_base => vec![name],
            _ => {
                let Some((inner, entry)) = self.stripped(of) else {
                    return Some(());
                };
                let levels = levels.saturating_sub(1);
                if is_struct(entry.tag()) && levels > 0 {
                    self.parts(inner, at, levels, parts)?;
                    return Some(());
                }
                let mut names = Vec::new();
                self.alternatives(inner, levels, &mut names)?;
                names
            }
        };
        let is_named = names.len() == 1;
        parts.push(Part {
            start: at,
            size_bytes,
            names,
            of: is_named.then_some(of),
        });
        Some(())
    }

    /// Adds the names of the members of an unnamed union.
    fn alternatives(&mut self, die: Die, levels: u32, names: &mut Vec<String>) -> Option<()> {
        let mut parts = Vec::new();
        if levels > 0 {
            self.parts(die, 0, levels - 1, &mut parts)?;
        }
        names.extend(parts.into_iter().flat_map(|part| part.names));
        Some(())
    }

    /// Returns the first bit of a member, and its number of bits if it is a bit field.
    fn bits(
        &mut self,
        (die, entry): (Die, &Entry<'d>),
        of: Option<Die>,
    ) -> Option<(u64, Option<u64>)> {
        let bits = number(entry, DW_AT_bit_size);
        if let Some(first) = number(entry, DW_AT_data_bit_offset) {
            return Some((first, bits));
        }
        let bytes = match entry.attr_value(DW_AT_data_member_location) {
            None => 0,
            Some(AttributeValue::Exprloc(expression)) => self.debug_info.added(die, expression)?,
            Some(value) => value.udata_value()?,
        };
        let first = bytes.checked_mul(8)?;
        match (bits, number(entry, DW_AT_bit_offset)) {
            // Before DWARF 4, bits count from the most significant one of the storage.
            (Some(bits), Some(offset)) => {
                let storage = number(entry, DW_AT_byte_size);
                let storage = storage.or_else(|| self.size(of?, MOST_LEVELS))?;
                let behind = storage.checked_mul(8)?.checked_sub(offset)?;
                Some((first.checked_add(behind.checked_sub(bits)?)?, Some(bits)))
            }
            _ => Some((first, bits)),
        }
    }

    /// Makes fields of the parts of a struct; parts that overlap are one.
    fn fields(
        &mut self,
        mut parts: Vec<Part>,
        (path, size_bytes): (&str, Option<u64>),
        levels: u32,
    ) -> Option<Type> {
        parts.retain(|part| part.size_bytes != Some(0) && !part.names.is_empty());
        parts.sort_by_key(|part| part.start);
        let mut merged: Vec<Part> = Vec::new();
        for part in parts {
            let overlapped = merged.last_mut().filter(|last| {
                let end = last.size_bytes.map(|size| last.start.saturating_add(size));
                end.map_or(last.start == part.start, |end| part.start < end)
            });
            let Some(last) = overlapped else {
                merged.push(part);
                continue;
            };
            let end = |of: &Part| of.size_bytes.map(|size| of.start.saturating_add(size));
            let end = Option::zip(end(last), end(&part)).map(|(one, other)| one.max(other));
            last.size_bytes = end.map(|end| end - last.start);
            last.names.extend(part.names);
            last.of = None;
        }
        let starts: Vec<u64> = merged.iter().map(|part| part.start).collect();
        let mut fields = Vec::new();
        for (index, part) in merged.into_iter().enumerate() {
            let path = format!("{path}.{}", joined(&part.names));
            let node = match part.of {
                Some(of) => self.node(Some(of), &path, levels - 1)?.node,
                None => self.whole(&path, None)?.node,
            };
            let next = starts.get(index + 1).copied().unwrap_or(u64::MAX);
            let end = part.size_bytes.map(|size| part.start.saturating_add(size));
            fields.push(Field {
                start: part.start,
                end: end.unwrap_or(next),
                node,
            });
        }
        let between = self.number(format!("{path}.(padding)"))?;
        Some(Type {
            size_bytes,
            node: Node::Fields(fields, between),
        })
    }

    fn array(&mut self, (die, entry): (Die, &Entry<'d>), path: &str, levels: u32) -> Option<Type> {
        let size_bytes = number(entry, DW_AT_byte_size);
        let element = entry.attr_value(DW_AT_type);
        let element = element.and_then(|value| self.debug_info.referred(die, value));
        let Some(element) = element.filter(|_| !has_stride(entry)) else {
            return self.whole(path, size_bytes);
        };
        let (dimensions, elements) = self.dimensions(die)?;
        let path = format!("{path}{}", "[]".repeat(dimensions));
        let element = self.node(Some(element), &path, levels - 1)?;
        let all = Option::zip(element.size_bytes, elements);
        let all = all.and_then(|(size, elements)| size.checked_mul(elements));
        let size_bytes = size_bytes.or(all);
        let node = match element.size_bytes {
            Some(size) if size > 0 => Node::Elements(size, Box::new(element.node)),
            // Elements without a size have no members.
            _ => Node::Whole(self.number(path)?),
        };
        Some(Type { size_bytes, node })
    }

    /// Returns the number of dimensions of an array, and of its elements if it is known.
    fn dimensions(&mut self, die: Die) -> Option<(usize, Option<u64>)> {
        let (mut dimensions, mut elements) = (0, Some(1u64));
        for child in self.debug_info.children(die, &mut self.budget)? {
            let Some(entry) = self.debug_info.entry(child) else {
                continue;
            };
            if entry.tag() == dw::DW_TAG_subrange_type {
                dimensions += 1;
                let more = length(&entry);
                elements = elements.and_then(|elements| elements.checked_mul(more?));
            }
        }
        Some((dimensions.clamp(1, 8), elements))
    }
}

fn is_struct(tag: DwTag) -> bool {
    matches!(tag, dw::DW_TAG_structure_type | dw::DW_TAG_class_type)
}

/// Whether elements are not one directly after the other, or a register of numbers.
fn has_stride(entry: &Entry<'_>) -> bool {
    entry.has_attr(DW_AT_byte_stride) || entry.has_attr(DW_AT_GNU_vector)
}

fn number(entry: &Entry<'_>, name: DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}

/// Returns the length of a dimension; `None` if it is not known.
fn length(entry: &Entry<'_>) -> Option<u64> {
    if let Some(count) = number(entry, DW_AT_count) {
        return Some(count);
    }
    let bound = |name| {
        let value = entry.attr_value(name)?;
        let signed = value.sdata_value().map(i128::from);
        value.udata_value().map(i128::from).or(signed)
    };
    let (first, last) = (
        bound(DW_AT_lower_bound).unwrap_or(0),
        bound(DW_AT_upper_bound)?,
    );
    u64::try_from(last - first + 1).ok()
}

fn joined(names: &[String]) -> String {
    match names.get(..MOST_NAMES) {
        Some(first) if names.len() > MOST_NAMES => format!("{}|...", first.join("|")),
        _ => names.join("|"),
    }
}
