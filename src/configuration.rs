//! `corehop.toml`: a file with options that are the same for each run.
//!
//! A key is the long name of an option. It is handled as if it were on the command line, so each
//! option has one definition. The command line wins: an option there replaces the file's option,
//! and also every option that it excludes. Keys at the top level apply to every command that has
//! the option. Keys of a table such as `[record]` apply to that command only. `command` is the text
//! after `--`.
//!
//! The file can start programs (`load`), and root may work in a folder of another user. A file
//! found in the working directory must therefore belong to the user, and nobody else may have write
//! permission. A file given by name is read without this check.

mod file;

use crate::failure::Failure;
use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Id};
use file::{File, NEVER, Place, Setting};
use std::ffi::OsString;
use std::path::PathBuf;

/// The option that names the file.
pub const OPTION: &str = "config";

/// Name of the file in the working directory.
const NAME: &str = "corehop.toml";

/// Also names the file. If it is empty, no file is read.
const VARIABLE: &str = "COREHOP_CONFIG";

/// The key for the text after `--`.
const SERVER: &str = "command";

/// Returns the command line with the options of the file added.
pub fn completed(
    words: impl IntoIterator<Item = OsString>,
    cli: &Command,
) -> Result<Vec<OsString>, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let mut lenient = cli.clone().ignore_errors(true);
    let Ok(given) = lenient.try_get_matches_from_mut(&words) else {
        return Ok(words);
    };
    let Some((name, given_to_it)) = given.subcommand() else {
        return Ok(words);
    };
    let (Some(place), Some(of)) = (place(&given, given_to_it), lenient.find_subcommand(name))
    else {
        return Ok(words);
    };
    let file = File::read(&place)?;
    let known: Vec<&Command> = cli.get_subcommands().collect();
    file.check(|table, key| accepts(&known, table, key))?;
    let mut options = Vec::new();
    let mut server = Vec::new();
    for setting in file.settings(name) {
        if setting.key == SERVER && takes_a_server(of) {
            if !is_given(given_to_it, SERVER) {
                server = setting.words(&file)?;
            }
        } else if let Some(option) = option(of, &setting.key)
            && !is_decided(of, option, given_to_it)
        {
            options.extend(as_words(&file, setting, option)?);
        }
    }
    Ok(inserted(words, options, server))
}

/// Returns the file to read, if there is one.
fn place(given: &ArgMatches, given_to_it: &ArgMatches) -> Option<Place> {
    let named = |of: &ArgMatches| of.try_get_one::<PathBuf>(OPTION).ok().flatten().cloned();
    let named = named(given_to_it).or_else(|| named(given));
    if named.is_some() {
        return named.map(Place::Named);
    }
    match std::env::var_os(VARIABLE) {
        Some(empty) if empty.is_empty() => None,
        Some(named) => Some(Place::Named(named.into())),
        None => Some(PathBuf::from(NAME))
            .filter(|path| path.exists())
            .map(Place::Found),
    }
}

/// Returns whether some command, or the command of the table, has an option of this name.
fn accepts(known: &[&Command], table: Option<&str>, key: &str) -> Result<(), Vec<String>> {
    let is_meant = |of: &&&Command| table.is_none_or(|table| of.get_name() == table);
    let meant: Vec<&&Command> = known.iter().filter(is_meant).collect();
    if key.is_empty() {
        let names = || known.iter().map(|of| of.get_name().to_owned()).collect();
        return (!meant.is_empty()).then_some(()).ok_or_else(names);
    }
    let has = |of: &&&Command| option(of, key).is_some() || key == SERVER && takes_a_server(of);
    if meant.iter().any(has) {
        return Ok(());
    }
    let longs = meant.iter().flat_map(|of| of.get_arguments());
    let longs = longs.filter_map(|of| of.get_long());
    Err(longs
        .filter(|long| !NEVER.contains(long))
        .map(str::to_owned)
        .collect())
}

fn option<'a>(of: &'a Command, key: &str) -> Option<&'a Arg> {
    let named = |option: &&Arg| {
        let mut aliases = option.get_all_aliases().unwrap_or_default().into_iter();
        option.get_long() == Some(key) || aliases.any(|alias| alias == key)
    };
    of.get_arguments()
        .find(named)
        .filter(|_| !NEVER.contains(&key))
}

fn takes_a_server(of: &Command) -> bool {
    of.get_positionals()
        .any(|of| of.get_id() == SERVER && of.is_last_set())
}

fn is_given(given: &ArgMatches, id: &str) -> bool {
    let is_known = given.try_contains_id(id).unwrap_or(false);
    is_known && given.value_source(id) == Some(ValueSource::CommandLine)
}

/// Returns whether the command line has the option, or one that conflicts with it.
fn is_decided(of: &Command, option: &Arg, given: &ArgMatches) -> bool {
    let excludes = |other: &&Arg| {
        let of_other = of.get_arg_conflicts_with(other);
        of_other.iter().any(|id| id.get_id() == option.get_id())
    };
    let excluding = of.get_arguments().filter(excludes);
    let excluded = of.get_arg_conflicts_with(option);
    let mut ids = excluding.chain(excluded).chain([option]);
    ids.any(|of| is_given(given, of.get_id().as_str()))
}

/// Returns the option as words of the command line, after checking that it is valid there.
fn as_words(file: &File, setting: &Setting, option: &Arg) -> Result<Vec<OsString>, Failure> {
    let long = format!("--{}", setting.key);
    let words: Vec<OsString> = match option.get_action() {
        ArgAction::SetTrue | ArgAction::Count => match setting.flag(file)? {
            true => vec![long.into()],
            false => Vec::new(),
        },
        action => {
            let values = setting.values(file, matches!(action, ArgAction::Append))?;
            values
                .iter()
                .map(|value| format!("{long}={value}").into())
                .collect()
        }
    };
    // Parse the option alone, so that an error is reported with its place in the file.
    let nothing = || Resettable::<Id>::Reset;
    let alone = option
        .clone()
        .required(false)
        .requires(nothing())
        .conflicts_with(nothing());
    let alone = Command::new("corehop").arg(alone);
    match alone.try_get_matches_from([OsString::from("corehop")].into_iter().chain(words.clone())) {
        Ok(_) => Ok(words),
        Err(error) => {
            let said = error.to_string();
            let first = said.lines().next().unwrap_or_default();
            let first = first.trim_start_matches("error: ").to_owned();
            Err(file.wrong(setting, first))
        }
    }
}

/// Inserts options before the server, and both before the words that are not parsed.
fn inserted(
    mut words: Vec<OsString>,
    options: Vec<OsString>,
    server: Vec<OsString>,
) -> Vec<OsString> {
    let end = words.iter().position(|word| word == "--");
    let end = end.unwrap_or(words.len());
    words.splice(end..end, options);
    if !server.is_empty() {
        words.push("--".into());
        words.extend(server);
    }
    words
}
