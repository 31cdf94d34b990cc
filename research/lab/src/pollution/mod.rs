//! A pollute buffer: a part of each L2 to which pages are confined that are not used again.
//!
//! Soares ("Operating System Techniques for Reducing Processor State Pollution", thesis, Toronto
//! 2012, chapter 3) has it. [`Colours`] and [`PolluteBuffer`] say in which sets pages are, by a map
//! that replays take; [`replay_with_buffers`] and its kin replay so, and count what each page
//! misses. [`find_pollute_pages`] is the search for the pages to confine, and
//! [`executed_instructions`] what misses are divided by.

mod colours;
mod error;
mod instructions;
mod replay;
mod search;

pub use colours::{Colours, PolluteBuffer};
pub use error::{Error, TooFewColours};
pub use instructions::executed_instructions;
pub use replay::{PageUse, pages_with_buffer, prepare, replay_with_buffer, replay_with_buffers};
pub use search::{Found, Judge, Search, Tried, find_pollute_pages};
