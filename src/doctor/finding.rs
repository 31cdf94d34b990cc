//! What a check of `corehop doctor` found: how it stands, what there is and how to mend it.

use serde::Serialize;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All there.
    Ok,
    /// Something works less well, or in another way.
    Warn,
    /// A command cannot work.
    Missing,
}

/// What one check found.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub name: &'static str,
    pub state: State,
    /// What there is, and where it falls short what that means.
    pub found: String,
    /// The command or backend that needs it.
    pub serves: &'static str,
    pub remedy: Option<String>,
}

/// What is looked at, before it is known how it is.
#[derive(Clone, Copy)]
pub struct Check {
    pub name: &'static str,
    pub serves: &'static str,
}

impl Check {
    /// All is there.
    pub fn ok(self, found: impl Into<String>) -> Finding {
        self.finding(State::Ok, found.into(), None)
    }

    /// Something works less well, or in another way.
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
