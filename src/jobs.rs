//! How many host threads a command may use: one option, the same wherever traces are replayed.
//!
//! It sets up Rayon's global pool, which everything below uses without being told. Results do not
//! depend on it.

use crate::failure::{Exit, Failure};
use clap::Args;

/// The option that says so.
#[derive(Args)]
pub struct Jobs {
    /// Number of host threads; the result does not depend on it. Default: all
    #[arg(long, visible_alias = "threads", value_name = "THREADS",
          value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

impl Jobs {
    /// Keeps to that number from here on.
    pub fn keep_to(&self) -> Result<(), Failure> {
        let Some(jobs) = self.jobs else {
            return Ok(());
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.into());
        pool.build_global()
            .map_err(|error| Failure::new(Exit::Missing, error).remedy("ask for fewer --jobs"))
    }
}
