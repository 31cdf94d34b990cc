//! A pollute buffer: a part of each L2 to which pages are confined that are not reused.
//!
//! It is from Soares ("Operating System Techniques for Reducing Processor State Pollution", thesis,
//! Toronto 2012, chapter 3). [`Colours`] and [`PolluteBuffer`] define the sets of pages by a map
//! for replays. [`replay_with_buffers`] and the related functions replay with it, and count the
//! misses of each page. [`find_pollute_pages`] searches for the pages to confine, and
//! [`executed_instructions`] is the divisor of misses.

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
