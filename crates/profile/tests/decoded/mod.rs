//! Readers of the formats that a profile is written in, which share no code with the writers.

pub mod callgrind;
pub mod firefox;
pub mod pprof;
pub mod speedscope;

use corehop_profile::{Export, Format};
use std::collections::BTreeMap;

/// What a file has of one figure at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name of the module's file.
    pub module: String,
    /// Outermost first; of callgrind, the outermost alone.
    pub functions: Vec<String>,
    /// Where a line is known: the innermost file and line.
    pub place: Option<(String, u64)>,
    /// Lower-case letters and digits alone.
    pub figure: String,
    pub value: u64,
}

/// A figure's name, which the formats spell in their ways.
pub fn plain(figure: &str) -> String {
    let kept = figure.chars().filter(char::is_ascii_alphanumeric);
    kept.collect::<String>().to_lowercase()
}

pub fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap().to_owned()
}

/// The bytes of a file in this format.
pub fn written(export: &Export<'_>, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    format.write(export, &mut bytes).unwrap();
    bytes
}

/// What a file in this format says.
pub fn read(export: &Export<'_>, format: Format) -> Vec<Entry> {
    let bytes = written(export, format);
    match format {
        Format::Callgrind => callgrind::read(&String::from_utf8(bytes).unwrap()),
        Format::Pprof => pprof::read(&bytes),
        Format::Speedscope => speedscope::read(&serde_json::from_slice(&bytes).unwrap()),
        Format::Firefox => firefox::read(&serde_json::from_slice(&bytes).unwrap()),
    }
}

/// Sums of the values by whatever `key` says, without those that are 0.
pub fn sums<K: Ord>(entries: &[Entry], key: impl Fn(&Entry) -> K) -> BTreeMap<K, u64> {
    let mut sums = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.value > 0) {
        *sums.entry(key(entry)).or_default() += entry.value;
    }
    sums
}
