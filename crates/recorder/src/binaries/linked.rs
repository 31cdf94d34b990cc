//! The libraries that a program is loaded with, listed by its own loader.
//!
//! `corehop run` and `optimize` install hooks before main(), so they reach these libraries, but not
//! files that a server loads later. Only the loader can resolve the files: that depends on caches,
//! run paths and the environment. So it is run as ldd does; it lists them and runs no code of the
//! program. Rejected: treating files mapped before main() as linked, because the plugin sees a file
//! when its code is first executed, which may be much later for a library.

use super::binary::Binary;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the libraries' files, with links resolved. Empty for a static program, if the loader
/// fails, or if users other than this one and root can write it: a server may execute files of
/// another user.
pub fn libraries_of(program: &Path) -> Vec<PathBuf> {
    let listed = listed_by_loader(program).into_iter();
    listed.filter_map(|file| file.canonicalize().ok()).collect()
}

/// Returns the same files by the loader's names.
pub fn listed_by_loader(program: &Path) -> Vec<PathBuf> {
    let Some(loader) = Binary::read(program).ok().and_then(|binary| binary.loader) else {
        return Vec::new();
    };
    if !is_trusted(&loader) {
        return Vec::new();
    }
    let mut list = Command::new(loader);
    list.arg("--list").arg(program);
    let Ok(listed) = list.stdin(Stdio::null()).stderr(Stdio::null()).output() else {
        return Vec::new();
    };
    let lines = listed.stdout.split(|&byte| byte == b'\n');
    lines.filter_map(file_in).collect()
}

/// Whether only root and this user can write a file.
fn is_trusted(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    path.metadata().is_ok_and(|file| {
        let is_writable_by_others = file.mode() & 0o022 != 0;
        [0, user].contains(&file.uid()) && !is_writable_by_others
    })
}

/// Returns the file in a line such as `libz.so.1 => /lib/libz.so.1 (0x7f2a1c000000)`.
fn file_in(line: &[u8]) -> Option<PathBuf> {
    let line = OsStr::from_bytes(line).to_str()?.trim();
    let (before, _) = line.rsplit_once(" (0x")?;
    let file = before.split_once(" => ").map_or(before, |(_, file)| file);
    file.starts_with('/').then(|| file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_line_of_the_loader_names_a_file() {
        let of = |line: &str| file_in(line.as_bytes());
        let z = Some(PathBuf::from("/lib/z 1/libz.so.1"));
        assert_eq!(
            of("\tlibz.so.1 => /lib/z 1/libz.so.1 (0x00007f2a1c000000)"),
            z
        );
        assert_eq!(of("\t/lib64/ld.so (0x1)"), Some("/lib64/ld.so".into()));
        assert_eq!(of("\tlinux-vdso.so.1 (0x00007ffc2d7f2000)"), None);
        assert_eq!(of("\tlibz.so.1 => not found"), None);
        assert_eq!(of("\tstatically linked"), None);
    }

    #[test]
    fn a_loader_that_anybody_can_write_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loader");
        std::fs::write(&path, "").unwrap();
        for (mode, trusted) in [(0o755, true), (0o775, false), (0o757, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_trusted(&path), trusted, "{mode:o}");
        }
        assert!(!is_trusted(&folder.path().join("none")));
    }

    #[test]
    fn this_test_is_linked_to_libc() {
        let own = std::env::current_exe().unwrap();
        let found = libraries_of(&own);
        let is_libc = |file: &PathBuf| file.to_string_lossy().contains("libc");
        assert!(found.iter().any(is_libc), "{found:?}");
        assert!(
            found
                .iter()
                .all(|file| file.is_absolute() && !file.is_symlink())
        );
        assert_eq!(
            libraries_of("/no/such/program".as_ref()),
            Vec::<PathBuf>::new()
        );
    }
}
