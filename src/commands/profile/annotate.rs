//! `corehop profile --annotate`: source files with the figures of each line in front, as
//! `cg_annotate` prints them.

mod source;

use super::text::Table;
use crate::failure::{Exit, Failure};
use crate::terminal::line::{Lines, line};
use clap::Args;
use corehop_profile::{Cost, Level, Profile, SourceFile, Sources};
use corehop_support::format::number::{counted, share};
use source::{Source, regions};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// The options of annotated source files.
#[derive(Args)]
#[command(next_help_heading = "Source files")]
pub struct AnnotateArguments {
    /// Print source files with the figures of each line in front, instead of tables
    ///
    /// Default: all files with at least the share of --threshold. A FILE is a path or its end, such
    /// as server.c. Needs DWARF.
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..,
        require_equals = true,
        value_delimiter = ',',
        conflicts_with_all = ["by", "limit", "json", "format", "what_if", "suggest"]
    )]
    annotate: Option<Vec<PathBuf>>,
    /// Leave out source files with a smaller share of the figure of --sort, in percent
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 0.1,
        value_parser = percent,
        requires = "annotate"
    )]
    threshold: f64,
    /// Folder with the sources, for files that are not where they were compiled
    ///
    /// The longest end of a file's path that exists in the folder is read.
    #[arg(long, value_name = "FOLDER", requires = "annotate")]
    source_dir: Vec<PathBuf>,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "not a number from 0 to 100".into())
}

impl AnnotateArguments {
    /// Whether source files were requested.
    pub fn is_given(&self) -> bool {
        self.annotate.is_some()
    }

    /// Returns the files of a profile by line, as text.
    pub fn render(&self, table: &Table<'_>) -> Result<Lines, Failure> {
        let Profile { views, .. } = table.profile;
        let sources = views.first().map(Sources::of).unwrap_or_default();
        if sources.files.is_empty() {
            let (name, _) = table.named;
            let message = format!("{name}: no source line is known, because no DWARF was found");
            return Err(Failure::new(Exit::Input, message).remedy(
                "compile the server with -g and record it again, or install the debug files of \
                 the recorded build; --by line lists instructions",
            ));
        }
        self.check(&sources)?;
        let mut annotated = Annotated {
            table,
            text: table.head(),
            printed: Cost::default(),
            unreadable: Cost::default(),
        };
        let mut files: Vec<(u64, &SourceFile)> = sources
            .files
            .iter()
            .map(|file| (table.sorted_by(&file.total()), file))
            .collect();
        files.sort_by_key(|&(figure, file)| (Reverse(figure), &file.path));
        let (shown, rest): (Vec<_>, Vec<_>) = files
            .into_iter()
            .partition(|(_, file)| self.shows(table, file));
        let shown: Vec<&SourceFile> = shown.into_iter().map(|(_, file)| file).collect();
        let rest: Cost = rest.into_iter().map(|(_, file)| file.total()).sum();
        annotated.contents(&shown);
        for file in shown {
            annotated.file(file, &self.source_dir);
        }
        let left_out = match self.requested() {
            [] => format!("in source files below {} %", self.threshold),
            _ => "in other source files".into(),
        };
        Ok(annotated.end(&left_out, rest, sources.without_line))
    }

    fn requested(&self) -> &[PathBuf] {
        self.annotate.as_deref().unwrap_or_default()
    }

    /// Whether each requested file has figures.
    fn check(&self, sources: &Sources) -> Result<(), Failure> {
        let has_figures = |requested: &Path| {
            let mut files = sources.files.iter();
            files.any(|file| Path::new(&file.path).ends_with(requested))
        };
        let mut requested = self.requested().iter();
        let Some(missing) = requested.find(|requested| !has_figures(requested)) else {
            return Ok(());
        };
        let message = format!("--annotate: no line of {} was executed", missing.display());
        Err(Failure::new(Exit::Usage, message)
            .remedy("leave the file out: --annotate --threshold 0 shows all files"))
    }

    fn shows(&self, table: &Table<'_>, file: &SourceFile) -> bool {
        let requested = self.requested();
        if !requested.is_empty() {
            let path = Path::new(&file.path);
            return requested.iter().any(|requested| path.ends_with(requested));
        }
        let [part, whole] =
            [&file.total(), &table.profile.total].map(|cost| table.sorted_by(cost) as f64);
        part * 100.0 >= self.threshold * whole
    }
}

/// The text, and what it has so far.
struct Annotated<'a> {
    table: &'a Table<'a>,
    text: Lines,
    /// The cost of the lines of files that were read.
    printed: Cost,
    /// The cost of the lines of files that could not be read.
    unreadable: Cost,
}

/// The width of a separator.
const WIDTH: usize = 80;

impl Annotated<'_> {
    /// Prints the figures of each file.
    fn contents(&mut self, files: &[&SourceFile]) {
        line!(self.text, "by source file, {}", self.table.scale());
        self.heads("source file");
        self.row(&self.table.profile.total, "total");
        for file in files {
            self.row(&file.total(), &file.path);
        }
    }

    /// Prints the lines of a file around those with figures.
    fn file(&mut self, file: &SourceFile, folders: &[PathBuf]) {
        line!(self.text);
        let source = match Source::of(file, folders) {
            Ok(source) => source,
            Err(why) => {
                self.unreadable += file.total();
                line!(self.text, "{}: {why}", file.path);
                return;
            }
        };
        self.printed += file.total();
        self.separator(&source.path.display().to_string());
        if let Some(module) = &source.older_module {
            line!(
                self.text,
                "warning: this file is newer than {module}, so its lines may have other figures"
            );
        }
        self.heads("source line");
        let last = source.lines.len() as u32;
        for region in regions(file.lines.keys().copied(), last) {
            let (first, end) = (*region.start(), *region.end());
            if first > 1 {
                self.separator(&format!("line {first}"));
            }
            for (number, text) in (first..=end).zip(&source.lines[first as usize - 1..]) {
                match file.lines.get(&number) {
                    Some(cost) => self.row(cost, text),
                    None => self.row(&Cost::default(), text),
                }
            }
            if end < last {
                self.separator(&format!("line {end}"));
            }
        }
        for (number, cost) in file.lines.range(last + 1..) {
            let lines = counted(last.into(), "line", "lines");
            self.row(cost, &format!("line {number}: the file has only {lines}"));
        }
    }

    /// Prints where all figures are.
    fn end(mut self, left_out: &str, rest: Cost, without_line: Cost) -> Lines {
        line!(self.text);
        line!(self.text, "events annotated, {}", self.table.scale());
        self.heads("where");
        let rows = [
            (self.printed, "in the source lines above"),
            (self.unreadable, "in source files that cannot be read"),
            (rest, left_out),
            (without_line, "in code without line numbers"),
            (self.table.profile.total, "total"),
        ];
        for (cost, name) in rows {
            self.row(&cost, name);
        }
        self.text
    }

    fn separator(&mut self, what: &str) {
        let dashes = WIDTH.saturating_sub(what.chars().count() + 4).max(2);
        line!(self.text, "-- {what} {}", "-".repeat(dashes));
    }

    fn heads(&mut self, what: &str) {
        let [cycles, accesses] = ["cycles", "accesses"].map(|name| format!("{name:>14}"));
        let misses = ["L1 misses", "L2 misses", "L3 misses"].map(|name| format!("{name:>11}"));
        let misses = misses.concat();
        line!(
            self.text,
            "{:>7}{cycles}{accesses}{misses}  {what}",
            "share"
        );
    }

    /// Prints figures and a text, with a dot for zero.
    fn row(&mut self, cost: &Cost, what: &str) {
        let table = self.table;
        let figure = |figure: u64| match figure {
            0 => ".".into(),
            figure => table.figure(figure),
        };
        let part = match table.sorted_by(cost) {
            0 => ".".into(),
            part => share(part, table.sorted_by(&table.profile.total), 1),
        };
        let [l1, l2, l3] = [Level::L1, Level::L2, Level::L3].map(|of| figure(cost.misses(of)));
        let row = format!(
            "{part:>7}{:>14}{:>14}{l1:>11}{l2:>11}{l3:>11}  {what}",
            figure(cost.cycles(table.machine)),
            figure(cost.accesses()),
        );
        line!(self.text, "{}", row.trim_end());
    }
}
