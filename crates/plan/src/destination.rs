//! Destinations of a planned function: a core named by the plan, at each call or at one call of a
//! request, or the core of the object that an argument points to.
//!
//! A function that works on one of many objects has no fixed core. Each object has one, which the
//! runtime assigns when the object first occurs (docs/reference/objects.md). The plan names the
//! argument that is the object.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// Maximum number of calls before an object gets its core: the limit of the runtime's counter.
pub const MOST_AFTER: u32 = 3000;

/// The last call of a request that a plan may name: the limit of the runtime's numbering.
pub const LAST_CALL: u32 = 200;

/// Destination of a thread that enters a planned function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub enum Destination {
    /// This plan core, from 0.
    Core(u32),
    /// The core of the object that an argument points to.
    By(By),
    /// A plan core, at one call of each request.
    At(KthCall),
}

/// One call of a function in each request, and its destination. Calls not in the plan move no
/// thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KthCall {
    /// A plan core, from 0.
    pub core: u32,
    /// Number of the call in the thread's request: from 1, at most [`LAST_CALL`].
    pub call: u32,
}

/// The object that determines a function's core, and the call from which it does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct By {
    /// The argument that points to it.
    pub argument: Argument,
    /// Number of calls before an object gets a core, at most [`MOST_AFTER`]. These calls move no
    /// thread.
    pub after: u32,
}

impl From<Argument> for By {
    /// Returns a destination that applies from an object's first call.
    fn from(argument: Argument) -> By {
        By { argument, after: 0 }
    }
}

impl Destination {
    /// Returns the plan core of every call; `None` if it depends on an object or on the call.
    pub fn core(self) -> Option<u32> {
        match self {
            Destination::Core(core) => Some(core),
            Destination::By(_) | Destination::At(_) => None,
        }
    }
}

impl Display for Destination {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::Core(core) => write!(formatter, "core {core}"),
            Destination::By(by) => write!(formatter, "by {by}"),
            Destination::At(KthCall { core, call }) => {
                write!(formatter, "core {core} at call {call}")
            }
        }
    }
}

impl Display for By {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self.after {
            0 => write!(formatter, "{}", self.argument),
            1 => write!(formatter, "{} after 1 call", self.argument),
            after => write!(formatter, "{} after {after} calls", self.argument),
        }
    }
}

/// A destination in file format: `core` and optionally `call`, or `by` and optionally `after`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Keys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Argument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
}

/// Keys that form no valid destination.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum NoDestination {
    #[error("has `core` and `by`: keep one")]
    Both,
    #[error("has neither `core` nor `by`: add one")]
    Neither,
    #[error("has `after` without `by`: only objects get their core after calls, so take it out")]
    After,
    #[error("has `call` without `core`: objects get their core after calls, by `after`")]
    Call,
}

impl TryFrom<Keys> for Destination {
    type Error = NoDestination;

    fn try_from(keys: Keys) -> Result<Destination, NoDestination> {
        match (keys.core, keys.by) {
            (Some(_), Some(_)) => Err(NoDestination::Both),
            (None, None) => Err(NoDestination::Neither),
            (Some(_), None) if keys.after.is_some() => Err(NoDestination::After),
            (None, Some(_)) if keys.call.is_some() => Err(NoDestination::Call),
            (Some(core), None) => Ok(match keys.call {
                Some(call) => Destination::At(KthCall { core, call }),
                None => Destination::Core(core),
            }),
            (None, Some(argument)) => {
                let after = keys.after.unwrap_or(0);
                Ok(Destination::By(By { argument, after }))
            }
        }
    }
}

impl From<Destination> for Keys {
    fn from(to: Destination) -> Keys {
        let none = Keys {
            core: None,
            by: None,
            after: None,
            call: None,
        };
        match to {
            Destination::Core(core) => Keys {
                core: Some(core),
                ..none
            },
            Destination::At(KthCall { core, call }) => Keys {
                core: Some(core),
                call: Some(call),
                ..none
            },
            Destination::By(By { argument, after }) => Keys {
                by: Some(argument),
                after: Some(after).filter(|&after| after > 0),
                ..none
            },
        }
    }
}

/// One of the first six integer arguments of a function, from 1. The System V ABI for x86-64
/// (section 3.2.3, *Parameter Passing*) passes them in the registers rdi, rsi, rdx, rcx, r8, r9. In
/// a C++ member function, argument 1 is the object itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Argument(u8);

/// A text that is not an argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a register argument: write \"argument 1\" to \"argument 6\"")]
pub struct NoArgument(String);

impl Argument {
    /// All arguments, in order.
    pub const ALL: [Argument; 6] = [
        Argument(1),
        Argument(2),
        Argument(3),
        Argument(4),
        Argument(5),
        Argument(6),
    ];

    /// Returns the number of the argument, from 1.
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
