//! Reads a whole file into memory, if it is one that can end.
//!
//! A path may name a device that has no end (`/dev/zero`), by mistake or by a wrong variable. So a
//! text has a maximum size, whatever it comes from, and a file of any size must be a regular one.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The maximum size of a text: plans and machine files have some kilobytes.
const MOST_TEXT_BYTES: u64 = 64 << 20;

/// Reads the text at `path`, which may also be a pipe.
///
/// # Errors
/// If it cannot be read, is not UTF-8, or has more than 64 MiB.
pub fn text(path: &Path) -> Result<String> {
    text_of(File::open(path)?)
}

/// Reads the rest of an open file like [`text`].
///
/// # Errors
/// Those of [`text`].
pub fn text_of(file: File) -> Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST_TEXT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_TEXT_BYTES {
        let what = "it has more than 64 MiB, too many for such a file";
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    let invalid = |_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(bytes).map_err(invalid)
}

/// Reads the regular file at `path`.
///
/// # Errors
/// If it cannot be read, or is no regular file.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    match path.metadata()? {
        about if about.is_dir() => Err(ErrorKind::IsADirectory.into()),
        about if about.is_file() => std::fs::read(path),
        _ => Err(Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read() {
        let zero = Path::new("/dev/zero");
        assert_eq!(text(zero).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(bytes(zero).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn a_text_of_the_maximum_size_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let most = " ".repeat(MOST_TEXT_BYTES as usize);
        std::fs::write(file.path(), &most).unwrap();
        assert_eq!(text(file.path()).unwrap().len(), most.len());
    }

    #[test]
    fn other_bytes_are_no_text() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0xff]).unwrap();
        assert_eq!(
            text(file.path()).unwrap_err().kind(),
            ErrorKind::InvalidData
        );
        assert_eq!(bytes(file.path()).unwrap(), [0xff]);
    }
}
