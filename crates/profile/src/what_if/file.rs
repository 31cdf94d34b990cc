//! The file of a what-if: TOML, whose keys `docs/guide/profile.md` describes.

use super::error::{Error, Problem};
use super::machine::MachineChange;
use serde::{Deserialize, Serialize};
use std::path::Path;
use toml::Spanned;

/// A change of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Name of a variable, as `--by object` prints it, or its first and last address.
    pub object: String,
    /// Bytes of an element of the array; `None` for all of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element_bytes: Option<u64>,
    /// Bytes of an element afterwards, without the members that are split off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad_to_bytes: Option<u64>,
    /// A multiple of this is the new address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align_bytes: Option<u64>,
    /// Added to the address, to use other sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color_bytes: Option<u64>,
    /// Members of each element that go to other arrays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub split: Vec<Part>,
    /// The object that this one is put behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
}

/// Members that go to another array.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The first byte in the element.
    pub from: u64,
    /// The byte behind the last one.
    pub to: u64,
    /// Number of the array, from 1.
    #[serde(default = "first")]
    pub array: u32,
}

fn first() -> u32 {
    1
}

/// A region on huge pages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HugePages {
    /// `all`, `code`, the name of a variable, or the first and the last address.
    pub region: String,
    /// `2M` or `1G`.
    #[serde(default = "large")]
    pub size: String,
}

fn large() -> String {
    "2M".into()
}

/// What is different.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhatIf {
    /// The changed objects, each with the line of its entry.
    pub changes: Vec<(Change, Option<usize>)>,
    /// The regions on huge pages, each with the line of its entry.
    pub huge_pages: Vec<(HugePages, Option<usize>)>,
    /// The change of the machine.
    pub machine: MachineChange,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    change: Vec<Spanned<Change>>,
    #[serde(default)]
    huge_pages: Vec<Spanned<HugePages>>,
    #[serde(default)]
    machine: MachineChange,
}

impl WhatIf {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`Error::Read`], and those of [`WhatIf::from_toml`].
    pub fn read(path: &Path) -> Result<WhatIf, Error> {
        let text = corehop_support::whole_file::text(path).map_err(|source| Error::Read {
            path: path.into(),
            source,
        })?;
        WhatIf::from_toml(&text, path)
    }

    /// Parses `text`; `path` is only for errors.
    ///
    /// # Errors
    /// [`Error::Syntax`], or [`Error::Invalid`] if it changes nothing.
    pub fn from_toml(text: &str, path: &Path) -> Result<WhatIf, Error> {
        let file: File = toml::from_str(text).map_err(|error| Error::Syntax {
            path: path.into(),
            place: error.to_string(),
        })?;
        let what_if = WhatIf {
            changes: with_lines(text, file.change),
            huge_pages: with_lines(text, file.huge_pages),
            machine: file.machine,
        };
        match what_if == WhatIf::default() {
            true => Err(Error::Invalid {
                path: path.into(),
                line: None,
                problem: Problem::Nothing,
            }),
            false => Ok(what_if),
        }
    }

    /// Returns how often a trace is read: for each of two replays, and to find unused addresses.
    #[must_use]
    pub fn passes(&self) -> u64 {
        2 + u64::from(!self.changes.is_empty())
    }
}

/// Returns entries with their lines, from 1.
fn with_lines<T>(text: &str, entries: Vec<Spanned<T>>) -> Vec<(T, Option<usize>)> {
    let entries = entries.into_iter().map(|entry| {
        let before = text.get(..entry.span().start);
        let line = before.map(|before| 1 + before.matches('\n').count());
        (entry.into_inner(), line)
    });
    entries.collect()
}
