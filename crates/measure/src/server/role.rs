//! Roles of the user's shell commands.

use std::fmt::{Display, Formatter};

/// Role of a user's shell command that runs on a ready server.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// It puts the server under load.
    Load,
    /// It fills the server with data.
    Preparation,
}

impl Display for Role {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Role::Load => "load",
            Role::Preparation => "preparation",
        })
    }
}
