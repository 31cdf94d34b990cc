//! Text for people, a line at a time.
//!
//! Names, commands and notes come from files that may be anybody's, and whatever of them would act
//! on a terminal or end a line is shown as an escape. Nobody has to think of it: [`Lines`] takes
//! whole lines only, and `voice` prints nothing else.

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

/// Lines that do nothing to a terminal but stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(String);

impl Lines {
    /// None.
    pub fn new() -> Lines {
        Lines::default()
    }

    /// The lines of a text that has its own.
    pub fn of_text(text: &str) -> Lines {
        let mut lines = Lines::new();
        text.lines().for_each(|line| line!(lines, "{line}"));
        lines
    }

    /// A JSON value, on a line.
    pub fn of_json(value: &Value) -> Lines {
        let mut lines = Lines::new();
        line!(lines, "{}", json(value));
        lines
    }

    /// Adds a line; [`line!`] is the way to do it.
    pub fn push(&mut self, line: Arguments<'_>) {
        self.0 += &inert(&line.to_string());
        self.0.push('\n');
    }

    /// Adds the lines of another text.
    pub fn append(&mut self, lines: &Lines) {
        self.0 += &lines.0;
    }

    /// The text, each line with its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A JSON value as text, in which no string acts on a terminal either.
pub fn json(value: &Value) -> String {
    inert_json(&value.to_string()).into_owned()
}

pub use __line as line;
