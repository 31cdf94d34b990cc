//! A recording, for each subcommand that makes one: the recorder with this process's signals, its
//! standard error and its exit codes.

mod failures;
mod observer;
mod progress;
pub mod reading;

use crate::failure::Failure;
use crate::interrupt;
use corehop_recorder::CarriedPlugins;
use corehop_recorder::{Driver, Options, Prepared};

/// The plugins that this command carries: `build.rs` builds them for a release build.
pub const CARRIED: CarriedPlugins = CarriedPlugins {
    v1: include_bytes!(env!("COREHOP_CARRIED_PLUGIN")),
    v4: include_bytes!(env!("COREHOP_CARRIED_PLUGIN_V4")),
};

/// Records until the recording is over, or a signal ends it.
pub fn run(options: Options) -> Result<(), Failure> {
    record(options, None)
}

/// The same for a command that records among other things, and has someone drive the server
/// meanwhile; signals are listened for already.
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
