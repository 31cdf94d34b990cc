//! The cache profile of a recorded server: which functions, source lines, and data cost how many
//! misses, and why.
//!
//! A profile is an analysis of one replay ([`corehop_simulator::detail::analyze`]), which knows
//! nothing of it. `collector` receives the events and counts them by instruction and by piece of
//! memory; `fully_associative` tells misses for want of ways from those for want of room. What
//! these places are called is looked up afterwards: `code` names instructions, `objects` the
//! `pieces` of memory. `view` makes rows of both, and `json` prints them. It is a crate apart
//! because it needs the symbolizer, and nothing of a search or a plan.
//!
//! Every view has each access and each miss once, so the rows of each add up to the replay's
//! counters.

#![forbid(unsafe_code)]

mod code;
mod collector;
mod cost;
mod fully_associative;
mod json;
mod objects;
mod pieces;
mod view;

pub use code::CodeFrame;
pub use cost::{Causes, Cost, Level};
pub use json::{Shown, ViewShown, shown};
pub use view::{By, Order, Place, PlaceKind, Row, View};

use code::Lines;
use collector::Collector;
use corehop_simulator::detail::{Attribution, analyze};
use corehop_simulator::{Error, Machine, Replay, ReplayOptions, Split};
use corehop_symbolizer::SourceLines;
use corehop_traces::Trace;
use pieces::Images;
use std::path::Path;

/// What a replay counted, and by what.
pub struct Profile {
    /// The totals.
    pub replay: Replay,
    /// The same with the causes that a profile tells.
    pub total: Cost,
    /// The views that were requested, in that order.
    pub views: Vec<View>,
}

/// Replays `trace` on `machine`, with threads on the cores of `split`, and attributes what it
/// counts in each of these ways.
///
/// # Errors
/// Those of [`corehop_simulator::replay()`].
pub fn profile(
    trace: &Trace,
    (machine, split): (&Machine, &Split),
    options: &ReplayOptions<'_>,
    views: &[By],
) -> Result<Profile, Error> {
    let attribution = Attribution::of(trace);
    let builds = trace.modules().iter();
    let builds = builds.map(|module| (Path::new(&module.path), module.build_id.as_str()));
    let mut sources = match views.iter().any(|&by| by != By::Function) {
        true => SourceLines::of_builds(builds),
        false => SourceLines::default(),
    };
    let images = match views.contains(&By::Object) {
        true => Images::of(trace, &mut sources),
        false => Images::default(),
    };
    let mut collector = Collector::new(trace, (machine, split.cores()), &attribution, &images);
    let replay = analyze(trace, machine, split, options, &mut collector)?;
    let counted = collector.finish();
    let mut lines = Lines::new(trace, sources);
    let view = |&by: &By| match by {
        By::Function => view::by_function(trace, &attribution, &counted),
        By::Line => view::by_line(trace, &attribution, &counted, &mut lines),
        By::Object => view::by_object(trace, &images, &counted),
    };
    Ok(Profile {
        replay,
        total: counted.total(),
        views: views.iter().map(view).collect(),
    })
}
