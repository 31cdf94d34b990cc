//! Why a what-if cannot be replayed: the file, the line, the key, and what to write instead.

use corehop_simulator::ImpossibleMachine;
use std::path::PathBuf;

/// An error of a what-if.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("{path}: cannot read the what-if: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not valid TOML, or has an unknown key.
    #[error("{path}: not a valid what-if: {place}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        place: String,
    },
    /// A change contradicts itself, the trace, or another change.
    #[error("{path}{line}: {problem}", line = of_line(*line))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line at which the entry begins, if it is one.
        line: Option<usize>,
        /// What is wrong.
        problem: Problem,
    },
    /// The replay failed.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
}

fn of_line(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(":{line}"))
}

/// The broken rule, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages document the fields.
pub enum Problem {
    #[error("the what-if changes nothing: add [[change]], [[huge_pages]], or [machine]")]
    Nothing,
    #[error(
        "object = \"{object}\": no variable of the trace's files has this name{near}: \
         `corehop profile --by object` lists them, or write a range such as \"0x4000-0x4fff\""
    )]
    NoObject { object: String, near: String },
    #[error("object = \"{object}\": {number} variables have this name: write one of {choices}")]
    SeveralObjects {
        object: String,
        number: usize,
        choices: String,
    },
    #[error(
        "object = \"{object}\": not a range of addresses below 2^47: write the first and the last, \
         such as \"0x4000-0x4fff\", of at most 1 TiB"
    )]
    NoRange { object: String },
    #[error(
        "object = \"{object}\": the entry changes nothing: add pad_to_bytes, align_bytes, \
         color_bytes, split, or behind"
    )]
    NoKey { object: String },
    #[error("object = \"{object}\" overlaps \"{other}\": change each byte in one entry")]
    Overlap { object: String, other: String },
    #[error(
        "element_bytes = {element_bytes}: write a size from 1 to the object's {object_bytes} bytes"
    )]
    Element {
        element_bytes: u64,
        object_bytes: u64,
    },
    #[error(
        "pad_to_bytes = {pad_to_bytes}: the element has {element_bytes} bytes: write at least as \
         many, and at most 1 GiB"
    )]
    Pad {
        pad_to_bytes: u64,
        element_bytes: u64,
    },
    #[error("align_bytes = {align_bytes}: write a power of two up to 1 GiB, such as 64")]
    Align { align_bytes: u64 },
    #[error("color_bytes = {color_bytes}: write less than 1 GiB, such as 2048")]
    Color { color_bytes: u64 },
    #[error(
        "split = {{ from = {from}, to = {to} }}: write ranges from 0 to the element's \
         {element_bytes} bytes, without overlaps, that leave some bytes of it"
    )]
    Split {
        from: u64,
        to: u64,
        element_bytes: u64,
    },
    #[error("split: array = {array}: number the arrays 1, 2, and so on, up to 64")]
    Array { array: u32 },
    #[error("behind = \"{behind}\": {object} cannot be behind itself, or behind what is behind it")]
    Circle { object: String, behind: String },
    #[error("color_bytes with behind: an object has one place; leave one key out")]
    ColorBehind,
    #[error("the changed objects take too much memory: leave some out, or pad less")]
    NoSpace,
    #[error("[machine]: {problem}")]
    Machine { problem: ImpossibleMachine },
    #[error(
        "[machine.l3]: machine {machine} has no L3: give size_bytes, ways, and latency_cycles to \
         add one"
    )]
    NoL3 { machine: String },
    #[error(
        "[[huge_pages]]: machine {machine} has no TLBs: add [translation] to its file \
         (docs/reference/machines.md), or name another --machine"
    )]
    NoTranslation { machine: String },
    #[error("size = \"{size}\": write \"2M\" or \"1G\"")]
    PageSize { size: String },
}
