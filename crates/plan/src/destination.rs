//! Where entering a function of a plan takes a thread: to a core that the plan names, at each call
//! or at one call of a request, or to that of the object which an argument points to.
//!
//! A function that works on one of many objects has no core of its own: each object has one, which
//! the runtime gives it when it first comes (docs/reference/objects.md). The plan says which
//! argument is the object.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The most calls after which an object may get its core: as many as the runtime can count.
pub const MOST_AFTER: u32 = 3000;

/// The last call of a request that a plan may name: as far as the runtime can number them.
pub const LAST_CALL: u32 = 200;

/// Where a planned function takes a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub enum Destination {
    /// To this plan core, from 0.
    Core(u32),
    /// To the core of the object that an argument points to.
    By(By),
    /// To a plan core, at one call of each request.
    At(KthCall),
}

/// One of the calls of a function in each request, and where it takes the thread. Those that a plan
/// does not list move nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KthCall {
    /// A plan core, from 0.
    pub core: u32,
    /// Which call of the thread since it has begun the request: from 1, at most [`LAST_CALL`].
    pub call: u32,
}

/// Which object a function goes by, and from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct By {
    /// What points to it.
    pub argument: Argument,
    /// So many calls about an object leave it without a core, and their threads where they are; at
    /// most [`MOST_AFTER`].
    pub after: u32,
}

impl From<Argument> for By {
    /// From an object's first call on.
    fn from(argument: Argument) -> By {
        By { argument, after: 0 }
    }
}

impl Destination {
    /// The plan core that every call goes to; `None` where an object or the call decides.
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

/// The same as files have it: with `core` and perhaps `call`, or with `by` and perhaps `after`.
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

/// Keys that say no destination.
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

/// One of the first six integer arguments of a function, from 1: those that the System V ABI for
/// x86-64 (section 3.2.3, *Parameter Passing*) passes in the registers rdi, rsi, rdx, rcx, r8, r9.
/// In a C++ member function the object it is called on is argument 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Argument(u8);

/// A text that names no argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a register argument: write \"argument 1\" to \"argument 6\"")]
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
