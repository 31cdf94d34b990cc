//! The best splits over other numbers of cores and on other machines, as a sweep found them.
//!
//! A sweep is a search for each of its rows, an hour for a large trace and many machines. So a
//! report takes one that was made (`corehop partition --sweep --json`) and only draws it. Rejected:
//! to keep a sweep in the plan, which is for people to edit.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What `corehop partition --sweep --json` prints, as far as it is drawn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sweep {
    /// What was searched.
    pub trace: String,
    /// One row for each search, those of a machine together.
    pub rows: Vec<SweepRow>,
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SweepRow {
    /// The machine simulated.
    pub machine: String,
    /// Over how many cores.
    pub cores: u32,
    /// How many requests are counted.
    pub requests: u64,
    /// Everything on one core.
    pub baseline: Counted,
    /// The best split found.
    pub split: Counted,
    /// Of the split.
    pub hops: u64,
    /// What a hop may cost at most, where hops are worth anything.
    pub break_even_hop_cycles: Option<f64>,
}

/// Of all requests counted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counted {
    /// The L2 caches.
    pub l2: CacheMisses,
    /// Cycles, those of hops too.
    pub cycles: u64,
}

/// Of one level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CacheMisses {
    /// How often the level missed.
    pub misses: u64,
}

/// Why a sweep could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The file is not there, or cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file holds something else.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        source: serde_json::Error,
    },
    /// There is nothing in it to draw.
    #[error("{}: it has no rows, or rows of no requests", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl Sweep {
    /// Reads what the search printed into the file at `path`.
    ///
    /// # Errors
    /// [`SweepError`] when it cannot be read, or is not what a sweep prints.
    pub fn read(path: &Path) -> Result<Sweep, SweepError> {
        let bytes = std::fs::read(path).map_err(|source| SweepError::Read {
            path: path.into(),
            source,
        })?;
        let sweep: Sweep = serde_json::from_slice(&bytes).map_err(|source| SweepError::Syntax {
            path: path.into(),
            source,
        })?;
        match sweep.rows.iter().all(|row| row.requests > 0) && !sweep.rows.is_empty() {
            true => Ok(sweep),
            false => Err(SweepError::Empty { path: path.into() }),
        }
    }

    /// The machines in their order, with the rows of each.
    pub fn by_machine(&self) -> impl Iterator<Item = &[SweepRow]> {
        self.rows.chunk_by(|a, b| a.machine == b.machine)
    }
}

impl SweepRow {
    /// L2 misses of a request: on one core, and split.
    pub fn misses(&self) -> [f64; 2] {
        [&self.baseline, &self.split].map(|of| of.l2.misses as f64 / self.requests as f64)
    }
}
