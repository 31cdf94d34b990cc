//! A function that the user names as an allocator.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Most arguments that are passed in registers (System V ABI, section 3.2.3).
const ARGUMENTS: u8 = 6;

/// A function that returns a new object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocator {
    function: String,
    /// The argument that is the size in bytes, from 1.
    argument: u8,
}

/// The text names no allocator.
#[derive(Debug, thiserror::Error)]
pub enum NoAllocator {
    /// No symbol is like that.
    #[error("not FUNCTION or FUNCTION:ARGUMENT, e.g. zmalloc or pool_get:2")]
    Function,
    /// No such argument is in a register.
    #[error("the argument with the size is a number from 1 to {ARGUMENTS}")]
    Argument,
}

impl FromStr for Allocator {
    type Err = NoAllocator;

    fn from_str(text: &str) -> Result<Allocator, NoAllocator> {
        let (function, argument) = match text.split_once(':') {
            Some((function, argument)) => (function, argument.parse().ok()),
            None => (text, Some(1)),
        };
        // A symbol of C or C++: the plugin's arguments have commas and slashes between them.
        let is_of_symbol = |one: u8| one.is_ascii_alphanumeric() || b"_.$@".contains(&one);
        if function.is_empty() || !function.bytes().all(is_of_symbol) {
            return Err(NoAllocator::Function);
        }
        let argument = argument.filter(|argument| (1..=ARGUMENTS).contains(argument));
        Ok(Allocator {
            function: function.into(),
            argument: argument.ok_or(NoAllocator::Argument)?,
        })
    }
}

/// As the plugin parses it.
impl Display for Allocator {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.function, self.argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_its_size_in_the_first_argument_or_the_named_one() {
        let read = |text: &str| text.parse::<Allocator>().map(|one| one.to_string()).ok();
        assert_eq!(read("zmalloc").as_deref(), Some("zmalloc:1"));
        assert_eq!(read("pool_get:6").as_deref(), Some("pool_get:6"));
        for wrong in ["", ":1", "a,b", "a/b", "a b", "x:0", "x:7", "x:y", "x:1:2"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
