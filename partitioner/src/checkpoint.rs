//! A file with the costs that a search has computed, so that a stopped search can resume.
//!
//! A search spends its time on simulating sets of occurrences; recomputing everything else is
//! quick. So the file holds the costs of whole sets and of each set partition, not the position of
//! the search. The same strategy on the same requests meets the same sets again, and other searches
//! (more cores, another strategy) find most of the costs that they need. Costs belong to a
//! [`Subject`], which names all that they depend on. One file holds several subjects, because a
//! search may cover several resamples or machines.
//!
//! A new file is written next to the old one and renamed, so an interrupted program leaves the last
//! complete version. Rejected: a log that grows, because a search that is stopped often would
//! repeat the same costs many times. The format is postcard's, after a magic number, a version and
//! a checksum; all three must match.

use crate::evaluate::GROUPS;
use corehop_support::atomic_file::{Output, PRIVATE};
use corehop_traces::{FunctionId, RequestId};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Magic number at the start of the file.
const MARK: &[u8; 8] = b"corehopC";

/// Version of the layout and of the cost model; costs of other versions are rejected.
const VERSION: u32 = 2;

/// Bytes before the contents: magic number, version, checksum.
const PREFIX_BYTES: usize = MARK.len() + 8;

/// Minimum time between two writes; longer if a write takes long.
const INTERVAL: Duration = Duration::from_secs(10);

/// Everything that costs depend on, except the trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The objective, and the machines with all values from their files.
    pub value: String,
    /// Functions at which threads may move.
    pub functions: Vec<FunctionId>,
    /// The requests replayed.
    pub requests: Vec<RequestId>,
    /// Number of consecutive replays of the requests.
    pub rounds: usize,
}

/// Costs by key, of sets and of the part of each set partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// Costs of whole sets, by group of set partitions.
    pub sets: Vec<(u128, [u64; GROUPS])>,
    /// By set partition, the costs on its lines.
    pub set_partitions: Vec<Vec<(u128, u64)>>,
}

/// Identity of a search: names and values, as shown in error messages.
pub type Identity = Vec<(String, String)>;

#[derive(Serialize, Deserialize)]
struct Contents {
    identity: Identity,
    kept: Vec<(Subject, Costs)>,
}

/// A checkpoint's file.
#[derive(Debug)]
pub struct Checkpoint {
    output: Output,
    state: Mutex<State>,
}

struct State {
    contents: Contents,
    due: Instant,
    /// Error of the last write.
    failed: Option<Error>,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("{path}: cannot read the checkpoint: {source}")]
    Read {
        /// The checkpoint's path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It cannot be written, or the path cannot be a file.
    #[error("the checkpoint {0}")]
    Output(#[from] corehop_support::atomic_file::Error),
    /// The file is not a checkpoint.
    #[error("{path}: not a checkpoint of a search; name another file")]
    Foreign {
        /// The file's path.
        path: PathBuf,
    },
    /// Another version of corehop wrote it.
    #[error(
        "{path}: the checkpoint has version {found}, but this corehop reads version {VERSION}; \
         remove it to search again"
    )]
    OtherVersion {
        /// The checkpoint's path.
        path: PathBuf,
        /// The version of the file.
        found: u32,
    },
    /// Its checksum or its contents are wrong.
    #[error("{path}: the checkpoint is damaged; remove it to search again")]
    Damaged {
        /// The checkpoint's path.
        path: PathBuf,
    },
    /// It belongs to another search.
    #[error(
        "{path}: the checkpoint of another search ({what}: {theirs} there, {ours} here); name \
         another file, or repeat the search of the checkpoint"
    )]
    OtherSearch {
        /// The checkpoint's path.
        path: PathBuf,
        /// The property that differs.
        what: String,
        /// Its value in the checkpoint.
        theirs: String,
        /// Its value in this search.
        ours: String,
    },
}

impl Checkpoint {
    /// Opens the checkpoint at `path`, or creates one.
    ///
    /// # Errors
    /// Fails if the file belongs to a search of another `identity`, or cannot be read or written.
    pub fn open(path: &Path, identity: Identity) -> Result<Checkpoint, Error> {
        let mut contents = Contents {
            identity,
            kept: Vec::new(),
        };
        // Checked before reading: reading a pipe without a writer would block.
        let output = Output::file_at(path, true)?;
        match std::fs::read(path) {
            Ok(bytes) => {
                let found = parse(&bytes, path)?;
                check(&found.identity, &contents.identity, path)?;
                contents = found;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                write(&output, &contents)?;
            }
            Err(source) => {
                let path = path.into();
                return Err(Error::Read { path, source });
            }
        }
        Ok(Checkpoint {
            output,
            state: Mutex::new(State {
                contents,
                due: Instant::now() + INTERVAL,
                failed: None,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the stored costs of `subject`.
    pub fn costs(&self, subject: &Subject) -> Option<Costs> {
        let state = self.state();
        let mut kept = state.contents.kept.iter();
        let found = kept.find(|(kept, _)| kept == subject);
        found.map(|(_, costs)| costs.clone())
    }

    /// Whether the next write is due.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.state().due
    }

    /// Writes the costs of `subject` in place of its previous ones. [`Checkpoint::finish`] reports
    /// errors: a search can continue even if it cannot be resumed later.
    pub fn keep(&self, subject: &Subject, costs: Costs) {
        let mut state = self.state();
        let state = &mut *state;
        let begun = Instant::now();
        let kept = &mut state.contents.kept;
        match kept.iter_mut().find(|(kept, _)| kept == subject) {
            Some((_, known)) => *known = costs,
            None => kept.push((subject.clone(), costs)),
        }
        state.failed = write(&self.output, &state.contents).err();
        state.due = Instant::now() + INTERVAL.max(20 * begun.elapsed());
    }

    /// Reports whether the last write succeeded.
    ///
    /// # Errors
    /// Fails if the last write failed.
    pub fn finish(self) -> Result<(), Error> {
        let state = self.state.into_inner();
        let failed = state.unwrap_or_else(PoisonError::into_inner).failed;
        failed.map_or(Ok(()), Err)
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}", self.contents.identity)
    }
}

fn check(theirs: &Identity, ours: &Identity, path: &Path) -> Result<(), Error> {
    let differ = theirs
        .iter()
        .zip(ours)
        .find(|(theirs, ours)| theirs != ours);
    match differ {
        None if theirs.len() == ours.len() => Ok(()),
        None => Err(Error::Damaged { path: path.into() }),
        Some((theirs, ours)) => Err(Error::OtherSearch {
            path: path.into(),
            what: ours.0.clone(),
            theirs: theirs.1.clone(),
            ours: ours.1.clone(),
        }),
    }
}

fn parse(bytes: &[u8], path: &Path) -> Result<Contents, Error> {
    let path = || path.to_path_buf();
    if !bytes.starts_with(MARK) {
        return Err(Error::Foreign { path: path() });
    }
    let damaged = || Error::Damaged { path: path() };
    let (prefix, contents) = bytes.split_at_checked(PREFIX_BYTES).ok_or_else(damaged)?;
    let number = |at: usize| {
        let bytes = prefix[at..at + 4].try_into();
        u32::from_le_bytes(bytes.expect("four bytes"))
    };
    let (version, checksum) = (number(MARK.len()), number(MARK.len() + 4));
    if version != VERSION {
        let path = path();
        return Err(Error::OtherVersion {
            path,
            found: version,
        });
    }
    if crc32c::crc32c(contents) != checksum {
        return Err(damaged());
    }
    postcard::from_bytes(contents).map_err(|_| damaged())
}

fn write(output: &Output, contents: &Contents) -> Result<(), Error> {
    let contents = postcard::to_stdvec(contents).expect("numbers and text");
    let prefix = [VERSION, crc32c::crc32c(&contents)]
        .map(u32::to_le_bytes)
        .concat();
    let mut file = output.begin(PRIVATE)?;
    for part in [MARK, &prefix[..], &contents] {
        file.write_all(part)
            .map_err(|source| corehop_support::atomic_file::Error::Write {
                path: output.path().into(),
                source,
            })?;
    }
    Ok(file.finish()?)
}
