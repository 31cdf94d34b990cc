//! Resolves the user's request marker to a place in a file, unless the server's system calls or a
//! no-op in its code mark requests.
//!
//! A name is searched as the linker symbol first, then as the whole demangled name, then as its
//! last parts (`dispatch_command`, `Protocol::end_statement`). The first kind with a match counts.
//! A name that matches several functions is rejected, because requests would be miscounted. So is
//! the name of an indirect function: the code at its address selects an implementation, and only
//! the loader calls it.

use super::binary::Binary;
use super::program::Program;
use corehop_symbolizer::{self as symbols, Symbol};
use corehop_traces::function_name::{ends_in, is_same, module_and_name, without_parameters};
use corehop_wire::ring::RequestMarker;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Why the place where requests begin was not found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The functions of the module could not be read.
    #[error(transparent)]
    Symbols(#[from] symbols::Error),
    /// The module is not a program or library.
    #[error("--request-at: {path} is not an x86-64 ELF file")]
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// The module has no code at the offset.
    #[error("--request-at: {path} has no code at {offset:#x}")]
    NoCode {
        /// The module.
        path: PathBuf,
        /// The virtual address.
        offset: u64,
    },
    /// The number of a no-op is none.
    #[error("--request-at: {text} has no number from 0 to 65535 after the colon")]
    NoNumber {
        /// The marker.
        text: String,
    },
    /// The module does not exist.
    #[error("--request-at: there is no module {module:?}")]
    NoModule {
        /// Its name.
        module: String,
    },
    /// The module has no such function.
    #[error("--request-at: {path} has no function named {name:?}")]
    Unknown {
        /// The module.
        path: PathBuf,
        /// The name.
        name: String,
        /// Similar names.
        close: Vec<String>,
    },
    /// Several functions have the name.
    #[error("--request-at: {name:?} is ambiguous in {path}")]
    Ambiguous {
        /// The module.
        path: PathBuf,
        /// The name.
        name: String,
        /// The functions, each in an unambiguous form.
        choices: Vec<String>,
    },
    /// Only the loader calls this code.
    #[error(
        "--request-at: {name:?} of {path} is an indirect function (ifunc): only the loader calls \
         the code there, to choose an implementation"
    )]
    Indirect {
        /// The module.
        path: PathBuf,
        /// The requested name.
        name: String,
        /// The implementations, each in an unambiguous form.
        choices: Vec<String>,
    },
}

impl Error {
    /// Returns what the user can do; `None` if the symbolizer's error includes it.
    pub fn remedy(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Error::Symbols(_) => return None,
            Error::NotElf { .. } => "name the server's program or a library of it".into(),
            Error::NoCode { .. } => {
                "offsets are virtual addresses in the ELF file, as `nm` prints them".into()
            }
            Error::NoNumber { .. } => {
                "name the number that the server's no-ops have, or `magic` for all".into()
            }
            Error::NoModule { .. } => "name the module by its path".into(),
            Error::Unknown { close, .. } if close.is_empty() => {
                "name it as MODULE+0xOFFSET, or as PROGRAM:NAME where the command starts another \
                 program that has it"
                    .into()
            }
            Error::Unknown { close, .. } => format!("did you mean {}?", close.join(", ")).into(),
            Error::Ambiguous { .. } => "name one of:".into(),
            Error::Indirect { choices, .. } if choices.is_empty() => {
                "name the implementation that serves requests, as MODULE:NAME or MODULE+0xOFFSET"
                    .into()
            }
            Error::Indirect { .. } => {
                "name one of these implementations; under QEMU, the loader may select another one \
                 than on this CPU:"
                    .into()
            }
        })
    }
}

/// Resolves `text` (`NAME`, `MODULE:NAME`, `MODULE+0xOFFSET`, `syscalls`, `magic` or `magic:ID`)
/// for the server `program`.
pub fn resolve(text: &str, program: &Program) -> Result<RequestMarker, Error> {
    match text {
        "syscalls" => return Ok(RequestMarker::SystemCalls),
        "magic" => return Ok(RequestMarker::NoOp { number: None }),
        _ => {}
    }
    if let Some(number) = text.strip_prefix("magic:") {
        let invalid = |_| Error::NoNumber { text: text.into() };
        let number = Some(number.parse().map_err(invalid)?);
        return Ok(RequestMarker::NoOp { number });
    }
    if let Some((module, offset)) = text.rsplit_once("+0x")
        && let Ok(offset) = u64::from_str_radix(offset, 16)
    {
        let file = File::of(module_path(module, program)?, program);
        check_called(text, &file, offset, || symbols::of(&file.path))?;
        return at_offset(file, offset);
    }
    let (path, name) = match module_and_name(text) {
        Some((module, name)) => (module_path(module, program)?, name),
        None => (program.resolved.clone(), text),
    };
    let file = File::of(path, program);
    let functions = symbols::of(&file.path)?;
    let offset = offset_of(name, &functions).map_err(|problem| problem.of(name, &file.shown))?;
    check_called(name, &file, offset, || Ok(functions))?;
    at_offset(file, offset)
}

/// The file of a module.
struct File {
    /// Its path when mapped.
    path: PathBuf,
    /// Its path in messages.
    shown: PathBuf,
}

impl File {
    fn of(path: PathBuf, program: &Program) -> File {
        let shown = match path == program.resolved {
            true => program.shown(),
            false => path.clone(),
        };
        File { path, shown }
    }
}

/// Rejects the entry of an indirect function, which no request enters.
fn check_called(
    name: &str,
    file: &File,
    offset: u64,
    functions: impl FnOnce() -> Result<Vec<Symbol>, symbols::Error>,
) -> Result<(), Error> {
    // A file that is not ELF is rejected when the offset is looked up.
    let Ok(Some(entries)) = corehop_patcher::implementations(&file.path, offset) else {
        return Ok(());
    };
    let functions = functions().unwrap_or_default();
    let name_at = |entry: u64| {
        let place = functions.binary_search_by_key(&entry, |function| function.offset);
        place.map_or("", |place| &functions[place].name)
    };
    let lines = entries
        .iter()
        .map(|&entry| line_of(&file.shown, entry, name_at(entry)));
    Err(Error::Indirect {
        path: file.shown.clone(),
        name: name.into(),
        choices: lines.collect(),
    })
}

/// Returns a line with the unambiguous form of a function and its name.
fn line_of(path: &Path, offset: u64, name: &str) -> String {
    let module = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{module}+{offset:#x}  {name}")
        .trim_end()
        .to_owned()
}

fn at_offset(file: File, offset: u64) -> Result<RequestMarker, Error> {
    let Ok(binary) = Binary::read(&file.path) else {
        return Err(Error::NotElf { path: file.shown });
    };
    let Some(file_offset) = binary.file_offset(offset) else {
        return Err(Error::NoCode {
            path: file.shown,
            offset,
        });
    };
    let path = file.path.to_string_lossy().into_owned();
    Ok(RequestMarker::At { path, file_offset })
}

/// Returns the file for `module`: the program itself, a path, a library in the loader's folders, or
/// a program in PATH, which the first one may execute.
fn module_path(module: &str, program: &Program) -> Result<PathBuf, Error> {
    let named = |path: &Path| path.file_name().is_some_and(|name| name == module);
    if named(&program.resolved) || named(&program.path) {
        return Ok(program.resolved.clone());
    }
    let folders = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let standard = [
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/usr/local/lib",
    ];
    let candidates: Vec<PathBuf> = match module.contains('/') {
        true => vec![module.into()],
        false => folders
            .split(':')
            .filter(|folder| !folder.is_empty())
            .chain(standard)
            .map(|folder| Path::new(folder).join(module))
            .collect(),
    };
    let found = candidates.iter().find_map(|path| path.canonicalize().ok());
    let in_path = || {
        corehop_support::processes::find(module.as_ref())
            .ok()?
            .canonicalize()
            .ok()
    };
    found.or_else(in_path).ok_or_else(|| Error::NoModule {
        module: module.into(),
    })
}

#[derive(Debug)]
enum Problem<'a> {
    /// The most similar names.
    Unknown(Vec<&'a str>),
    Ambiguous(Vec<&'a Symbol>),
}

impl Problem<'_> {
    /// Converts this to the error for a function `name` of the file at `path`.
    fn of(self, name: &str, path: &Path) -> Error {
        let (name, file) = (name.to_owned(), path.to_owned());
        match self {
            Problem::Unknown(close) => Error::Unknown {
                path: file,
                name,
                close: close.into_iter().map(str::to_owned).collect(),
            },
            Problem::Ambiguous(choices) => {
                let lines = choices
                    .iter()
                    .map(|function| line_of(path, function.offset, &function.name));
                Error::Ambiguous {
                    path: file,
                    name,
                    choices: lines.collect(),
                }
            }
        }
    }
}

fn offset_of<'a>(name: &str, functions: &'a [Symbol]) -> Result<u64, Problem<'a>> {
    let is_symbol = |f: &Symbol| f.symbol == name || f.aliases.iter().any(|alias| alias == name);
    let is_name = |f: &Symbol| is_same(&f.name, name);
    let is_base = |f: &Symbol| ends_in(&f.name, name);
    let kinds: [&dyn Fn(&Symbol) -> bool; 3] = [&is_symbol, &is_name, &is_base];
    for is_match in kinds {
        let matches: Vec<&Symbol> = functions.iter().filter(|f| is_match(f)).collect();
        match matches[..] {
            [] => {}
            [only] => return Ok(only.offset),
            _ => return Err(Problem::Ambiguous(matches)),
        }
    }
    Err(Problem::Unknown(closest(name, functions)))
}

/// Returns the three most similar names, if they are similar at all or have the same beginning.
fn closest<'a>(name: &str, functions: &'a [Symbol]) -> Vec<&'a str> {
    const FAR: usize = 4;
    let last = |name: &'a str| {
        let base = without_parameters(name);
        base.rsplit("::").next().unwrap_or(base)
    };
    let distance = |base: &str| match strsim::levenshtein(name, base) {
        distance if distance < FAR && distance < name.len() => Some(distance),
        _ => base.starts_with(name).then_some(FAR),
    };
    let mut candidates: Vec<(usize, &str)> = functions
        .iter()
        .map(|function| last(&function.name))
        .filter_map(|base| Some((distance(base)?, base)))
        .collect();
    candidates.sort_unstable();
    candidates.dedup();
    candidates.iter().take(3).map(|(_, base)| *base).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(offset: u64, symbol: &str, name: &str) -> Symbol {
        Symbol {
            offset,
            size: 16,
            symbol: symbol.into(),
            name: name.into(),
            aliases: Vec::new(),
        }
    }

    fn functions() -> Vec<Symbol> {
        vec![
            function(1, "_Z16dispatch_commandP3THD", "dispatch_command(THD*)"),
            function(2, "_ZN2ns3runEPFviE", "ns::run(void (*)(int))"),
            function(3, "_ZN2on3runEv", "on::run() const"),
            function(4, "run", "run"),
            function(5, "_ZN12_GLOBAL__N_13getEv", "(anonymous namespace)::get()"),
        ]
    }

    #[test]
    fn a_function_is_found_by_symbol_demangled_name_or_base_name() {
        let functions = functions();
        let found = |name| offset_of(name, &functions).ok();
        assert_eq!(found("_Z16dispatch_commandP3THD"), Some(1));
        assert_eq!(found("dispatch_command(THD*)"), Some(1));
        assert_eq!(found("dispatch_command"), Some(1));
        assert_eq!(found("ns::run"), Some(2));
        assert_eq!(found("run"), Some(4));
        assert_eq!(found("get"), Some(5));
    }

    #[test]
    fn a_base_name_of_two_functions_is_ambiguous() {
        let functions = &functions()[..3];
        let Err(Problem::Ambiguous(choices)) = offset_of("run", functions) else {
            panic!("found one");
        };
        assert_eq!(choices.iter().map(|f| f.offset).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn an_unknown_name_comes_with_close_ones() {
        let functions = functions();
        let Err(Problem::Unknown(close)) = offset_of("dispatch_comand", &functions) else {
            panic!("found one");
        };
        assert_eq!(close, ["dispatch_command"]);
        let Err(Problem::Unknown(close)) = offset_of("dispatch", &functions) else {
            panic!("a beginning is not a name");
        };
        assert_eq!(close, ["dispatch_command"]);
    }
}
