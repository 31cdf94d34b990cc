//! The result of one check of `corehop doctor`: its state, what was found, and the remedy.

use serde::Serialize;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Everything is available.
    Ok,
    /// Something is slower, or works in another way.
    Warn,
    /// A command cannot work.
    Missing,
}

/// What one check found.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub name: &'static str,
    pub state: State,
    /// What was found, and the consequence if it is insufficient.
    pub found: String,
    /// The command or backend that needs it.
    pub serves: &'static str,
    pub remedy: Option<String>,
}

/// A check without its result.
#[derive(Clone, Copy)]
pub struct Check {
    pub name: &'static str,
    pub serves: &'static str,
}

impl Check {
    /// Everything is available.
    pub fn ok(self, found: impl Into<String>) -> Finding {
        self.finding(State::Ok, found.into(), None)
    }

    /// Something is slower, or works in another way.
    pub fn warn(self, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(State::Warn, found.into(), Some(remedy.into()))
    }

    /// A command cannot work.
    pub fn missing(self, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(State::Missing, found.into(), Some(remedy.into()))
    }

    fn finding(self, state: State, found: String, remedy: Option<String>) -> Finding {
        let Check { name, serves } = self;
        Finding {
            name,
            state,
            found,
            serves,
            remedy,
        }
    }
}
