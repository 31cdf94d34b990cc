//! Creates a report on a plan: a self-contained page that opens from disk, and files for other
//! tools.
//!
//! [`write()`] replays the trace and writes the files in [`Outputs`]: the page as HTML, its
//! pictures as SVG, their numbers as CSV, call stacks for flame graphs and a timeline for Perfetto.
//! The figures are those of [`corehop_partitioner::attribution`]. One more pass over the requests
//! records when each line was accessed. All sums are computed here, so a page stays small for any
//! length of trace. The page contains its style, script and data, and needs no network. Every
//! drawing also has a table.
//!
//! Each folder uses only those before it. `drawing` has shapes, tables and escapes. `pass` replays
//! the requests and collects what is shown of them. `search_space` finds other splits for
//! comparison. `pictures` draws them. `page` combines everything into one page or JSON object.

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
