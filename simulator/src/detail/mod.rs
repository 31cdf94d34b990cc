//! Analyses of a replay beyond totals: by function, segment, request and reuse distance.
//!
//! [`replay_in_detail`] makes one sequential pass for all parts. Each part is a separate file that
//! uses line numbers and does not depend on caches. [`replay_by_function`] makes a pass that only
//! distinguishes functions, and [`replay_by_mode`] one that distinguishes user code and the kernel.
//! [`Visits`] divides the kernel's work further, and [`SystemCalls::replay_posted`] moves it to
//! another core, or into batches. [`analyze`] makes a pass for a custom [`AnalysisTool`], and
//! [`analyze_changed`] one of accesses that a [`Rewriter`] changes.

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

pub use analysis::{AnalysisTool, Rewriter, analyze, analyze_changed};
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
