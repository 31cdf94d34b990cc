//! Selects the files of the guest: the files that the commands name, and what these need to load.
//!
//! A word of a command is copied if it is the path of a file, alone or after `=`. So is a program
//! in PATH with that name, with the libraries that its loader lists and a script's interpreter.
//! Links are copied with their targets. A folder is created empty: other files that a server needs
//! are given with `--copy`, at their own paths, or are in the folder of `--rootfs`. Rejected:
//! observing which files a server opens, because that requires a run outside the guest.

use super::error::Error;
use crate::binaries::binary::Binary;
use crate::binaries::linked;
use crate::binaries::program::Program;
use corehop_support::processes::{installed, started};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// An entry of the guest's file system.
pub enum Entry {
    /// A folder like this one, but empty.
    Folder(PathBuf),
    Link(PathBuf),
    /// A file with the contents of this one.
    File(PathBuf),
}

/// All files, by their paths in the guest.
pub struct Files {
    entries: BTreeMap<PathBuf, Entry>,
}

/// Code of a file: its offset, its length in bytes, and the host's path.
pub type Code = (u64, u64, PathBuf);

/// Maximum number of links in a path, as in the kernel.
const MOST_LINKS: usize = 40;

/// Files that programs read by default.
const IN_ANY_CASE: [&str; 5] = [
    "/etc/passwd",
    "/etc/group",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ld.so.cache",
];

/// The kernel's own folders in the guest.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

impl Files {
    /// Returns the working folder, the user database and the library folders.
    pub fn new() -> Files {
        let mut files = Files::none();
        if let Ok(folder) = std::env::current_dir() {
            let _ = files.copy(&folder);
        }
        for path in IN_ANY_CASE {
            let _ = files.copy(Path::new(path));
        }
        files
    }

    /// Returns an empty set.
    pub fn none() -> Files {
        Files {
            entries: BTreeMap::new(),
        }
    }

    /// Returns all entries in order, folders before their contents.
    pub fn entries(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        let entries = self.entries.iter();
        entries.map(|(path, entry)| (path.as_path(), entry))
    }

    /// Returns the code of all programs and libraries.
    pub fn code(&self) -> Vec<Code> {
        let files = self.entries.values().filter_map(|entry| match entry {
            Entry::File(path) => Some(path),
            _ => None,
        });
        let code = files.filter_map(|path| Some((path, Binary::read(path).ok()?)));
        let code = code.flat_map(|(path, binary)| {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            let segments = binary.code_in_file();
            segments
                .map(move |(offset, bytes)| (offset, bytes, path.clone()))
                .collect::<Vec<_>>()
        });
        code.collect()
    }

    /// Adds the server, and the files in its arguments.
    pub fn take_command(&mut self, program: &Program, command: &[String]) -> Result<(), Error> {
        self.take(&program.path)?;
        for argument in &program.arguments {
            self.take_word(&argument.to_string_lossy())?;
        }
        for word in command {
            self.take_word(word)?;
        }
        Ok(())
    }

    /// Adds the files in the words of a shell command.
    pub fn take_shell_command(&mut self, command: &str) -> Result<(), Error> {
        if let Some(shell) = installed("sh".as_ref()) {
            self.take(&shell)?;
        }
        self.take_words(command)
    }

    fn take_words(&mut self, command: &str) -> Result<(), Error> {
        let quotes = |letter: char| letter.is_whitespace() || "'\"`;|&()<>$".contains(letter);
        for word in command.split(quotes).filter(|word| !word.is_empty()) {
            self.take_word(word)?;
        }
        Ok(())
    }

    fn take_word(&mut self, word: &str) -> Result<(), Error> {
        if word.contains(char::is_whitespace) {
            return self.take_words(word);
        }
        let value = word.split_once('=').map(|(_, value)| value);
        for path in [Some(word), value].into_iter().flatten() {
            if !path.is_empty() && Path::new(path).exists() {
                self.take(Path::new(path))?;
            }
        }
        let is_name = !word.contains('/') && !word.starts_with('-');
        match installed(word.as_ref()).filter(|_| is_name) {
            Some(program) => self.take(&program),
            None => Ok(()),
        }
    }

    /// Adds one file, with its libraries or its interpreter.
    pub fn take(&mut self, path: &Path) -> Result<(), Error> {
        let path = &std::path::absolute(path).map_err(Error::of_file(path))?;
        if OF_THE_KERNEL.iter().any(|folder| path.starts_with(folder)) {
            return Ok(());
        }
        let is_new = self.copy(path).map_err(Error::of_file(path))?;
        if !is_new || !path.is_file() {
            return Ok(());
        }
        if let Ok(binary) = Binary::read(path) {
            let loader = binary.loader.into_iter();
            for file in linked::listed_by_loader(path).into_iter().chain(loader) {
                self.copy(&file).map_err(Error::of_file(&file))?;
            }
        } else if let Ok(started) = started(path, OsString::new())
            && started.program != *path
        {
            self.take(&started.program)?;
        }
        Ok(())
    }

    /// Adds a file like [`Files::take`], or a folder with all its contents.
    pub fn take_whole(&mut self, path: &Path) -> Result<(), Error> {
        // Links do not count as folders here, so this loop ends.
        let mut left = vec![path.canonicalize().map_err(Error::of_file(path))?];
        self.take(path)?;
        while let Some(path) = left.pop() {
            self.take(&path)?;
            if path.is_dir() && !path.is_symlink() {
                left.extend(listed(&path)?);
            }
        }
        Ok(())
    }

    /// Adds the contents of a folder as the guest's root.
    pub fn take_root(&mut self, folder: &Path) -> Result<(), Error> {
        let mut folders = vec![folder.to_owned()];
        while let Some(from) = folders.pop() {
            for path in listed(&from)? {
                let metadata = path.symlink_metadata().map_err(Error::of_file(&path))?;
                let within = path.strip_prefix(folder).unwrap_or(&path);
                let name = Path::new("/").join(within);
                let entry = if metadata.is_symlink() {
                    Entry::Link(path.read_link().map_err(Error::of_file(&path))?)
                } else if metadata.is_dir() {
                    folders.push(path.clone());
                    Entry::Folder(path)
                } else if metadata.is_file() {
                    Entry::File(path)
                } else {
                    continue;
                };
                self.entries.insert(name, entry);
            }
        }
        Ok(())
    }

    /// Copies a file, or a folder without its contents, and all links and folders in its path.
    /// Returns whether it is new.
    fn copy(&mut self, path: &Path) -> io::Result<bool> {
        let mut place = PathBuf::from("/");
        let mut rest: VecDeque<OsString> = parts_of(path);
        let (mut links, mut is_new) = (0, false);
        while let Some(part) = rest.pop_front() {
            if part == ".." {
                place.pop();
                continue;
            }
            let next = place.join(part);
            let metadata = next.symlink_metadata()?;
            let entry = if metadata.is_symlink() {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other("too many links"));
                }
                let target = next.read_link()?;
                if target.is_absolute() {
                    place = PathBuf::from("/");
                }
                for part in parts_of(&target).into_iter().rev() {
                    rest.push_front(part);
                }
                Entry::Link(target)
            } else {
                place.clone_from(&next);
                match metadata.is_dir() {
                    true => Entry::Folder(next.clone()),
                    false if metadata.is_file() => Entry::File(next.clone()),
                    // Sockets and pipes are created by their users.
                    false => return Ok(false),
                }
            };
            is_new = self.entries.insert(next, entry).is_none();
        }
        Ok(is_new)
    }
}

/// Returns the contents of a folder.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect()
    });
    entries.map_err(Error::of_file(folder))
}

/// Returns the names in a path, without the root.
fn parts_of(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_program_comes_with_its_libraries_and_all_links_on_the_way() {
        let mut files = Files::new();
        files.take_word("sh").unwrap();
        let has = |path: &str| files.entries.contains_key(Path::new(path));
        assert!(has("/etc/passwd"));
        let shell = installed("sh".as_ref()).unwrap().canonicalize().unwrap();
        assert!(files.entries.contains_key(&shell));
        let libc = files
            .entries
            .keys()
            .filter(|path| path.ends_with("libc.so.6"));
        assert_eq!(libc.count(), 1);
        assert!(!files.code().is_empty());
    }

    #[test]
    fn words_name_files_folders_and_the_values_of_options() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        std::fs::write(path.join("file"), "x").unwrap();
        symlink("file", path.join("link")).unwrap();
        std::fs::create_dir(path.join("data")).unwrap();
        std::fs::write(path.join("data/inside"), "x").unwrap();
        let mut files = Files::new();
        let shown = path.display();
        files
            .take_words(&format!(
                "cat --in={shown}/link '{shown}/data' {shown}/none"
            ))
            .unwrap();
        let has = |name: &str| files.entries.contains_key(&path.join(name));
        assert!(has("file") && has("link") && has("data"));
        assert!(!has("data/inside") && !has("none"));
    }

    #[test]
    fn a_folder_to_copy_is_taken_with_all_that_its_links_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        for name in ["data/inside", "elsewhere"] {
            std::fs::create_dir_all(path.join(name)).unwrap();
        }
        std::fs::write(path.join("data/inside/file"), "x").unwrap();
        std::fs::write(path.join("elsewhere/other"), "x").unwrap();
        symlink("../elsewhere/other", path.join("data/link")).unwrap();
        symlink("..", path.join("data/inside/circle")).unwrap();
        let mut files = Files::none();
        files.take_whole(&path.join("data")).unwrap();
        let has = |name: &str| files.entries.contains_key(&path.join(name));
        assert!(has("data/inside/file") && has("data/link") && has("elsewhere/other"));
        assert!(has("data/inside/circle"));
        let missing = files.take_whole(&path.join("none")).unwrap_err();
        assert!(missing.to_string().contains("/none: No such file"));
    }

    #[test]
    fn a_root_is_taken_whole() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("srv/data")).unwrap();
        std::fs::write(folder.path().join("srv/data/one"), "x").unwrap();
        symlink("one", folder.path().join("srv/data/two")).unwrap();
        let mut files = Files::new();
        files.take_root(folder.path()).unwrap();
        let has = |name: &str| files.entries.contains_key(Path::new(name));
        assert!(has("/srv") && has("/srv/data/one") && has("/srv/data/two"));
        assert!(files.take_root(&folder.path().join("none")).is_err());
    }
}
