//! Options that several commands have, each defined once.

pub mod addressing;
pub mod by_argument;
pub mod carriers;
pub mod jobs;
pub mod load_options;
pub mod machines;
pub mod new_trace;
pub mod requests;
pub mod scope;
pub mod streams;
pub mod translation;
pub mod words;
