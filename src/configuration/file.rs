//! The configuration file: its keys and values with their lines, and its errors.

use crate::failure::{Exit, Failure};
use corehop_support::whole_file;
use rustix::fs::{Mode, OFlags};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Never read from a file: the user must give options that overwrite or take a risk each time.
pub const NEVER: [&str; 5] = ["anyway", "config", "force", "help", "output"];

/// A value with the name of its option.
pub struct Setting {
    /// The command of its table; `None` at the top level.
    table: Option<String>,
    pub key: String,
    value: Value,
    line: usize,
}

enum Value {
    Flag(bool),
    One(String),
    Many(Vec<String>),
}

/// Where a file was found.
pub enum Place {
    /// Given by the user.
    Named(PathBuf),
    /// Found in the working directory. It must belong to the user.
    Found(PathBuf),
}

/// The content of a file.
pub struct File {
    path: PathBuf,
    settings: Vec<Setting>,
    /// Tables and their lines.
    tables: Vec<(String, usize)>,
}

impl File {
    pub fn read(place: &Place) -> Result<File, Failure> {
        let (Place::Named(path) | Place::Found(path)) = place;
        let text = text_of(path, matches!(place, Place::Found(_)))?;
        let line_at = |place: usize| text[..place].matches('\n').count() + 1;
        let mut file = File {
            path: path.to_owned(),
            settings: Vec::new(),
            tables: Vec::new(),
        };
        let document = DeTable::parse(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_at(span.start));
            let problem = error
                .message()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            file.failure(line, &problem)
                .remedy("write TOML: `option = value`, and `[command]`")
        })?;
        for (key, value) in document.get_ref() {
            let line = line_at(key.span().start);
            match value.get_ref() {
                DeValue::Table(table) => {
                    file.tables.push((key.get_ref().to_string(), line));
                    for (option, value) in table {
                        let line = line_at(option.span().start);
                        let place = (Some(key.get_ref().to_string()), &**option.get_ref(), line);
                        file.add(place, value.get_ref())?;
                    }
                }
                value => file.add((None, key.get_ref(), line), value)?,
            }
        }
        Ok(file)
    }

    fn add(
        &mut self,
        (table, key, line): (Option<String>, &str, usize),
        value: &DeValue<'_>,
    ) -> Result<(), Failure> {
        let value = match value {
            DeValue::Boolean(is_set) => Some(Value::Flag(*is_set)),
            DeValue::Array(values) => {
                let values = values.iter().map(|value| text(value.get_ref()));
                values.collect::<Option<Vec<_>>>().map(Value::Many)
            }
            value => text(value).map(Value::One),
        };
        let Some(value) = value else {
            let problem = format!("`{key}` is neither text, a number, true or false, nor a list");
            return Err(self
                .failure(line, &problem)
                .remedy("write `option = value`"));
        };
        self.settings.push(Setting {
            table,
            key: key.to_owned(),
            value,
            line,
        });
        Ok(())
    }

    /// Fails for a table or key that is unknown to all commands. `accepts` checks a table (with an
    /// empty key) or a key; its error lists the known names.
    pub fn check(
        &self,
        accepts: impl Fn(Option<&str>, &str) -> Result<(), Vec<String>>,
    ) -> Result<(), Failure> {
        for (table, line) in &self.tables {
            if let Err(known) = accepts(Some(table), "") {
                let problem = format!("there is no command `{table}`");
                return Err(self.failure(*line, &problem).remedy(closest(table, &known)));
            }
        }
        for Setting {
            table, key, line, ..
        } in &self.settings
        {
            let Err(known) = accepts(table.as_deref(), key) else {
                continue;
            };
            let problem = match table {
                _ if NEVER.contains(&&**key) => format!("`{key}` is for the command line alone"),
                Some(table) => format!("`corehop {table}` has no option `{key}`"),
                None => format!("no command has an option `{key}`"),
            };
            return Err(self.failure(*line, &problem).remedy(closest(key, &known)));
        }
        Ok(())
    }

    /// Returns the settings of a command: those of its table, and those of the top level that the
    /// table does not override.
    pub fn settings(&self, command: &str) -> impl Iterator<Item = &Setting> {
        let own = |of: &&Setting| of.table.as_deref() == Some(command);
        let is_new = move |top: &&Setting| {
            let mut others = self.settings.iter().filter(own);
            top.table.is_none() && !others.any(|of| of.key == top.key)
        };
        let all = self.settings.iter();
        all.clone().filter(own).chain(all.filter(is_new))
    }

    /// Returns the failure for a value that its option does not accept.
    pub fn wrong(&self, setting: &Setting, problem: impl std::fmt::Display) -> Failure {
        let problem = format!("`{}`: {problem}", setting.key);
        let remedy = format!("the help of the command describes `--{}`", setting.key);
        self.failure(setting.line, &problem).remedy(remedy)
    }

    fn failure(&self, line: usize, problem: &str) -> crate::failure::Unexplained {
        Failure::new(
            Exit::Input,
            format!("{}:{line}: {problem}", self.path.display()),
        )
    }
}

impl Setting {
    /// Returns whether a flag is set.
    pub fn flag(&self, file: &File) -> Result<bool, Failure> {
        match self.value {
            Value::Flag(is_set) => Ok(is_set),
            _ => Err(file.wrong(self, "it is true or false")),
        }
    }

    /// Returns the values of an option. `many` states whether it accepts several.
    pub fn values(&self, file: &File, many: bool) -> Result<Vec<String>, Failure> {
        match &self.value {
            Value::One(value) => Ok(vec![value.clone()]),
            Value::Many(values) if many => Ok(values.clone()),
            Value::Many(_) => Err(file.wrong(self, "it takes one value, no list")),
            Value::Flag(_) => Err(file.wrong(self, "it takes a value, not true or false")),
        }
    }

    /// Returns a command and its arguments.
    pub fn words(&self, file: &File) -> Result<Vec<std::ffi::OsString>, Failure> {
        match &self.value {
            Value::Many(words) if !words.is_empty() => Ok(words.iter().map(Into::into).collect()),
            _ => Err(file.wrong(self, "it is a list: the program and its arguments")),
        }
    }
}

fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Suggests the closest known name.
fn closest(name: &str, known: &[String]) -> String {
    let near = known
        .iter()
        .min_by_key(|other| strsim::levenshtein(name, other));
    match near.filter(|near| strsim::levenshtein(name, near) <= name.len().div_ceil(2)) {
        Some(near) => format!("`{near}` is the closest that there is"),
        None => "options are named as `corehop COMMAND --help` has them, without the dashes".into(),
    }
}

/// Returns the text of the file. It checks the owner of the opened file, not of its path, which may
/// name another file by then.
fn text_of(path: &Path, was_found: bool) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Input, message).remedy("name a file that can be read with --config")
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let opened = std::fs::File::from(opened.map_err(|error| unreadable(error.into()))?);
    let metadata = opened.metadata().map_err(unreadable)?;
    let user = rustix::process::geteuid().as_raw();
    let is_own = [user, 0].contains(&metadata.uid()) && metadata.mode() & 0o022 == 0;
    if was_found && !(is_own && metadata.is_file()) {
        let message = format!("{}: another user can write it", path.display());
        return Err(Failure::new(Exit::Refused, message).remedy(
            "check it and select it with --config, or set COREHOP_CONFIG to nothing to use no file",
        ));
    }
    whole_file::text_of(opened).map_err(unreadable)
}
