//! The file itself: its keys and values with their lines, and what is wrong with them.

use crate::failure::{Exit, Failure};
use rustix::fs::{Mode, OFlags};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Never taken from a file: what it overwrites or dares, the user says each time.
pub const NEVER: [&str; 5] = ["anyway", "config", "force", "help", "output"];

/// A value by its option's name.
pub struct Setting {
    /// The command whose table it stands in; `None` at the top.
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

/// Where a file is.
pub enum Place {
    /// The user said so.
    Named(PathBuf),
    /// It lay there, and must be nobody else's.
    Found(PathBuf),
}

/// What a file says.
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

    /// Finds what no command knows; `accepts` says of a table, with an empty key, and of a key
    /// whether it is known, or which are.
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

    /// What is for a command: its own table's, and those at the top that this does not have.
    pub fn settings(&self, command: &str) -> impl Iterator<Item = &Setting> {
        let own = |of: &&Setting| of.table.as_deref() == Some(command);
        let is_new = move |top: &&Setting| {
            let mut others = self.settings.iter().filter(own);
            top.table.is_none() && !others.any(|of| of.key == top.key)
        };
        let all = self.settings.iter();
        all.clone().filter(own).chain(all.filter(is_new))
    }

    /// A value that its option does not take.
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
    /// Whether a flag is set.
    pub fn flag(&self, file: &File) -> Result<bool, Failure> {
        match self.value {
            Value::Flag(is_set) => Ok(is_set),
            _ => Err(file.wrong(self, "it is true or false")),
        }
    }

    /// The values of an option, of which there may be `many`.
    pub fn values(&self, file: &File, many: bool) -> Result<Vec<String>, Failure> {
        match &self.value {
            Value::One(value) => Ok(vec![value.clone()]),
            Value::Many(values) if many => Ok(values.clone()),
            Value::Many(_) => Err(file.wrong(self, "it takes one value, no list")),
            Value::Flag(_) => Err(file.wrong(self, "it takes a value, not true or false")),
        }
    }

    /// A command and its arguments.
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

/// What may have been meant.
fn closest(name: &str, known: &[String]) -> String {
    let near = known
        .iter()
        .min_by_key(|other| strsim::levenshtein(name, other));
    match near.filter(|near| strsim::levenshtein(name, near) <= name.len().div_ceil(2)) {
        Some(near) => format!("`{near}` is the closest that there is"),
        None => "options are named as `corehop COMMAND --help` has them, without the dashes".into(),
    }
}

/// The file's text. Who owns it is asked of what was opened, not of what has its name by then.
fn text_of(path: &Path, was_found: bool) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Input, message).remedy("name a file that can be read with --config")
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let mut opened = std::fs::File::from(opened.map_err(|error| unreadable(error.into()))?);
    let metadata = opened.metadata().map_err(unreadable)?;
    let user = rustix::process::geteuid().as_raw();
    let is_own = [user, 0].contains(&metadata.uid()) && metadata.mode() & 0o022 == 0;
    if was_found && !(is_own && metadata.is_file()) {
        let message = format!("{}: another user can write it", path.display());
        return Err(Failure::new(Exit::Refused, message).remedy(
            "check it and select it with --config, or set COREHOP_CONFIG to nothing to use no file",
        ));
    }
    let mut text = String::new();
    opened.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}
