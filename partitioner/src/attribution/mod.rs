//! Why a plan has more or fewer cache misses than one core.
//!
//! A replay says how much a plan changes. An explanation says where: what each core runs and holds,
//! which lines cores take from each other, which functions miss less or more than on one core, and
//! what each hop is worth beside its alternatives. All figures are of one set of requests, by
//! default those that judged the plan: the requests that it was not searched on, of which the first
//! half warms the caches.
//!
//! [`Question::answer`] makes the replays, and [`json::render`] gives the figures to programs.

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
