//! The user's shell commands, told apart by what they do to the server.

use std::fmt::{Display, Formatter};

/// A shell command of the user's on a server that is ready.
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
