//! What a replay can tell beyond totals: by function, by segment, by request, by distance.
//!
//! [`replay_in_detail`] makes one sequential pass and feeds all parts. Each part is a file of its
//! own that knows lines by number and nothing of caches. [`replay_by_function`] makes a pass that
//! tells functions apart and no more, and [`replay_by_mode`] one that tells user code and the
//! kernel apart; [`Visits`] takes what the kernel does apart once more, and
//! [`SystemCalls::replay_posted`] has it done on another core, or in batches. [`analyze`] makes a
//! pass for an [`AnalysisTool`] of the caller's.

mod analysis;
mod attribution;
mod cores;
mod doors;
mod functions;
mod interference;
mod mode;
mod modes;
mod pass;
mod posted;
mod reuse_distance;
mod segments;
mod sums;
mod visited;
mod visits;
mod working_set;

pub use analysis::{AnalysisTool, analyze};
pub use attribution::{Attribution, CodeOwner, Spans};
pub use cores::{CodeUse, CoreUse, CoreUses};
pub use doors::Reason;
pub use functions::{ByFunction, replay_by_function};
pub use interference::{Interference, Interfering, Losses};
pub use mode::Mode;
pub use modes::{ModeUse, Modes, Replaced, Replacements, replay_by_mode};
pub use pass::{Cost, Detail, FunctionCost, replay_in_detail};
pub use posted::{Posted, PostedCore, Posting, SystemCalls};
pub use reuse_distance::{Distances, LruStack, ReuseDistances};
pub use segments::{START, Segments};
pub use visited::{Footprint, ReplacedBy, VisitKind};
pub use visits::{Visit, Visits};
pub use working_set::{RECENT_REQUESTS, Spread, WorkingSet, WorkingSets};
