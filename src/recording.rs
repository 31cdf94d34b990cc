//! A recording, for each subcommand that makes one: connects the recorder with this process's
//! signals, standard error, and exit codes.

mod failures;
mod observer;
mod progress;
pub mod reading;

use crate::failure::Failure;
use crate::terminal::interrupt;
use corehop_recorder::CarriedPlugins;
use corehop_recorder::{Driver, Options, Prepared};

/// The plugins inside this command: `build.rs` builds them for a release build.
pub const CARRIED: CarriedPlugins = CarriedPlugins {
    v1: include_bytes!(env!("COREHOP_CARRIED_PLUGIN")),
    v4: include_bytes!(env!("COREHOP_CARRIED_PLUGIN_V4")),
};

/// Records until the recording ends, or a signal ends it.
pub fn run(options: Options) -> Result<(), Failure> {
    record(options, None)
}

/// Records for a command with further stages, while `driver` drives the server. The caller handles
/// signals already.
pub fn run_driven(options: Options, driver: Driver<'_, Failure>) -> Result<(), Failure> {
    record(options, Some(driver))
}

fn record(options: Options, driver: Option<Driver<'_, Failure>>) -> Result<(), Failure> {
    let log = options.log.clone();
    let observer = observer::of(&options);
    let prepared = Prepared::new(options, observer)?;
    if driver.is_none() {
        interrupt::listen()?;
    }
    let recorded = prepared.record(driver, &interrupt::count);
    recorded.map_err(|stopped| failures::of(stopped, log.as_deref()))
}
