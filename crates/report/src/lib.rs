//! A report on a plan: one page that opens from disk anywhere, and files for other tools.
//!
//! [`write`] replays the trace and writes what [`Outputs`] names: the page as HTML, its pictures as
//! SVG, their numbers as CSV, call stacks for flame graphs and a timeline for Perfetto. The figures
//! are those of [`corehop_partitioner::attribution`]; one more pass over the requests tells when
//! each line was referenced. All sums are made here, so a page stays small however long the trace.
//! The page holds its style, script and data, and asks nothing of any network. Everything that is
//! drawn is also a table.
//!
//! Each folder uses only those before it: `drawing` has shapes, tables and escapes; `pass` goes
//! through the requests and collects what is shown of them; `search_space` finds other splits to
//! compare with; `pictures` draws them; `page` puts all of it into one page or JSON object.

#![forbid(unsafe_code)]

mod contents;
mod drawing;
mod error;
mod files;
mod page;
mod pass;
mod pictures;
mod search_space;
mod sources;
mod write;

pub use error::Error;
pub use files::Outputs;
pub use search_space::sweep::{CacheMisses, Counted, Sweep, SweepError, SweepRow};
pub use write::{Options, write};
