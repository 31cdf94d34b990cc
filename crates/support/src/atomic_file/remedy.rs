//! Suggests a remedy for a failed output, depending on the operating system's error.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// Returns the remedy for a failed output to `path`, as a command or an action.
pub fn remedy(path: &Path, error: &Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::collections::HashSet;

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
