//! What to do where the system does not take an output: it depends on what it said.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// What to do about an output to `path` that failed so, as a command or a thing to name.
pub fn remedy(path: &Path, error: &Error) -> String {
    let folder = match crate::atomic_file::folder_of(path) {
        here if here == Path::new(".") => "the working directory".to_owned(),
        folder => folder.display().to_string(),
    };
    match error.kind() {
        ErrorKind::PermissionDenied => format!(
            "name a place that you may write to: this user may not write to {folder}, or to \
             what has that name there"
        ),
        ErrorKind::ReadOnlyFilesystem => {
            format!("name a place elsewhere: {folder} is mounted to be read only")
        }
        ErrorKind::NotFound => format!("make the folder first: {folder} is not there"),
        ErrorKind::NotADirectory => {
            "name a place in a folder: a part of this path is none".to_owned()
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("make room in {folder}, or name a place elsewhere")
        }
        ErrorKind::FileTooLarge => {
            "raise the limit of a file's size (`ulimit -f`), or name a place elsewhere".to_owned()
        }
        ErrorKind::InvalidFilename => "name a place whose name is shorter".to_owned(),
        _ => "see what the system says above, or name a place elsewhere".to_owned(),
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
        let of_room = told.iter().filter(|said| said.contains("room"));
        assert_eq!(of_room.count(), 1, "{told:#?}");
        assert!(told[0].contains("may not write to results,"), "{}", told[0]);
        let here = remedy(Path::new("split.toml"), &Errno::ACCESS.into());
        assert!(
            here.contains("may not write to the working directory,"),
            "{here}"
        );
    }
}
