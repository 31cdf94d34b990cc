//! Finds the objects of a what-if in a trace, and checks the changes.

use super::error::Problem;
use super::file::{Change, Part};
use super::free::{ADDRESS_BITS, REGION_BYTES};
use crate::pieces::Images;
use corehop_traces::Trace;

/// Maximum size of an object.
const OBJECT_BYTES_MAXIMUM: u64 = 1 << 40;

/// Maximum number of arrays of one object.
const ARRAYS_MAXIMUM: u32 = 64;

/// Names that are similar to one that is not found.
const NEAR: usize = 3;

/// An object of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub name: String,
    /// Path of the file that holds it.
    pub module: Option<String>,
    pub start: u64,
    /// Exclusive.
    pub end: u64,
}

/// All variables of a trace's files.
pub(super) struct Objects(Vec<Object>);

impl Objects {
    pub fn of(trace: &Trace, images: &Images) -> Objects {
        let object = |(module, name, start, end): (usize, &str, u64, u64)| Object {
            name: name.into(),
            module: Some(trace.modules()[module].path.clone()),
            start,
            end,
        };
        Objects(images.symbols().map(object).collect())
    }

    /// Returns the variable with this name of a module, if it is the only one.
    pub fn only(&self, name: &str, module: Option<&str>) -> Option<&Object> {
        let is_it = |of: &&Object| of.name == name && of.module.as_deref() == module;
        let mut all = self.0.iter().filter(is_it);
        all.next().filter(|_| all.next().is_none())
    }

    /// Returns the innermost variable that holds the address.
    pub fn holding(&self, address: u64) -> Option<&Object> {
        let holds = |of: &&Object| (of.start..of.end).contains(&address);
        self.0.iter().filter(holds).min_by_key(|of| of.size_bytes())
    }

    /// Returns a name that finds only this object, or else its range.
    pub fn reference(&self, object: &Object) -> String {
        let names = [object.name.clone(), object.full_name()];
        let finds = |name: &String| self.find(name).is_ok_and(|found| found == *object);
        let name = names.into_iter().find(finds);
        name.unwrap_or_else(|| Object::range(object.start, object.end).name)
    }

    /// Returns the object with this name or range.
    pub fn find(&self, name: &str) -> Result<Object, Problem> {
        if name.starts_with("0x") {
            return range(name);
        }
        let all: Vec<&Object> = self.0.iter().filter(|of| of.is_called(name)).collect();
        match all[..] {
            [object] => Ok(object.clone()),
            [] => Err(Problem::NoObject {
                object: name.into(),
                near: self.near(name),
            }),
            _ => Err(Problem::SeveralObjects {
                object: name.into(),
                number: all.len(),
                choices: choices(&all),
            }),
        }
    }

    /// Returns names that contain this one or are part of it, as part of a sentence.
    fn near(&self, name: &str) -> String {
        let is_near = |of: &&Object| of.name.contains(name) || name.contains(&of.name);
        let near = self.0.iter().filter(|of| of.name.len() > 2).filter(is_near);
        let near: Vec<&str> = near.map(|of| of.name.as_str()).take(NEAR).collect();
        match near.is_empty() {
            true => String::new(),
            false => format!(" (but {})", near.join(", ")),
        }
    }
}

impl Object {
    /// Returns the object of a range of addresses, of which `end` is exclusive.
    pub fn range(start: u64, end: u64) -> Object {
        Object {
            name: format!("{start:#x}-{:#x}", end - 1),
            module: None,
            start,
            end,
        }
    }

    pub fn size_bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Returns the name with the file, as the tables print it.
    pub fn full_name(&self) -> String {
        match self
            .module
            .as_ref()
            .and_then(|path| path.rsplit('/').next())
        {
            Some(file) => format!("{} of {file}", self.name),
            None => self.name.clone(),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || (name.starts_with(&self.name) && self.full_name() == name)
    }
}

/// Returns what to write for each of several objects with one name.
fn choices(all: &[&Object]) -> String {
    let full: Vec<String> = all.iter().map(|of| of.full_name()).collect();
    let is_only = |name: &String| full.iter().filter(|other| *other == name).count() == 1;
    let choice = |(of, name): (&&Object, &String)| match is_only(name) {
        true => format!("\"{name}\""),
        false => format!("\"{:#x}-{:#x}\"", of.start, of.end - 1),
    };
    let all = all.iter().zip(&full).map(choice);
    all.collect::<Vec<_>>().join(", ")
}

/// Returns the object of a range such as `0x4000-0x4fff`.
fn range(text: &str) -> Result<Object, Problem> {
    let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let range = || {
        let (first, last) = text.split_once('-')?;
        Some((address(first)?, address(last)?))
    };
    let is_valid = |&(first, last): &(u64, u64)| {
        first <= last && last >> ADDRESS_BITS == 0 && last - first < OBJECT_BYTES_MAXIMUM
    };
    let range = range().filter(is_valid);
    let (first, last) = range.ok_or_else(|| Problem::NoRange {
        object: text.into(),
    })?;
    Ok(Object {
        name: text.into(),
        module: None,
        start: first,
        end: last + 1,
    })
}

/// A change whose objects are known.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub object: Object,
    pub element_bytes: u64,
    pub pad_to_bytes: Option<u64>,
    pub align_bytes: u64,
    pub color_bytes: u64,
    pub split: Vec<Part>,
    /// The index of the change whose object it follows.
    pub behind: Option<usize>,
}

impl Resolved {
    /// The object moves, and nothing else about it changes.
    fn unchanged(object: Object) -> Resolved {
        Resolved {
            element_bytes: object.size_bytes(),
            object,
            pad_to_bytes: None,
            align_bytes: 1,
            color_bytes: 0,
            split: Vec::new(),
            behind: None,
        }
    }
}

/// Finds and checks the objects of these changes. An object that only others name in `behind` moves
/// with them, and is an additional one. An error has the index of the change.
pub(super) fn resolve(
    objects: &Objects,
    changes: &[&Change],
) -> Result<Vec<Resolved>, (Problem, Option<usize>)> {
    let mut all = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        all.push(resolve_one(objects, change).map_err(|problem| (problem, Some(index)))?);
    }
    for (index, change) in changes.iter().enumerate() {
        let Some(name) = &change.behind else {
            continue;
        };
        let other = objects
            .find(name)
            .map_err(|problem| (problem, Some(index)))?;
        let known = all.iter().position(|of| of.object == other);
        all[index].behind = Some(known.unwrap_or(all.len()));
        if known.is_none() {
            all.push(Resolved::unchanged(other));
        }
        if is_behind_itself(&all, index) {
            let circle = Problem::Circle {
                object: change.object.clone(),
                behind: name.clone(),
            };
            return Err((circle, Some(index)));
        }
    }
    check_overlaps(&all)?;
    Ok(all)
}

fn is_behind_itself(all: &[Resolved], index: usize) -> bool {
    let mut next = all[index].behind;
    while let Some(at) = next {
        if at == index {
            return true;
        }
        next = all[at].behind;
    }
    false
}

fn check_overlaps(all: &[Resolved]) -> Result<(), (Problem, Option<usize>)> {
    for (index, one) in all.iter().enumerate() {
        let overlaps = |other: &&Resolved| {
            one.object.start < other.object.end && other.object.start < one.object.end
        };
        if let Some(other) = all[..index].iter().find(overlaps) {
            let overlap = Problem::Overlap {
                object: one.object.name.clone(),
                other: other.object.name.clone(),
            };
            return Err((overlap, Some(index)));
        }
    }
    Ok(())
}

fn resolve_one(objects: &Objects, change: &Change) -> Result<Resolved, Problem> {
    let object = objects.find(&change.object)?;
    let object_bytes = object.size_bytes();
    let is_one = change.pad_to_bytes.is_none()
        && change.align_bytes.is_none()
        && change.color_bytes.is_none()
        && change.split.is_empty()
        && change.behind.is_none();
    if is_one {
        let object = change.object.clone();
        return Err(Problem::NoKey { object });
    }
    let element_bytes = change.element_bytes.unwrap_or(object_bytes);
    if element_bytes == 0 || element_bytes > object_bytes {
        return Err(Problem::Element {
            element_bytes,
            object_bytes,
        });
    }
    let split_off = check_split(&change.split, element_bytes)?;
    if let Some(pad_to_bytes) = change.pad_to_bytes
        && !(element_bytes - split_off..=REGION_BYTES).contains(&pad_to_bytes)
    {
        return Err(Problem::Pad {
            pad_to_bytes,
            element_bytes: element_bytes - split_off,
        });
    }
    if let Some(align_bytes) = change.align_bytes
        && !(align_bytes.is_power_of_two() && align_bytes <= REGION_BYTES)
    {
        return Err(Problem::Align { align_bytes });
    }
    if let Some(color_bytes) = change.color_bytes
        && color_bytes >= REGION_BYTES
    {
        return Err(Problem::Color { color_bytes });
    }
    if change.color_bytes.is_some() && change.behind.is_some() {
        return Err(Problem::ColorBehind);
    }
    let natural = 1 << object.start.trailing_zeros().min(6);
    Ok(Resolved {
        element_bytes,
        pad_to_bytes: change.pad_to_bytes,
        align_bytes: match change.behind {
            Some(_) => change.align_bytes.unwrap_or(natural),
            None => change.align_bytes.unwrap_or(1),
        },
        color_bytes: change.color_bytes.unwrap_or(0),
        split: change.split.clone(),
        behind: None,
        object,
    })
}

/// Checks the ranges of members, and returns how many bytes of an element they are.
fn check_split(split: &[Part], element_bytes: u64) -> Result<u64, Problem> {
    let mut sorted: Vec<&Part> = split.iter().collect();
    sorted.sort_by_key(|part| part.from);
    let (mut end, mut bytes) = (0, 0);
    for part in sorted {
        let Part { from, to, array } = *part;
        if !(1..=ARRAYS_MAXIMUM).contains(&array) {
            return Err(Problem::Array { array });
        }
        bytes = to.saturating_sub(from).saturating_add(bytes);
        if from < end || from >= to || to > element_bytes || bytes >= element_bytes {
            return Err(Problem::Split {
                from,
                to,
                element_bytes,
            });
        }
        end = to;
    }
    Ok(bytes)
}
