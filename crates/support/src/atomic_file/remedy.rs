//! Suggests a remedy for a failed output, depending on the operating system's error.

use crate::atomic_file::place::{Place, is_stream, own};
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Returns the remedy for a failed output to `path`, as a command or an action.
pub fn remedy(path: &Path, error: &Error) -> String {
    if let Some(stream) = of_stream(path) {
        return match error.kind() {
            ErrorKind::FileTooLarge => "raise the file size limit (`ulimit -f`)".to_owned(),
            _ => stream.to_owned(),
        };
    }
    let folder = match crate::atomic_file::folder_of(path) {
        here if here == Path::new(".") => "the working directory".to_owned(),
        folder => folder.display().to_string(),
    };
    match error.kind() {
        ErrorKind::PermissionDenied => format!(
            "choose a writable path: this user may not write to {folder}, or to the file of \
             that name there"
        ),
        ErrorKind::ReadOnlyFilesystem => {
            format!("choose another folder: {folder} is mounted read-only")
        }
        ErrorKind::NotFound => format!("create the folder first: {folder} does not exist"),
        ErrorKind::NotADirectory => {
            "choose another path: a part of this one is not a folder".to_owned()
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("free space in {folder}, or choose another folder")
        }
        ErrorKind::FileTooLarge => {
            "raise the file size limit (`ulimit -f`), or choose another folder".to_owned()
        }
        ErrorKind::InvalidFilename => "choose a shorter file name".to_owned(),
        _ => "see the system's message above, or choose another folder".to_owned(),
    }
}

/// Returns the remedy for a device, a pipe, or an output of this process: none has a folder.
fn of_stream(path: &Path) -> Option<&'static str> {
    match own(path) {
        Some(Place::StandardOutput) => Some("redirect standard output to a writable file"),
        Some(Place::StandardError) => Some("redirect standard error to a writable file"),
        _ => {
            let reached = path.metadata().ok()?;
            is_stream(reached.file_type()).then_some("choose a file instead of this device or pipe")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::collections::HashSet;

    #[test]
    fn what_has_no_folder_has_no_remedy_of_one() {
        let full = Errno::NOSPC.into();
        for path in ["-", "/dev/stdout", "/proc/self/fd/2", "/dev/full"] {
            let told = remedy(Path::new(path), &full);
            assert!(!told.contains("folder") && told.contains("file"), "{told}");
        }
    }

    #[test]
    fn each_kind_of_failure_has_its_own_remedy() {
        let errors = [
            Errno::ACCESS,
            Errno::ROFS,
            Errno::NOENT,
            Errno::NOTDIR,
            Errno::NOSPC,
            Errno::FBIG,
            Errno::NAMETOOLONG,
            Errno::IO,
        ];
        let path = Path::new("results/split.toml");
        let told = errors.map(|error| remedy(path, &error.into()));
        let different: HashSet<&String> = told.iter().collect();
        assert_eq!(different.len(), errors.len(), "{told:#?}");
        let of_space = told.iter().filter(|said| said.contains("space"));
        assert_eq!(of_space.count(), 1, "{told:#?}");
        assert!(told[0].contains("may not write to results,"), "{}", told[0]);
        let here = remedy(Path::new("split.toml"), &Errno::ACCESS.into());
        assert!(
            here.contains("may not write to the working directory,"),
            "{here}"
        );
    }
}
