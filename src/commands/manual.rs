//! `corehop completions` and `corehop man`: generated from the definitions that parse the command
//! line, so they always match it.

use crate::failure::{Exit, Failure};
use crate::terminal::console;
use clap::{Args, Command};
use clap_complete::Shell;
use corehop_support::atomic_file::{Output, PUBLIC};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// Print a shell script that completes the commands and options of corehop
#[derive(Args)]
#[command(after_help = "\
Example: corehop completions bash > ~/.local/share/bash-completion/completions/corehop
         corehop completions zsh > ~/.zfunc/_corehop
         corehop completions fish > ~/.config/fish/completions/corehop.fish")]
pub struct Completions {
    /// Shell to print the script for
    shell: Shell,
}

/// Write the manual pages: one for corehop and one for each command
#[derive(Args)]
#[command(after_help = "\
Example: corehop man ~/.local/share/man/man1
Then:    man corehop-partition")]
pub struct Man {
    /// Folder for the pages
    ///
    /// It is created if it does not exist. Existing pages in it are replaced.
    folder: PathBuf,
}

/// Prints the completions of `program`.
pub fn complete(arguments: &Completions, mut program: Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "corehop", &mut text);
    let written = std::io::stdout().write_all(&text);
    written.map_err(|error| console::unprinted(&error))
}

/// Writes the pages of `program`; existing pages are replaced, as in an update.
pub fn write(arguments: &Man, program: Command) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Output, format!("{}: {error}", folder.display()))
            .remedy(corehop_support::atomic_file::remedy(folder, &error))
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (name, page) in pages(program).map_err(failed)? {
        Output::at(&folder.join(name), true)?.write(&page, PUBLIC)?;
    }
    Ok(())
}

/// Returns the pages with their file names.
fn pages(program: Command) -> std::io::Result<Vec<(OsString, Vec<u8>)>> {
    let folder = corehop_support::atomic_file::private_folder()?;
    clap_mangen::generate_to(program.disable_help_subcommand(true), folder.path())?;
    let entries = std::fs::read_dir(folder.path())?;
    entries
        .map(|entry| {
            let entry = entry?;
            Ok((entry.file_name(), std::fs::read(entry.path())?))
        })
        .collect()
}
