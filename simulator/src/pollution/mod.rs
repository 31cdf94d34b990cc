//! Which pages are to be confined to a pollute buffer: Soares' search for them, and what it takes
//! to judge it.
//!
//! [`find_pollute_pages`] is the search, over replays of a [`crate::Prepared`];
//! [`executed_instructions`] is what misses are divided by.

mod instructions;
mod search;

pub use instructions::executed_instructions;
pub use search::{Found, Judge, Search, Tried, find_pollute_pages};
