//! The best splits over other numbers of cores and on other machines, as a sweep found them.
//!
//! A sweep is a search for each of its rows, an hour for a large trace and many machines. So a
//! report takes one that was made (`corehop partition --sweep --json`) and only draws it. Rejected:
//! to keep a sweep in the plan, which is for people to edit.

use crate::failure::{Exit, Failure};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What `corehop partition --sweep --json` prints, as far as it is drawn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sweep {
    pub trace: String,
    pub rows: Vec<Row>,
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub machine: String,
    pub cores: u32,
    pub requests: u64,
    pub baseline: Counted,
    pub split: Counted,
    pub hops: u64,
    pub break_even_hop_cycles: Option<f64>,
}

/// Of all requests counted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counted {
    pub l2: Misses,
    pub cycles: u64,
}

/// Of one level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Misses {
    pub misses: u64,
}

impl Sweep {
    /// Reads what the search printed into the file at `path`.
    pub fn read(path: &Path) -> Result<Sweep, Failure> {
        let failure = |why: &dyn std::fmt::Display| {
            let message = format!("--sweep {}: {why}", path.display());
            Failure::new(Exit::Input, message)
                .remedy("`corehop partition --cores 4 --sweep --json TRACE > sweep.json` makes one")
        };
        let bytes = std::fs::read(path).map_err(|error| failure(&error))?;
        let sweep: Sweep = serde_json::from_slice(&bytes).map_err(|error| failure(&error))?;
        match sweep.rows.iter().all(|row| row.requests > 0) && !sweep.rows.is_empty() {
            true => Ok(sweep),
            false => Err(failure(&"it has no rows, or rows of no requests")),
        }
    }

    /// The machines in their order, with the rows of each.
    pub fn by_machine(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|a, b| a.machine == b.machine)
    }
}

impl Row {
    /// L2 misses of a request: on one core, and split.
    pub fn misses(&self) -> [f64; 2] {
        [&self.baseline, &self.split].map(|of| of.l2.misses as f64 / self.requests as f64)
    }
}
