//! Determines what the system starts for a file: the file itself, or the interpreter in its first
//! line, as in execve(2).
//!
//! Code that starts the program under another one must do this step itself. An interpreter may
//! specify a further one, and each inserts itself and its one argument before the name of the
//! script.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Number of bytes at a file's beginning that the kernel reads (BINPRM_BUF_SIZE).
const HEAD_BYTES: u64 = 256;

/// Maximum number of scripts that interpret each other.
const MOST_SCRIPTS: usize = 5;

/// What is started for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The program.
    pub program: PathBuf,
    /// The arguments before the file's own arguments: its name, and what the first line of a script
    /// has added.
    pub names: Vec<OsString>,
    /// The first bytes of the program's file.
    pub head: Vec<u8>,
}

/// Determines what is started for the file at `path`, with the name `name`.
pub fn started(path: &Path, name: OsString) -> io::Result<Started> {
    let (mut program, mut names) = (path.to_owned(), vec![name]);
    for _ in 0..MOST_SCRIPTS {
        let head = head(&program)?;
        let Some((interpreter, argument)) = interpreter(&head) else {
            return Ok(Started {
                program,
                names,
                head,
            });
        };
        names[0] = program.into();
        let before = [Some(interpreter.clone()), argument];
        names.splice(0..0, before.into_iter().flatten());
        program = interpreter.into();
    }
    Err(io::ErrorKind::TooManyLinks.into())
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    // Opening a pipe without a writer would block.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = std::fs::File::open(path)?;
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// Returns the interpreter in a file's first bytes, and its argument. Everything after the first
/// blank is one argument, including blanks.
fn interpreter(head: &[u8]) -> Option<(OsString, Option<OsString>)> {
    let line = head.strip_prefix(b"#!")?;
    let line = line.split(|&byte| byte == b'\n').next()?;
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (interpreter, argument) = line.split_at(end.unwrap_or(line.len()));
    let argument = argument.trim_ascii_start();
    let owned = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    (!interpreter.is_empty()).then(|| {
        let argument = (!argument.is_empty()).then(|| owned(argument));
        (owned(interpreter), argument)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(String, Option<String>)> {
        let (interpreter, argument) = interpreter(text.as_bytes())?;
        let text = |text: OsString| text.into_string().unwrap();
        Some((text(interpreter), argument.map(text)))
    }

    #[test]
    fn a_first_line_names_an_interpreter_and_at_most_one_argument() {
        let plain = |name: &str| Some((name.into(), None));
        assert_eq!(of("#!/bin/sh\nexec true\n"), plain("/bin/sh"));
        assert_eq!(of("#! /bin/sh"), plain("/bin/sh"));
        let both = Some(("/usr/bin/env".into(), Some("-S sh -e".into())));
        assert_eq!(of("#!/usr/bin/env  -S sh -e \nx"), both);
        for none in ["", "#!", "#! \nsh", "\u{7f}ELF", "exec sh"] {
            assert_eq!(of(none), None, "{none:?}");
        }
    }

    #[test]
    fn scripts_may_interpret_scripts_but_not_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: String| std::fs::write(at(name), text).unwrap();
        write("program", "\u{7f}ELF".into());
        write("inner", format!("#!{} -x\n", at("program").display()));
        write("outer", format!("#!{} a b\n", at("inner").display()));
        let found = started(&at("outer"), "outer".into()).unwrap();
        assert_eq!(found.program, at("program"));
        assert_eq!(found.head, b"\x7fELF");
        let (program, inner, outer) = (at("program"), at("inner"), at("outer"));
        let names = [&program, Path::new("-x"), &inner, Path::new("a b"), &outer];
        assert_eq!(found.names, names);
        write("itself", format!("#!{}\n", at("itself").display()));
        assert!(started(&at("itself"), "itself".into()).is_err());
        assert!(started(folder.path(), "folder".into()).is_err());
    }
}
