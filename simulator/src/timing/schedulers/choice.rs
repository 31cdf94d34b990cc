//! A scheduler as written on the command line: `split`, `split-if-idle=2`.

use super::entry::Entry;
use super::free;
use super::registry::SCHEDULERS;
use std::fmt::{Debug, Display, Formatter};
use std::str::FromStr;

/// One of the [`SCHEDULERS`], with its argument if it takes one.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The scheduler.
    pub entry: &'static Entry,
    /// The argument; 0 if it takes none.
    pub argument: u32,
}

/// Why a text is not a valid scheduler.
#[derive(Debug, thiserror::Error)]
pub enum NotAScheduler {
    /// No scheduler has that name.
    #[error("unknown scheduler '{name}': use one of {known}")]
    Unknown {
        /// The given name.
        name: String,
        /// The known schedulers.
        known: String,
    },
    /// The scheduler takes no argument, or a different one.
    #[error("scheduler {name} takes {takes}, not '{given}'")]
    Argument {
        /// The scheduler.
        name: &'static str,
        /// The valid argument.
        takes: String,
        /// The given argument.
        given: String,
    },
}

/// `free`.
impl Default for Choice {
    fn default() -> Choice {
        Choice {
            entry: &free::ENTRY,
            argument: 0,
        }
    }
}

impl FromStr for Choice {
    type Err = NotAScheduler;

    fn from_str(text: &str) -> Result<Choice, NotAScheduler> {
        Choice::of(SCHEDULERS, text)
    }
}

impl Choice {
    /// Parses a text that selects one of `schedulers`.
    ///
    /// # Errors
    /// The name is unknown, or the argument is invalid.
    pub fn of(schedulers: &[&'static Entry], text: &str) -> Result<Choice, NotAScheduler> {
        let (name, given) = match text.split_once('=') {
            Some((name, given)) => (name, Some(given)),
            None => (text, None),
        };
        let entry = schedulers.iter().find(|entry| entry.name == name);
        let entry = *entry.ok_or_else(|| {
            let known: Vec<&str> = schedulers.iter().map(|entry| entry.name).collect();
            let (name, known) = (name.into(), known.join(", "));
            NotAScheduler::Unknown { name, known }
        })?;
        let argument = match (entry.argument, given) {
            (None, None) => 0,
            (Some(argument), None) => argument.default,
            (takes, Some(given)) => {
                let least = takes.map(|argument| argument.least);
                let number = given.parse().ok();
                let number = number.filter(|number| least.is_some_and(|least| *number >= least));
                number.ok_or_else(|| NotAScheduler::Argument {
                    name: entry.name,
                    takes: takes.map_or("no number".into(), |argument| {
                        format!("{}, at least {}", argument.meaning, argument.least)
                    }),
                    given: given.into(),
                })?
            }
        };
        Ok(Choice { entry, argument })
    }
}

impl Display for Choice {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self.entry.argument {
            Some(_) => write!(formatter, "{}={}", self.entry.name, self.argument),
            None => formatter.write_str(self.entry.name),
        }
    }
}

impl Debug for Choice {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_is_called_as_it_is_shown() {
        for entry in SCHEDULERS {
            let choice: Choice = entry.name.parse().unwrap();
            assert!(std::ptr::eq(choice.entry, *entry));
            let again: Choice = choice.to_string().parse().unwrap();
            assert_eq!(again.to_string(), choice.to_string());
        }
        let choice: Choice = "split-if-idle=3".parse().unwrap();
        assert_eq!(choice.to_string(), "split-if-idle=3");
    }

    #[test]
    fn what_is_no_scheduler_is_told_what_is() {
        let refused = |text: &str| text.parse::<Choice>().unwrap_err().to_string();
        assert_eq!(
            refused("fair"),
            "unknown scheduler 'fair': use one of free, pinned, split, split-if-idle, teams, wide, \
             steal, steal-random"
        );
        assert_eq!(refused("free=1"), "scheduler free takes no number, not '1'");
        let takes = "scheduler split-if-idle takes by how many threads the queue there may be \
                     longer, at least 0";
        assert_eq!(refused("split-if-idle=-1"), format!("{takes}, not '-1'"));
        assert_eq!(refused("split-if-idle="), format!("{takes}, not ''"));
    }
}
