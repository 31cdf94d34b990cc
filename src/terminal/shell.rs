//! Words of commands that corehop prints, as a shell reads them.

/// Quotes a word for a shell, only if necessary. A word of a command line contains no NUL, which
/// shells do not accept.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+=:,/@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    shlex::try_quote(word).map_or_else(|_| word.into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_shells_read_them() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("--save=~"), "'--save=~'");
        assert_eq!(quoted("glibc.pthread.rseq=0"), "glibc.pthread.rseq=0");
    }
}
