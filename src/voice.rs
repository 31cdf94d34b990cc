//! How loudly corehop speaks on standard error: `--quiet`, as it is, or `--verbose`.
//!
//! Results go to standard output and failures are always told; this is about what lies between. A
//! level for the whole process, because whoever warns is often far from the command line.

use clap::Args;
use indicatif::ProgressDrawTarget;
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// The options that say so, the same for every subcommand.
#[derive(Args)]
pub struct Voice {
    /// Say nothing on standard error but failures: no progress, no warnings, no summaries
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say on standard error what is done and how long it took
    #[arg(short, long, global = true)]
    verbose: bool,
}

impl Voice {
    /// Keeps to that level from here on.
    pub fn keep_to(&self) {
        QUIET.store(self.quiet, Ordering::Relaxed);
        VERBOSE.store(self.verbose, Ordering::Relaxed);
    }
}

/// Whether --quiet was given.
fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Something that the user should know, though the command goes on.
pub fn warn(text: &str) {
    say(&format!("corehop: {text}"));
}

/// A line for people, unless they asked for quiet.
pub fn say(text: &str) {
    if !is_quiet() {
        eprintln!("{text}");
    }
}

/// Something for those who asked for more.
pub fn detail(text: &str) {
    if VERBOSE.load(Ordering::Relaxed) {
        eprintln!("corehop: {text}");
    }
}

/// Where progress is drawn: on standard error where that is a terminal, or nowhere.
pub fn target() -> ProgressDrawTarget {
    match is_quiet() {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    }
}
