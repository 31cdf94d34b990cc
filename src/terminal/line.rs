//! Text for people, built line by line.
//!
//! Names, commands, and notes come from files of unknown origin. Characters in them that would
//! control a terminal or end a line are escaped. Callers need no care: [`Lines`] accepts only whole
//! lines, and `console` prints nothing else.

use corehop_plan::{inert, inert_json};
use serde_json::Value;
use std::fmt::Arguments;

/// Adds a line to [`Lines`], formatted as by `println!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __line {
    ($lines:expr) => {
        $lines.push(format_args!(""))
    };
    ($lines:expr, $($format:tt)*) => {
        $lines.push(format_args!($($format)*))
    };
}

/// Lines without characters that control a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(String);

impl Lines {
    /// Returns no lines.
    pub fn new() -> Lines {
        Lines::default()
    }

    /// Returns the lines of a text.
    pub fn of_text(text: &str) -> Lines {
        let mut lines = Lines::new();
        text.lines().for_each(|line| line!(lines, "{line}"));
        lines
    }

    /// Returns a JSON value in one line.
    pub fn of_json(value: &Value) -> Lines {
        let mut lines = Lines::new();
        line!(lines, "{}", json(value));
        lines
    }

    /// Adds a line; callers use [`line!`].
    pub fn push(&mut self, line: Arguments<'_>) {
        self.0 += &inert(&line.to_string());
        self.0.push('\n');
    }

    /// Adds the lines of another text.
    pub fn append(&mut self, lines: &Lines) {
        self.0 += &lines.0;
    }

    /// Returns the text, each line with its newline.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns a JSON value as text. No string in it can control a terminal.
pub fn json(value: &Value) -> String {
    inert_json(&value.to_string()).into_owned()
}

pub use __line as line;
