//! Why a plan has more or fewer cache misses than one core.
//!
//! A replay reports how much a plan changes. An explanation reports where: the code and lines of
//! each core, the lines that cores take from each other, the functions that miss less or more than
//! on one core, and the value of each hop compared with its alternatives. All figures refer to one
//! set of requests: by default the requests on which the plan was evaluated. These are the ones it
//! was not searched on; the first half of them warms the caches.
//!
//! [`Question::answer`] runs the replays, and [`json::render`] returns the figures as JSON.

#![forbid(unsafe_code)]

mod by_argument;
pub mod demands;
mod error;
mod explanation;
pub mod json;
mod question;
mod remarks;

pub use by_argument::{by_argument, called};
pub use error::Error;
pub use explanation::{CONNECTIONS, Explanation, Mover};
pub use question::{Question, others};
pub use remarks::{mark, options, remarks};
