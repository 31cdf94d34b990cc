//! What-ifs: the same replay with another layout of data, other page sizes, or another machine.
//!
//! Each changed object moves to addresses that the trace never uses, in its new layout: with padded
//! elements, another alignment, members in a second array, other sets, or behind another object.
//! Every other address stays, so the difference is the effect of the change alone. A linker would
//! also shift what follows an object; such shifts change few misses, and no source promises them.
//! The replay itself is exact: each load and store is made at its new address, in the recorded
//! order, and an access whose bytes the change separates becomes one access for each part.
//!
//! `file` reads a what-if, `resolved` finds its objects and checks it, `layout` computes the new
//! addresses, `free` finds unused ones, `machine` changes the machine, and `counted` counts a
//! replay by changed object. `suggest` makes what-ifs, replays each, and ranks them. `json` prints.
//!
//! Estimating a change from a profile, without a replay, was rejected: padding removes coherence
//! misses but adds capacity misses elsewhere, which only a replay counts.

mod candidates;
mod counted;
mod error;
mod file;
mod free;
mod json;
mod layout;
mod machine;
mod outcome;
mod resolved;
mod suggest;

pub use error::{Error, Problem};
pub use file::{Change, HugePages, Part, WhatIf};
pub use json::{OutcomeShown, SuggestionsShown, outcome_shown, suggestions_shown};
pub use machine::{LevelChange, MachineChange};
pub use outcome::{ChangedObject, Outcome, Side, what_if};
pub use suggest::{Suggestion, Suggestions, suggest, suggest_for};
