//! Output of a report: the page, and its pictures and numbers as files.
//!
//! All output paths are checked before the replays begin, so that no result is computed that cannot
//! be written. Every file is written completely or not at all, by `corehop_support::atomic_file`.

use crate::contents::{Report, Sections};
use crate::error::Error;
use crate::page::html;
use crate::pass::call_tree::CallTree;
use crate::pass::{callgrind, folded};
use crate::pictures::picture::Picture;
use corehop_support::atomic_file::{Output, PUBLIC};
use std::path::{Path, PathBuf};

/// The files to write.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// HTML page.
    pub page: Option<PathBuf>,
    /// Folder for the pictures as SVG files.
    pub svg: Option<PathBuf>,
    /// Folder for the numbers behind the pictures as CSV files.
    pub csv: Option<PathBuf>,
    /// Timeline of the selected requests, as JSON for Perfetto and Chrome.
    pub perfetto: Option<PathBuf>,
    /// L2 misses by call stack, in the folded format of flame graphs.
    pub folded: Option<PathBuf>,
    /// Accesses and L2 misses by function and call, in callgrind's format.
    pub callgrind: Option<PathBuf>,
    /// Whether the caller wants all numbers as JSON.
    pub json: bool,
    /// Whether existing files may be replaced.
    pub force: bool,
}

impl Outputs {
    /// Checks before the replays that their result can be written.
    ///
    /// # Errors
    /// [`Error::Output`] for a file that already exists, or a path where no file can be created.
    pub fn check(&self) -> Result<(), Error> {
        for file in [&self.page, &self.perfetto, &self.folded, &self.callgrind]
            .into_iter()
            .flatten()
        {
            Output::at(file, self.force)?;
        }
        for folder in [&self.svg, &self.csv].into_iter().flatten() {
            std::fs::create_dir_all(folder).map_err(|source| {
                corehop_support::atomic_file::Error::Write {
                    path: folder.clone(),
                    source,
                }
            })?;
        }
        Ok(())
    }

    /// Whether any output needs call stacks.
    pub fn needs_calls(&self) -> bool {
        self.perfetto.is_some() || self.needs_call_tree()
    }

    /// Whether any output sums up by call stack.
    pub fn needs_call_tree(&self) -> bool {
        self.folded.is_some() || self.callgrind.is_some()
    }

    /// Whether any output shows pictures or their numbers.
    pub fn needs_pictures(&self) -> bool {
        self.page.is_some() || self.svg.is_some() || self.csv.is_some() || self.json
    }

    /// Writes the outputs that come from call stacks.
    pub fn write_calls(
        &self,
        tree: Option<&CallTree<'_>>,
        timeline: Option<String>,
    ) -> Result<(), Error> {
        if let (Some(path), Some(tree)) = (&self.folded, tree) {
            write(path, self.force, &folded::text(tree))?;
        }
        if let (Some(path), Some(tree)) = (&self.callgrind, tree) {
            write(path, self.force, &callgrind::text(tree))?;
        }
        if let (Some(path), Some(timeline)) = (&self.perfetto, timeline) {
            write(path, self.force, &timeline)?;
        }
        Ok(())
    }

    /// Writes the requested files.
    pub fn write(&self, report: &Report<'_>, sections: &Sections) -> Result<(), Error> {
        if let Some(path) = &self.page {
            write(path, self.force, &html::render(report, sections))?;
        }
        if let Some(folder) = &self.svg {
            self.files(folder, "svg", sections, |of| of.drawing.file(&of.said))?;
        }
        if let Some(folder) = &self.csv {
            self.files(folder, "csv", sections, |of| of.table.csv())?;
        }
        Ok(())
    }

    /// Writes one file for each picture.
    fn files(
        &self,
        folder: &Path,
        suffix: &str,
        sections: &Sections,
        text: impl Fn(&Picture) -> String,
    ) -> Result<(), Error> {
        let path = |picture: &Picture| folder.join(format!("{}.{suffix}", picture.name));
        sections
            .all()
            .try_for_each(|picture| Output::at(&path(picture), self.force).map(drop))?;
        sections
            .all()
            .try_for_each(|picture| write(&path(picture), self.force, &text(picture)))
    }
}

fn write(path: &Path, force: bool, text: &str) -> Result<(), Error> {
    Ok(Output::at(path, force)?.write(text.as_bytes(), PUBLIC)?)
}
