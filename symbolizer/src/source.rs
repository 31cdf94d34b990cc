//! Source locations of code: file and line, from the DWARF of a program or of its debug file.
//!
//! A server's line tables have millions of rows, and a report shows some tens of functions. So each
//! address is looked up separately (addr2line, on gimli), which reads only its compilation unit.
//! Debian's debug files share common data (dwz); a debug file names the file that contains it.

use crate::data::DataLayout;
use crate::error::Error;
use crate::members::{self, VariableType};
use crate::output::Told;
use addr2line::{Loader, Location};
use object::Object;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A location in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as given to the compiler.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// One of the functions that contain an instruction: the innermost inlined one, or a function that
/// it was inlined into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The demangled function name; `None` if only the line table is available.
    pub function: Option<String>,
    /// The location of the instruction, or of the inlined call.
    pub source: Option<SourceLine>,
}

/// A file, if its build id is this one.
type Build = (PathBuf, String);

/// Line tables and variables of the requested files, each opened once.
#[derive(Default)]
pub struct SourceLines {
    opened: HashMap<Build, Option<Loader>>,
    /// By file: the file with its debug data.
    with_debug_data: HashMap<Build, Option<PathBuf>>,
    /// Why no debug files were found, if no symbolizer works.
    failure: Option<Error>,
}

impl SourceLines {
    /// Returns the line tables of files given by path and build id. Searches their debug files
    /// together, because a symbolizer takes 0.2 s to start.
    pub fn of_builds<'b>(builds: impl IntoIterator<Item = (&'b Path, &'b str)>) -> SourceLines {
        let mut lines = SourceLines::default();
        let mut without = Vec::new();
        for (path, build_id) in builds {
            let build = (path.to_owned(), build_id.to_owned());
            if lines.with_debug_data.contains_key(&build) {
                continue;
            }
            let found = match is_build(path, build_id) {
                None => None,
                Some(has_debug_data) => {
                    if !has_debug_data {
                        without.push(build.clone());
                    }
                    Some(path.to_owned())
                }
            };
            lines.with_debug_data.insert(build, found);
        }
        let paths: Vec<&Path> = without.iter().map(|(path, _)| path.as_path()).collect();
        let told = match paths[..] {
            [] => Ok(Vec::new()),
            _ => crate::read_each(&paths),
        };
        let told = told.unwrap_or_else(|error| {
            lines.failure = Some(error);
            Vec::new()
        });
        for (build, told) in without.iter().zip(told) {
            if let Ok(Told {
                debug_file: Some(file),
                ..
            }) = told
            {
                lines.with_debug_data.insert(build.clone(), Some(file));
            }
        }
        lines
    }

    /// Takes the reason if debug files are unknown because no symbolizer works.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Returns the variables and sections of the file at `path`, if it has this build id; `None` if
    /// unknown.
    pub fn data(&mut self, path: &Path, build_id: &str) -> Option<DataLayout> {
        let debug_file = self.with_debug_data(path, build_id)?;
        DataLayout::of(path, &debug_file)
    }

    /// Returns the type of each variable of the file at `path`, which has this layout and build id;
    /// `None` without DWARF.
    pub fn members(
        &mut self,
        path: &Path,
        build_id: &str,
        layout: &DataLayout,
    ) -> Option<Vec<VariableType>> {
        let debug_file = self.with_debug_data(path, build_id)?;
        members::variables(&debug_file, common_part(&debug_file).as_deref(), layout)
    }

    /// Returns the source location of the function at virtual address `offset` of the file at
    /// `path`, if it has this build id; `None` if unknown.
    pub fn of(&mut self, path: &Path, build_id: &str, offset: u64) -> Option<SourceLine> {
        let loader = self.loader(path, build_id)?;
        source_line(&loader.find_location(offset).ok()??)
    }

    /// Returns the functions that contain the instruction at virtual address `offset`, innermost
    /// first: inlined ones, then the outer one. The file is as for [`SourceLines::of`]; empty if
    /// unknown.
    pub fn frames(&mut self, path: &Path, build_id: &str, offset: u64) -> Vec<Frame> {
        let mut found = Vec::new();
        let Some(loader) = self.loader(path, build_id) else {
            return found;
        };
        let Ok(mut frames) = loader.find_frames(offset) else {
            return found;
        };
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref();
            let name = function.and_then(|function| function.raw_name().ok());
            let frame = Frame {
                function: name.map(|name| crate::demangled(&name)),
                source: frame.location.as_ref().and_then(source_line),
            };
            if frame.function.is_some() || frame.source.is_some() {
                found.push(frame);
            }
        }
        found
    }

    fn loader(&mut self, path: &Path, build_id: &str) -> Option<&Loader> {
        let file = self.with_debug_data(path, build_id)?;
        let build = (path.to_owned(), build_id.to_owned());
        let opened = self.opened.entry(build);
        opened.or_insert_with(|| open(&file)).as_ref()
    }

    /// Returns the file with the debug data of the one at `path`, which may be the same.
    fn with_debug_data(&mut self, path: &Path, build_id: &str) -> Option<PathBuf> {
        let build = (path.to_owned(), build_id.to_owned());
        if !self.with_debug_data.contains_key(&build) {
            let found = SourceLines::of_builds([(path, build_id)]);
            self.with_debug_data.extend(found.with_debug_data);
        }
        self.with_debug_data[&build].clone()
    }
}

fn source_line(location: &Location<'_>) -> Option<SourceLine> {
    Some(SourceLine {
        file: location.file?.to_owned(),
        line: location.line.filter(|&line| line > 0)?,
    })
}

fn open(file: &Path) -> Option<Loader> {
    Loader::new_with_sup(file, common_part(file)).ok()
}

/// Whether the file at `path` contains debug data; `None` if it has another build id.
fn is_build(path: &Path, build_id: &str) -> Option<bool> {
    // Without a build id, the file may not be the recorded one. A path in a trace may also be a
    // pipe, which would block its reader.
    if build_id.is_empty() || !path.is_file() {
        return None;
    }
    let cache = object::ReadCache::new(std::fs::File::open(path).ok()?);
    let object = object::File::parse(&cache).ok()?;
    let found = object.build_id().ok()??;
    let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
    let has_debug_data = object.section_by_name(".debug_info").is_some();
    (found == build_id).then_some(has_debug_data)
}

/// Returns the file with the common data of `file` and others.
fn common_part(file: &Path) -> Option<PathBuf> {
    let bytes = std::fs::File::open(file).ok()?;
    let cache = object::ReadCache::new(bytes);
    let object = object::File::parse(&cache).ok()?;
    let (name, _) = object.gnu_debugaltlink().ok()??;
    let folder = file.canonicalize().ok()?;
    let common = folder.parent()?.join(OsStr::from_bytes(name));
    common.is_file().then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const SOURCE: &str = "\n\nint price(int x) {\n  return 3 * x;\n}\nint main(void) {\n  \
                          return price(1);\n}\n";

    fn run(command: &mut Command) {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Compiles `SOURCE` in this folder with these options.
    fn compiled(folder: &Path, options: &[&str]) -> PathBuf {
        std::fs::write(folder.join("shop.c"), SOURCE).unwrap();
        let program = folder.join("shop");
        let build_id = "-Wl,--build-id=0x0a1b2c3d";
        let mut gcc = Command::new("gcc");
        let gcc = gcc.current_dir(folder).args(options);
        let gcc = gcc.args([build_id, "shop.c"]);
        run(gcc.args(["-o", "shop"]));
        program
    }

    fn line_of(program: &Path, build_id: &str, offset: u64) -> Option<u32> {
        let line = SourceLines::default().of(program, build_id, offset)?;
        assert!(line.file.ends_with("shop.c"), "{line:?}");
        Some(line.line)
    }

    #[test]
    fn lines_come_from_the_program_or_its_debug_file_of_the_same_build() {
        let folder = tempfile::tempdir().unwrap();
        let program = compiled(folder.path(), &["-g"]);
        let functions = crate::of(&program).unwrap();
        let price = functions.iter().find(|function| function.name == "price");
        let offset = price.unwrap().offset;
        assert_eq!(line_of(&program, "0a1b2c3d", offset), Some(3));
        assert_eq!(line_of(&program, "ffffffff", offset), None);
        assert_eq!(line_of(&program, "", offset), None);
        assert_eq!(line_of(&program, "0a1b2c3d", 1), None);

        let debug = folder.path().join("shop.debug");
        run(Command::new("objcopy")
            .arg("--only-keep-debug")
            .args([&program, &debug]));
        run(Command::new("strip").arg(&program));
        assert_eq!(line_of(&program, "0a1b2c3d", offset), None);
        let link = format!("--add-gnu-debuglink={}", debug.display());
        run(Command::new("objcopy").arg(link).arg(&program));
        assert_eq!(line_of(&program, "0a1b2c3d", offset), Some(3));
        let functions = crate::of(&program).unwrap();
        assert!(functions.iter().any(|function| function.name == "price"));
    }

    #[test]
    fn lines_and_functions_come_from_files_of_units() {
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            let folder = tempfile::tempdir().unwrap();
            let program = compiled(folder.path(), &[version, "-gsplit-dwarf"]);
            let functions = crate::of(&program).unwrap();
            let price = functions.iter().find(|function| function.name == "price");
            let offset = price.unwrap().offset;
            let frames = SourceLines::default().frames(&program, "0a1b2c3d", offset);
            let [frame] = &frames[..] else {
                panic!("{version}: {frames:?}");
            };
            assert_eq!(frame.function.as_deref(), Some("price"), "{version}");
            assert_eq!(frame.source.as_ref().map(|source| source.line), Some(3));
        }
    }
}
