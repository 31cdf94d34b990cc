//! Detects the kind of a file: a trace by its first bytes, JSON by its first character, otherwise a
//! plan.
//!
//! A file that is not a trace is read once, so it may be a pipe.

use super::results;
use super::side::{Kind, Side};
use crate::failure::{Exit, Failure};
use corehop_traces::has_magic;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest plan or result that is read. The largest known ones are reports of a few MiB.
const MOST_BYTES: u64 = 256 << 20;

/// Number of bytes that identify a trace.
const PREFIX_BYTES: u64 = 64;

const TRACE: Kind = Kind {
    word: "trace",
    phrase: "a trace",
};
const PLAN: Kind = Kind {
    word: "plan",
    phrase: "a plan",
};

/// One of the files.
pub enum Input {
    /// A trace, to be opened and replayed later.
    Trace,
    /// The content of a plan or result.
    Read(Box<Side>, Kind),
}

impl Input {
    /// Detects the kind of a file, and reads it unless it is a trace.
    pub fn read(path: &Path) -> Result<Input, Failure> {
        let unreadable = |error: io::Error| {
            let message = format!("{}: cannot read: {error}", path.display());
            Failure::new(Exit::Input, message).remedy("name a trace, a plan, or a JSON result")
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        let mut start = file.by_ref().take(PREFIX_BYTES);
        start.read_to_end(&mut bytes).map_err(unreadable)?;
        if has_magic(&bytes) {
            return Ok(Input::Trace);
        }
        let mut rest = file.take(MOST_BYTES);
        rest.read_to_end(&mut bytes).map_err(unreadable)?;
        if rest.limit() == 0 {
            return Err(neither(path, "it is too large for a plan or a result"));
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(neither(path, "its bytes are no text"));
        };
        match text.trim_start().chars().next() {
            None => Err(neither(path, "it is empty")),
            Some('{') => {
                let (side, kind) = results::read(&text, path)?;
                Ok(Input::Read(Box::new(side), kind))
            }
            Some('<') => Err(neither(path, "it looks like a page")),
            Some(_) => {
                let plan = corehop_plan::parse(&text, path)?;
                Ok(Input::Read(Box::new(Side::of_plan(plan)), PLAN))
            }
        }
    }

    /// Returns the kind of the file.
    pub fn kind(&self) -> Kind {
        match self {
            Input::Trace => TRACE,
            Input::Read(_, kind) => *kind,
        }
    }
}

fn neither(path: &Path, why: &str) -> Failure {
    let path = path.display();
    let message = format!("{path}: neither a trace, nor a plan, nor a JSON result: {why}");
    Failure::new(Exit::Input, message).remedy(
        "name what `corehop record` or `corehop partition -o` wrote, or what a command printed \
         with --json",
    )
}
