//! Where a report goes: the page, its pictures and numbers as files, and all of it as JSON.
//!
//! Everything is checked before the replays begin, so that nothing is computed that cannot be kept,
//! and every file is written whole or not at all; `corehop-outputs` sees to that.

use super::pictures::Picture;
use super::space::Space;
use super::{FUNCTIONS, Report, Sections, encode, page, repeat};
use crate::console;
use crate::failure::Failure;
use crate::line::Lines;
use clap::Args;
use corehop_explanations as explain;
use corehop_outputs::{Output, PUBLIC};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What can be asked for instead of a page, or beside it.
const OTHERS: [&str; 5] = ["svg", "csv", "json", "perfetto", "folded"];

/// The options that say so.
#[derive(Args, Default)]
pub struct OutputArguments {
    /// Where to write the page
    #[arg(short, long, value_name = "HTML", required_unless_present_any = OTHERS)]
    output: Option<PathBuf>,
    /// Write the pictures into this folder, as SVG files for papers
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    /// Write the numbers behind the pictures into this folder, as CSV files
    #[arg(long, value_name = "FOLDER")]
    csv: Option<PathBuf>,
    /// Write the timeline of the requests that --requests names, as JSON for Perfetto and Chrome
    #[arg(long, value_name = "FILE", requires = "requests")]
    pub perfetto: Option<PathBuf>,
    /// Write L2 misses by call stack, folded as flame graphs read them
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,
    /// Print one JSON object with all numbers
    #[arg(long)]
    json: bool,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

impl OutputArguments {
    /// A page alone, in place of an earlier one.
    pub fn of_page(output: PathBuf) -> OutputArguments {
        OutputArguments {
            output: Some(output),
            force: true,
            ..OutputArguments::default()
        }
    }

    /// Finds out before the replays that their result could not be kept.
    pub fn check(&self) -> Result<(), Failure> {
        for file in [&self.output, &self.perfetto, &self.folded]
            .into_iter()
            .flatten()
        {
            Output::at(file, self.force)?;
        }
        for folder in [&self.svg, &self.csv].into_iter().flatten() {
            std::fs::create_dir_all(folder).map_err(|source| corehop_outputs::Error::Write {
                path: folder.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// Whether something asks for call stacks.
    pub fn needs_calls(&self) -> bool {
        self.perfetto.is_some() || self.folded.is_some()
    }

    /// Whether something shows pictures or their numbers.
    pub fn needs_pictures(&self) -> bool {
        self.output.is_some() || self.svg.is_some() || self.csv.is_some() || self.json
    }

    /// Writes what call stacks tell.
    pub fn write_calls(
        &self,
        folded: Option<String>,
        timeline: Option<String>,
    ) -> Result<(), Failure> {
        let files = [(&self.folded, folded), (&self.perfetto, timeline)];
        for (path, text) in files {
            if let (Some(path), Some(text)) = (path, text) {
                write(path, self.force, &text)?;
            }
        }
        Ok(())
    }

    /// Writes what was asked for.
    pub fn write(&self, report: &Report<'_>, sections: &Sections) -> Result<(), Failure> {
        if let Some(path) = &self.output {
            write(path, self.force, &page::render(report, sections))?;
        }
        if let Some(folder) = &self.svg {
            self.files(folder, "svg", sections, |of| of.drawing.file(&of.said))?;
        }
        if let Some(folder) = &self.csv {
            self.files(folder, "csv", sections, |of| of.table.csv())?;
        }
        if self.json {
            console::print(&Lines::of_json(&json(report)))?;
        }
        Ok(())
    }

    /// A file for each picture.
    fn files(
        &self,
        folder: &Path,
        suffix: &str,
        sections: &Sections,
        text: impl Fn(&Picture) -> String,
    ) -> Result<(), Failure> {
        let path = |picture: &Picture| folder.join(format!("{}.{suffix}", picture.name));
        sections
            .all()
            .try_for_each(|picture| Output::at(&path(picture), self.force).map(drop))?;
        sections
            .all()
            .try_for_each(|picture| write(&path(picture), self.force, &text(picture)))
    }
}

impl Sections {
    fn all(&self) -> impl Iterator<Item = &Picture> {
        let sections = [&self.accesses, &self.misses, &self.split, &self.space];
        sections.into_iter().flatten()
    }
}

/// Everything that the page knows, but for its cells.
fn json(report: &Report<'_>) -> Value {
    let mut object = explain::json::render(report.explained, FUNCTIONS);
    let pictured = report.pictured.iter();
    let pictured = pictured.map(|of| encode::summary(of, report.explained.trace));
    object["pictured"] = pictured.collect();
    object["space"] = report.space.as_ref().map(Space::json).into();
    object["sweep"] = serde_json::json!(report.sweep);
    object["repeat"] = repeat::json(report);
    object
}

fn write(path: &Path, force: bool, text: &str) -> Result<(), Failure> {
    Ok(Output::at(path, force)?.write(text.as_bytes(), PUBLIC)?)
}
