//! The best splits over other numbers of cores and on other machines, from a sweep.
//!
//! A sweep runs a search for each of its rows, which takes an hour for a large trace and many
//! machines. A report therefore reads an existing one (`corehop partition --sweep --json`) and only
//! draws it. Rejected: to store a sweep in the plan, which people edit.

use corehop_support::whole_file;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Output of `corehop partition --sweep --json`, limited to the fields that are drawn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sweep {
    /// The searched trace.
    pub trace: String,
    /// One row per search; the rows of a machine are adjacent.
    pub rows: Vec<SweepRow>,
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SweepRow {
    /// The simulated machine.
    pub machine: String,
    /// Number of cores.
    pub cores: u32,
    /// Number of counted requests.
    pub requests: u64,
    /// All code on one core.
    pub baseline: Counted,
    /// The best split found.
    pub split: Counted,
    /// Hops of the split.
    pub hops: u64,
    /// Maximum cost of a hop for the split to gain, if it can gain.
    pub break_even_hop_cycles: Option<f64>,
}

/// Totals of all counted requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counted {
    /// L2 caches.
    pub l2: CacheMisses,
    /// Cycles, including those of hops.
    pub cycles: u64,
}

/// Misses of one level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CacheMisses {
    /// Number of misses.
    pub misses: u64,
}

/// Why a sweep could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The file does not exist, or cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system error.
        source: std::io::Error,
    },
    /// The file is not a sweep.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        source: serde_json::Error,
    },
    /// It has nothing to draw.
    #[error("{}: it has no rows, or rows of no requests", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl Sweep {
    /// Reads the output of a sweep from the file at `path`.
    ///
    /// # Errors
    /// [`SweepError`] if it cannot be read, or is not the output of a sweep.
    pub fn read(path: &Path) -> Result<Sweep, SweepError> {
        let text = whole_file::text(path).map_err(|source| SweepError::Read {
            path: path.into(),
            source,
        })?;
        let sweep: Sweep = serde_json::from_str(&text).map_err(|source| SweepError::Syntax {
            path: path.into(),
            source,
        })?;
        match sweep.rows.iter().all(|row| row.requests > 0) && !sweep.rows.is_empty() {
            true => Ok(sweep),
            false => Err(SweepError::Empty { path: path.into() }),
        }
    }

    /// Returns the machines in their order, with the rows of each.
    pub fn by_machine(&self) -> impl Iterator<Item = &[SweepRow]> {
        self.rows.chunk_by(|a, b| a.machine == b.machine)
    }
}

impl SweepRow {
    /// Returns L2 misses per request: on one core, and with the split.
    pub fn misses(&self) -> [f64; 2] {
        [&self.baseline, &self.split].map(|of| of.l2.misses as f64 / self.requests as f64)
    }
}
