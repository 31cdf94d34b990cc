//! Where entering a function of a plan takes a thread: to a core that the plan names, or to that of
//! the object which an argument points to.
//!
//! A function that works on one of many objects has no core of its own: each object has one, which
//! the runtime gives it when it first comes (docs/reference/objects.md). The plan says which
//! argument is the object.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// Where a planned function takes a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// To this plan core, from 0.
    Core(u32),
    /// To the core of the object that this argument points to.
    By(Argument),
}

impl Destination {
    /// The plan core; `None` where an object decides.
    pub fn core(self) -> Option<u32> {
        match self {
            Destination::Core(core) => Some(core),
            Destination::By(_) => None,
        }
    }
}

impl Display for Destination {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::Core(core) => write!(formatter, "core {core}"),
            Destination::By(argument) => write!(formatter, "by {argument}"),
        }
    }
}

/// One of the first six integer arguments of a function, from 1: those that the System V ABI for
/// x86-64 (section 3.2.3, *Parameter Passing*) passes in the registers rdi, rsi, rdx, rcx, r8, r9.
/// In a C++ member function the object it is called on is argument 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Argument(u8);

/// A text that names no argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no argument: write \"argument 1\" to \"argument 6\", those passed in registers")]
pub struct NoArgument(String);

impl Argument {
    /// All of them, in order.
    pub const ALL: [Argument; 6] = [
        Argument(1),
        Argument(2),
        Argument(3),
        Argument(4),
        Argument(5),
        Argument(6),
    ];

    /// From 1.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl Display for Argument {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "argument {}", self.0)
    }
}

impl TryFrom<String> for Argument {
    type Error = NoArgument;

    fn try_from(text: String) -> Result<Argument, NoArgument> {
        let named = Argument::ALL.into_iter().find(|a| a.to_string() == text);
        named.ok_or(NoArgument(text))
    }
}

impl From<Argument> for String {
    fn from(argument: Argument) -> String {
        argument.to_string()
    }
}
