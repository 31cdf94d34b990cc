//! The command line of `corehop`: record the memory accesses of a server, find where its threads
//! should hop to another core, and patch it.
//!
//! Each subcommand is one file of `commands`; most are stages of the pipeline. Several commands
//! share `options`, the `terminal`, and the modules here. All output passes through
//! `terminal::console`, which lets no text of a file control a terminal.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bundled;
pub mod commands;
pub mod configuration;
pub mod failure;
pub mod function_names;
mod measuring;
#[cfg(test)]
mod mentioned;
mod one_way;
pub mod open;
pub mod options;
mod plan_to_hook;
mod posted_calls;
mod recording;
pub mod terminal;

use clap::{CommandFactory, Parser};
use commands::Command;
use corehop_support::processes::fail_writes_beyond_file_limit;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use terminal::console;

#[derive(Parser)]
#[command(version, about, before_help = PARTS, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    verbosity: console::Verbosity,
    /// Configuration file to read options from
    ///
    /// Default: corehop.toml in the working directory, if it exists and nobody else can write it
    /// (docs/reference/configuration.md).
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<std::path::PathBuf>,
}

const PARTS: &str = "\
`corehop screen` estimates in seconds whether a server can gain. `corehop optimize` does the whole
job. Most other commands are its stages: record the server, partition the trace, explain or report
the plan, measure it, and patch or run the server with it.";

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  check or patch --verify found a problem, or the gain of measure --require-gain was not met;
     optimize found no speedup, screen found that none is possible, functions found no function,
     diff found a difference
  2  the command line is invalid
  3  an input is missing, damaged, or invalid
  4  an output cannot be written, or it exists and --force was not given
  5  refused: it would be unsafe, or the evidence is against the plan; `run`: the program was not
     started; `calibrate`: the machine was busy
  6  this machine lacks something (QEMU, the plugin, the symbolizer, a scheduler, or CPUs)
  7  the server or the load on it failed
  8  measure showed that the patched server is slower
  130  interrupted";

/// Lets a command end quietly when the reader of its output ends first, as `head` does. Rust's
/// startup code ignores SIGPIPE, and a failed print would then panic.
pub fn end_with_the_reader() {
    // SAFETY: no other thread runs yet, and the default action needs no handler to stay valid.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Runs the command line, and returns its exit code.
pub fn run() -> ExitCode {
    let words = configuration::completed(std::env::args_os(), &Cli::command());
    let words = match words {
        Ok(words) => words,
        Err(failure) => return failed(&failure),
    };
    // The file of `--config` has been read by now.
    let Cli {
        command,
        verbosity,
        config: _,
    } = parsed(words);
    verbosity.keep_to();
    // If the terminal closes, recording continues. If the disk fills, recording stops and the
    // server keeps running.
    if !matches!(command, Command::Record(_) | Command::Optimize(_)) {
        end_with_the_reader();
    }
    // `run` becomes the server, which keeps its signals.
    if !matches!(command, Command::Run(_)) {
        fail_writes_beyond_file_limit();
    }
    match command.run(Cli::command()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failed(&failure),
    }
}

/// Prints help, the version, or what is wrong with the command line, and ends the process.
fn told(error: &clap::Error) -> ! {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    match printed {
        Err(lost) if !error.use_stderr() => {
            let failure = console::unprinted(&lost);
            console::tell(&failure.lines());
            std::process::exit(i32::from(failure.exit_code()))
        }
        _ => std::process::exit(error.exit_code()),
    }
}

/// Parses the command line as `C`. Help and errors, colored by `--color`, end the process.
pub fn parsed<C: Parser>(words: Vec<OsString>) -> C {
    let mut definition = C::command().color(console::color_of(&words));
    let matches = definition.try_get_matches_from_mut(words);
    let matches = matches.unwrap_or_else(|error| told(&error));
    C::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut definition).exit())
}

/// Prints why a command failed, with the remedy.
pub fn failed(failure: &failure::Failure) -> ExitCode {
    console::tell(&failure.lines());
    ExitCode::from(failure.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the example commands of a help text, one per line.
    fn examples(help: &str) -> Vec<Vec<String>> {
        let begins = |line: &&str| {
            let after = line
                .trim_start_matches("Example:")
                .trim_start_matches("Then:");
            after.trim_start().starts_with("corehop ") || after.contains(" corehop ")
        };
        let lines = help.lines().skip_while(|line| !line.starts_with("Example"));
        let words = |line: &str| {
            let command = &line[line.find("corehop ").unwrap_or_default()..];
            let command = command.split(" > ").next().unwrap_or_default();
            shlex::split(command).expect("balanced quotes")
        };
        lines
            .take_while(|line| !line.is_empty())
            .filter(begins)
            .map(words)
            .collect()
    }

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_are_accepted_by_their_earlier_names() {
        for words in [
            "corehop partition --cores 2 --draws 1 --anyway",
            "corehop partition --cores 2 --only 1,2 --judge-last",
            "corehop partition --delegate 1 --elsewhere 2",
            "corehop run --or-unhooked --plan plan.toml -- server",
            "corehop optimize --anyway --load drive -- server",
            "corehop record -o t --request-at f --memory-limit 3000 -- server",
            "corehop optimize --record-within 60 --time-limit 600 --load drive -- server",
            "corehop partition --cores 2 --time-limit 0.1",
            "corehop screen --pid 1 --seconds 3",
        ] {
            let parsed = Cli::try_parse_from(words.split(' '));
            assert!(parsed.is_ok(), "{words}: {}", parsed.err().unwrap());
        }
    }

    #[test]
    fn sizes_and_times_have_units_everywhere() {
        for words in [
            "corehop record -o t --request-at f --memory-limit 2G -- server",
            "corehop record -o t --request-at f --system --guest-memory 1.5GiB -- server",
            "corehop optimize --memory-limit 512M --record-within 10m --load drive -- server",
            "corehop optimize --time-limit 1h --ready-within 500ms --load drive -- server",
            "corehop measure --plan p --ready-within 2m --max-rounds 3 --load drive -- server",
            "corehop partition --cores 2 --time-limit 250ms",
            "corehop screen --pid 1 --seconds 2s --color never",
        ] {
            let parsed = Cli::try_parse_from(words.split(' '));
            assert!(parsed.is_ok(), "{words}: {}", parsed.err().unwrap());
        }
        for (words, said) in [
            (
                "corehop record -o t --request-at f --memory-limit 2GB -- server",
                "write G or GiB",
            ),
            (
                "corehop record -o t --request-at f --system --guest-memory 4G -- server",
                "128 MiB to 3 GiB of memory",
            ),
            ("corehop screen --pid 1 --seconds 500ms", "takes 1 s to 1 h"),
            (
                "corehop partition --cores 2 --time-limit 1,5",
                "such as 250ms or 10m",
            ),
        ] {
            let refused = Cli::try_parse_from(words.split(' ')).err().unwrap();
            assert!(refused.to_string().contains(said), "{refused}");
        }
    }

    #[test]
    fn the_color_of_errors_is_known_before_they_are_printed() {
        let of = |words: &str| {
            console::color_of(&words.split(' ').map(OsString::from).collect::<Vec<_>>())
        };
        assert_eq!(of("corehop info t"), clap::ColorChoice::Auto);
        assert_eq!(of("corehop info t --color never"), clap::ColorChoice::Never);
        assert_eq!(
            of("corehop --color=never info --color=always"),
            clap::ColorChoice::Always
        );
        assert_eq!(
            of("corehop run -- ls --color=always"),
            clap::ColorChoice::Auto
        );
    }

    #[test]
    fn every_subcommand_has_examples_that_it_accepts() {
        for subcommand in Cli::command().get_subcommands() {
            let name = subcommand.get_name();
            let help = subcommand.get_after_help().map(ToString::to_string);
            let examples = examples(&help.unwrap_or_default());
            let own = examples.iter().filter(|words| words[1] == name).count();
            assert!(own > 0, "`corehop {name} --help` shows no example");
            for words in examples {
                let parsed = Cli::try_parse_from(&words);
                assert!(
                    parsed.is_ok(),
                    "{words:?}: {}",
                    parsed.err().expect("it failed")
                );
            }
        }
    }
}
