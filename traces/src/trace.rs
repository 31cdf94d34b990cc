//! Opens a trace: reads everything but the executions, and where in the file those are.
//!
//! The whole file is checked against its checksums at once, which takes a moment; after that only
//! the blocks that a replay comes to are in memory, so a trace may be larger than that.

use crate::Error;
use crate::contents::Contents;
use crate::executions::Executions;
use crate::program::{CodeBlock, Function, Module, Request};
use crate::reading::{Stop, map, read};
use crate::recording::{EndReason, Header};
use crate::requests::Requests;
use memmap2::Mmap;
use std::path::{Path, PathBuf};

/// A recorded thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Process that the thread belonged to.
    pub process_id: u32,
    /// The operating system's number of the thread.
    pub os_thread_id: u32,
}

/// How a trace ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The recording was ended in order.
    Finished(EndReason),
    /// The file stops before the recording's end.
    Cut {
        /// Everything before this byte of the file is whole and was read.
        offset: u64,
        /// How many bytes of an entry that is not whole follow.
        left_over_bytes: u64,
    },
}

/// An open trace.
pub struct Trace {
    pub(crate) path: PathBuf,
    pub(crate) map: Mmap,
    pub(crate) contents: Contents,
    pub(crate) requests: Requests,
    header: Header,
    ending: Ending,
}

impl Trace {
    /// Opens a trace and checks every byte of it against its checksums. A trace whose recording was
    /// cut off is opened up to its last whole block: see [`Trace::ending`].
    ///
    /// # Errors
    /// When the file cannot be read, is no trace, is newer than this build, or is damaged.
    pub fn open(path: &Path) -> Result<Trace, Error> {
        let map = map(path)?;
        let reading = read(path, &map)?;
        let path = path.to_path_buf();
        let contents = reading.contents;
        let offset = reading.bytes as u64;
        let damaged = |path, problem| {
            let entry = reading.entries;
            Err(Error::Damaged {
                path,
                entry,
                offset,
                problem,
            })
        };
        let ending = match (reading.stop, &contents.end) {
            (Stop::Broken(violation), _) => return damaged(path, violation.detail),
            (Stop::End, Some(reason)) => Ending::Finished(reason.clone()),
            (Stop::End | Stop::Cut, _) => Ending::Cut {
                offset,
                left_over_bytes: map.len() as u64 - offset,
            },
        };
        let Some(header) = contents.header.clone() else {
            return damaged(path, "the header is missing".into());
        };
        let marks: Vec<_> = contents
            .streams
            .iter()
            .map(|stream| &stream.marks[..])
            .collect();
        let requests = Requests::new(&marks);
        Ok(Trace {
            path,
            map,
            contents,
            requests,
            header,
            ending,
        })
    }

    /// What was known when the recording began.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The modules, by index.
    pub fn modules(&self) -> &[Module] {
        &self.contents.modules
    }

    /// The functions whose entries were executed, by index.
    pub fn functions(&self) -> &[Function] {
        &self.contents.functions
    }

    /// The code blocks, by index.
    pub fn code_blocks(&self) -> &[CodeBlock] {
        &self.contents.code_blocks
    }

    /// For each code block, the index of the function whose entry it starts at, if any.
    pub fn entered_functions(&self) -> &[Option<u32>] {
        &self.contents.entered
    }

    /// The threads, by index.
    pub fn threads(&self) -> &[Thread] {
        &self.contents.threads
    }

    /// The requests, in the order in which a replay comes to them.
    pub fn requests(&self) -> &[Request] {
        &self.requests.all
    }

    /// How the trace ends.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Whether the recording was ended in order, for whatever reason.
    pub fn complete(&self) -> bool {
        matches!(self.ending, Ending::Finished(_))
    }

    /// Number of executions.
    pub fn execution_count(&self) -> u64 {
        self.contents.executions
    }

    /// Number of loads and stores, fetches not counted.
    pub fn data_access_count(&self) -> u64 {
        self.contents.data_accesses
    }

    /// Size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// All executions, in the order of a replay.
    pub fn executions(&self) -> Executions<'_> {
        Executions::new(self, None)
    }

    /// The executions of these requests only, in the order of a replay. Blocks that hold none of
    /// them are not read.
    pub fn executions_of(&self, requests: &[u32]) -> Executions<'_> {
        let mut wanted = vec![false; self.requests().len()];
        for &request in requests {
            if let Some(wanted) = wanted.get_mut(request as usize) {
                *wanted = true;
            }
        }
        Executions::new(self, Some(wanted))
    }
}
