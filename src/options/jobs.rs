//! The number of host threads of a command: one option for all commands that replay traces.
//!
//! It sets up Rayon's global pool, which all code below uses. Results do not depend on it.

use crate::failure::{Exit, Failure};
use clap::Args;

/// The option.
#[derive(Args)]
pub struct Jobs {
    /// Number of host threads to use
    ///
    /// The result does not depend on it. Default: one for each CPU that corehop may use.
    #[arg(long, visible_alias = "threads", value_name = "THREADS",
          value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

impl Jobs {
    /// Limits the threads to that number from here on.
    pub fn keep_to(&self) -> Result<(), Failure> {
        let Some(jobs) = self.jobs else {
            return Ok(());
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.into());
        pool.build_global()
            .map_err(|error| Failure::new(Exit::Missing, error).remedy("use a smaller --jobs"))
    }
}
