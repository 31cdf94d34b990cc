//! The words of a server's command line, which traces and scripts store as text.

use clap::builder::{OsStringValueParser, TypedValueParser};

/// A word that is not UTF-8.
#[derive(Debug, thiserror::Error)]
#[error("not UTF-8, but the command is stored as text: use a symbolic link with another name")]
struct NotText;

/// Parses a word.
pub fn word() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|word| word.into_string().map_err(|_| NotText))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn parsed(word_given: &[u8]) -> Result<String, String> {
        let words = Arg::new("command").value_parser(word());
        let given = [b"corehop", word_given].map(|word| OsString::from_vec(word.into()));
        let found = Command::new("corehop")
            .arg(words)
            .try_get_matches_from(given);
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.get_one::<String>("command").unwrap().clone())
    }

    #[test]
    fn a_word_that_is_no_text_is_named() {
        assert_eq!(parsed("Öl".as_bytes()), Ok("Öl".into()));
        let error = parsed(b"caf\xe9.conf").unwrap_err();
        assert!(
            error.contains("caf\u{fffd}.conf") && error.contains("not UTF-8"),
            "{error}"
        );
    }
}
