//! All output of corehop, and the level of output on standard error: `--quiet`, default, or
//! `--verbose`.
//!
//! Results go to standard output, and failures are always reported; the level applies to everything
//! else. One level applies to the whole process, because the code that warns is often far from the
//! command line. Only [`Lines`] are printed, so no text of a file can control the terminal.

use crate::failure::{Exit, Failure};
use crate::terminal::line::{Lines, line};
use clap::{Args, ColorChoice, ValueEnum};
use corehop_support::atomic_file;
use indicatif::ProgressDrawTarget;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// The options of the level, the same for every subcommand.
#[derive(Args)]
pub struct Verbosity {
    /// Print only failures on standard error: no progress, no warnings, no summaries
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print each stage and its duration on standard error, and results in detail
    #[arg(short, long, global = true)]
    verbose: bool,
    /// When to use color and bold in help and in errors of the command line
    ///
    /// `auto` uses them on a terminal, unless NO_COLOR is set. Results have no colors.
    #[arg(long, global = true, value_enum, value_name = "WHEN", hide_short_help = true,
          default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
}

/// Returns the value of `--color` on a command line that is not parsed yet, because parsing may
/// print help.
pub fn color_of(words: &[OsString]) -> ColorChoice {
    let own = words.iter().map_while(|word| match word.to_str() {
        Some("--") => None,
        word => Some(word.unwrap_or_default()),
    });
    let own: Vec<&str> = own.collect();
    let mut values = own
        .iter()
        .enumerate()
        .filter_map(|(place, word)| match *word {
            "--color" => own.get(place + 1).copied(),
            _ => word.strip_prefix("--color="),
        });
    let last = values.next_back();
    let choice = last.and_then(|value| ColorChoice::from_str(value, false).ok());
    choice.unwrap_or_default()
}

impl Verbosity {
    /// Sets the level from here on.
    pub fn keep_to(&self) {
        QUIET.store(self.quiet, Ordering::Relaxed);
        VERBOSE.store(self.verbose, Ordering::Relaxed);
    }
}

/// Returns whether `--verbose` was given.
pub fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// Returns whether `--quiet` was given.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a result on standard output.
pub fn print(lines: &Lines) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(lines.as_str().as_bytes());
    let written = written.and_then(|()| out.flush());
    written.map_err(|error| unprinted(&error))
}

/// Returns the failure to write to standard output.
pub fn unprinted(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Output, format!("standard output: {error}"))
        .remedy(atomic_file::remedy(Path::new("-"), error))
}

/// Prints text at every level on standard error. A closed standard error is ignored.
pub fn tell(lines: &Lines) {
    let _ = std::io::stderr().write_all(lines.as_str().as_bytes());
}

/// Prints a warning; the command continues.
pub fn warn(text: &str) {
    say(&format!("corehop: {text}"));
}

/// Prints a line for people, unless `--quiet` was given.
pub fn say(text: &str) {
    if !is_quiet() {
        tell_line(text);
    }
}

/// Prints a line only with `--verbose`.
pub fn detail(text: &str) {
    if is_verbose() {
        tell_line(&format!("corehop: {text}"));
    }
}

fn tell_line(text: &str) {
    let mut lines = Lines::new();
    line!(lines, "{text}");
    tell(&lines);
}

/// Returns whether standard error is a terminal, which can show a bar.
pub fn shows_bars() -> bool {
    std::io::stderr().is_terminal()
}

/// The variable that turns progress off where it is `never`. What a command prints then does not
/// depend on its time.
const PROGRESS: &str = "COREHOP_PROGRESS";

/// Returns whether progress is shown, as a bar or in lines.
pub fn shows_progress() -> bool {
    !is_quiet() && std::env::var_os(PROGRESS).is_none_or(|when| when != "never")
}

/// Returns where to draw progress: on standard error, or nowhere.
pub fn target() -> ProgressDrawTarget {
    match shows_progress() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    }
}
