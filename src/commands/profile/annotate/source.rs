//! The text of a source file, and which of its lines are printed.

use corehop_profile::SourceFile;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// Lines printed before and behind a line with figures, as `cg_annotate` does.
const CONTEXT: u32 = 8;

/// Longest file that is read: 64 MiB.
const LONGEST: u64 = 64 << 20;

/// Distance of tab stops.
const TAB: usize = 8;

/// A source file that was read.
pub struct Source {
    /// Where it was found.
    pub path: PathBuf,
    /// Without tabs and ends of lines.
    pub lines: Vec<String>,
    /// A binary with code of this file that is older than the file.
    pub older_module: Option<String>,
}

impl Source {
    /// Reads a file at its path, or in one of the folders; or returns why that is impossible.
    pub fn of(file: &SourceFile, folders: &[PathBuf]) -> Result<Source, String> {
        let path = find(Path::new(&file.path), folders).ok_or(match folders {
            [] => "no such file; name the folder with the sources by --source-dir",
            _ => "no such file, and no end of its path is in a folder of --source-dir",
        })?;
        let because = |error: std::io::Error| format!("cannot be read: {error}");
        let opened = File::open(&path).map_err(because)?;
        let changed = opened.metadata().and_then(|of| of.modified()).ok();
        let mut bytes = Vec::new();
        let read = opened.take(LONGEST + 1).read_to_end(&mut bytes);
        if read.map_err(because)? as u64 > LONGEST {
            return Err("not read, because it is longer than 64 MiB".into());
        }
        let is_older = |module: &&String| {
            let built = std::fs::metadata(module).and_then(|of| of.modified());
            is_newer(changed, built.ok())
        };
        Ok(Source {
            path,
            lines: String::from_utf8_lossy(&bytes)
                .lines()
                .map(without_tabs)
                .collect(),
            older_module: file.modules.iter().find(is_older).cloned(),
        })
    }
}

fn is_newer(time: Option<SystemTime>, than: Option<SystemTime>) -> bool {
    matches!((time, than), (Some(time), Some(than)) if time > than)
}

/// Returns the file at the path, or else at the path's longest end in one of the folders. Other
/// kinds of files might block their reader.
fn find(path: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    let names: Vec<Component<'_>> = path.components().filter(is_name).collect();
    let ends = (0..names.len()).map(|from| names[from..].iter().collect::<PathBuf>());
    let mut candidates = ends.flat_map(|end| folders.iter().map(move |folder| folder.join(&end)));
    candidates.find(|candidate| candidate.is_file())
}

/// Returns a line with spaces up to the next tab stop instead of each tab.
fn without_tabs(line: &str) -> String {
    let mut spaced = String::with_capacity(line.len());
    let mut column = 0;
    for character in line.chars() {
        let width = match character {
            '\t' => TAB - column % TAB,
            _ => 1,
        };
        match character {
            '\t' => spaced.extend(std::iter::repeat_n(' ', width)),
            character => spaced.push(character),
        }
        column += width;
    }
    spaced
}

/// Returns the parts of a file of `last` lines around these lines, which ascend.
pub fn regions(lines: impl IntoIterator<Item = u32>, last: u32) -> Vec<RangeInclusive<u32>> {
    let mut regions = Vec::<RangeInclusive<u32>>::new();
    for line in lines.into_iter().filter(|&line| line <= last) {
        let first = line.saturating_sub(CONTEXT).max(1);
        let end = line.saturating_add(CONTEXT).min(last);
        match regions.last_mut() {
            Some(before) if first <= before.end().saturating_add(1) => {
                *before = *before.start()..=end
            }
            _ => regions.push(first..=end),
        }
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_context_and_neither_overlap_nor_touch() {
        let of = |lines: &[u32], last| regions(lines.iter().copied(), last);
        assert_eq!(of(&[], 9), []);
        assert_eq!(of(&[3], 5), [1..=5]);
        assert_eq!(of(&[20], 100), [12..=28]);
        assert_eq!(of(&[20, 37], 100), [12..=45]);
        assert_eq!(of(&[20, 38], 100), [12..=28, 30..=46]);
        assert_eq!(of(&[20, 21, 99, 101], 100), [12..=29, 91..=100]);
        assert_eq!(of(&[1], 0), []);
        assert_eq!(of(&[u32::MAX], u32::MAX), [u32::MAX - 8..=u32::MAX]);
    }

    #[test]
    fn tabs_end_at_the_next_stop() {
        assert_eq!(without_tabs("\ta\tb\t"), "        a       b       ");
        assert_eq!(without_tabs("1234567\t8"), "1234567 8");
        assert_eq!(without_tabs("12345678\t9"), "12345678        9");
    }

    #[test]
    fn a_file_is_found_at_its_path_or_by_the_longest_end_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (file, content) in [("src/a.c", "long"), ("a.c", "short"), ("there.c", "there")] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), content).unwrap();
        }
        let folders = [at("nothing"), folder.path().to_owned()];
        let found = |path: &str| find(Path::new(path), &folders);
        assert_eq!(found("/build/x/src/a.c"), Some(at("src/a.c")));
        assert_eq!(found("/build/x/lib/a.c"), Some(at("a.c")));
        assert_eq!(found("/build/x/lib/b.c"), None);
        // Only names of the path count, so it leads to nothing outside.
        assert_eq!(found("/build/../../src/a.c"), Some(at("src/a.c")));
        let there = at("there.c");
        assert_eq!(find(&there, &[]), Some(there.clone()));
        // A folder is no file.
        assert_eq!(find(&at("src"), &[]), None);
    }
}
