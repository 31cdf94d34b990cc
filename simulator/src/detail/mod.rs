//! What a replay can tell beyond totals: by function, by segment, by request, by distance.

mod attribution;
mod interference;
mod reuse_distance;
mod segments;
mod working_set;

pub use attribution::{Attribution, Owner, Spans};
pub use interference::{Interference, Interfering, Losses};
pub use reuse_distance::{Distances, LruStack, ReuseDistances};
pub use segments::{START, Segments};
pub use working_set::{RECENT_REQUESTS, WorkingSet, WorkingSets};
