//! The cache profile of a recorded server: which functions, source lines, and data cost how many
//! misses, and why.
//!
//! A profile is an analysis tool of one replay ([`corehop_simulator::detail::analyze`]).
//! `collector` receives the events and counts them by instruction, by piece of memory, and, for the
//! rows of `nested`, by `pairs` of both; `walks` receives those of address translation, and
//! `fully_associative` separates conflict misses from capacity misses. `numbered_pieces` finds the
//! piece of each access. Names are looked up after the replay: `code` names instructions, `objects`
//! names the `pieces` of memory, and `heap_sites` the calls that made objects on the `heap`. `view`
//! makes rows of both, `json` prints them, `formats` writes them for other profilers, and `sources`
//! groups them by source file. This is a separate crate because it needs the symbolizer, but no
//! search and no plan.
//!
//! `sharing` is a second analysis of the same replay: the lines that several threads access.
//!
//! Every view has each access and each miss once, so the rows of each add up to the replay's
//! counters.

#![forbid(unsafe_code)]

mod both;
mod code;
mod collector;
mod cost;
mod formats;
mod fully_associative;
mod heap;
mod heap_lines;
mod heap_sites;
mod json;
mod largest;
mod nested;
mod numbered;
mod numbered_pieces;
mod objects;
mod pairs;
mod pieces;
mod sharing;
mod sources;
mod thread_cores;
mod view;
mod walks;
pub mod what_if;

pub use code::CodeFrame;
pub use cost::{Causes, Cost, Level};
pub use formats::{Export, Format};
pub use heap::Made;
pub use json::{Shown, ViewShown, shown};
pub use largest::LargestCause;
pub use nested::{Nested, profile_nested};
pub use sharing::{ObjectOnLine, SharedLine, Sharing, SharingCost, Use, Verdict};
pub use sources::{SourceFile, Sources};
pub use thread_cores::{recorded_cores, spread};
pub use view::{By, Order, Place, PlaceKind, Row, View};

use both::Both;
use code::Lines;
use collector::{Collector, Counted, Counting};
use corehop_simulator::detail::{Attribution, analyze};
use corehop_simulator::{Error, Machine, Replay, ReplayOptions, Split};
use corehop_symbolizer::SourceLines;
use corehop_traces::Trace;
use heap::Sites;
use objects::Names;
use pairs::{NoPairs, Pairs};
use pieces::Images;
use sharing::{Naming, SharingCollector};
use std::cell::LazyCell;
use std::path::Path;
use walks::WalkCollector;

/// The counts of a replay, in total and by place.
pub struct Profile {
    /// The totals.
    pub replay: Replay,
    /// The totals, with the causes of misses.
    pub total: Cost,
    /// The views that were requested, in that order.
    pub views: Vec<View>,
    /// Whether the trace has objects on the heap.
    pub has_heap_objects: bool,
    /// The lines that threads share, if they were requested.
    pub sharing: Option<Sharing>,
    /// Why names are missing, if no symbolizer works.
    pub symbolizer_failure: Option<corehop_symbolizer::Error>,
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
    let needs_sources = views.iter().any(|&by| by != By::Function);
    let needs_images = views.iter().any(|by| by.is_memory());
    let (known, sources) = Known::of(trace, views, (needs_sources, needs_images));
    known.profiled(sources, (machine, split), options, (views, false))
}

/// Replays `trace` like [`profile`], and also lists the lines that threads share.
///
/// # Errors
/// Those of [`corehop_simulator::replay()`].
pub fn profile_with_sharing(
    trace: &Trace,
    (machine, split): (&Machine, &Split),
    options: &ReplayOptions<'_>,
    views: &[By],
) -> Result<Profile, Error> {
    let (known, sources) = Known::of(trace, views, (true, true));
    known.profiled(sources, (machine, split), options, (views, true))
}

/// What a replay counted.
struct Replayed<'a> {
    replay: Replay,
    counted: Counted,
    sharing: Option<SharingCollector<'a>>,
}

/// Replays `trace` with these tools.
fn replayed<'a>(
    trace: &Trace,
    (machine, split): (&Machine, &Split),
    options: &ReplayOptions<'_>,
    (mut collector, sharing): (impl Counting, Option<SharingCollector<'a>>),
) -> Result<Replayed<'a>, Error> {
    let Some(sharing) = sharing else {
        let replay = analyze(trace, machine, split, options, &mut collector)?;
        return Ok(Replayed {
            replay,
            counted: collector.finish(),
            sharing: None,
        });
    };
    let mut tools = Both(collector, sharing);
    let replay = analyze(trace, machine, split, options, &mut tools)?;
    let Both(collector, sharing) = tools;
    Ok(Replayed {
        replay,
        counted: collector.finish(),
        sharing: Some(sharing),
    })
}

/// Properties of a program that are known before the replay.
struct Known<'t> {
    trace: &'t Trace,
    images: Images,
    heap_sites: Sites,
    /// Whether accesses are counted by instruction.
    needs_instructions: bool,
    /// Whether accesses are counted by piece of memory.
    needs_pieces: bool,
}

impl<'t> Known<'t> {
    fn of(
        trace: &'t Trace,
        views: &[By],
        (needs_sources, needs_images): (bool, bool),
    ) -> (Known<'t>, SourceLines) {
        let builds = trace.modules().iter();
        let builds = builds.map(|module| (Path::new(&module.path), module.build_id.as_str()));
        let mut sources = match needs_sources {
            true => SourceLines::of_builds(builds),
            false => SourceLines::default(),
        };
        let images = match needs_images {
            true => Images::of(trace, &mut sources, views.contains(&By::Member)),
            false => Images::default(),
        };
        // Objects on the heap have rows only if images have.
        let heap_sites = match needs_images {
            true => Sites::of(trace),
            false => Sites::default(),
        };
        let known = Known {
            trace,
            images,
            heap_sites,
            // Only functions need neither sources nor instructions.
            needs_instructions: needs_sources,
            needs_pieces: needs_images,
        };
        (known, sources)
    }

    /// Replays the trace, and names what it counted in these views and, if requested, by line that
    /// threads share.
    fn profiled(
        &self,
        sources: SourceLines,
        (machine, split): (&Machine, &Split),
        options: &ReplayOptions<'_>,
        (views, with_sharing): (&[By], bool),
    ) -> Result<Profile, Error> {
        let trace = self.trace;
        let attribution = Attribution::of(trace);
        let sharing =
            with_sharing.then(|| SharingCollector::new(trace, &attribution, &self.heap_sites));
        let tools = (NoPairs, sharing);
        let replayed = self.replayed(&attribution, (machine, split), options, tools)?;
        Ok(self.profile(sources, &attribution, replayed, views))
    }

    /// Replays the trace, and counts also these pairs and, if requested, by line that threads
    /// share.
    fn replayed<'k>(
        &'k self,
        attribution: &'k Attribution,
        (machine, split): (&Machine, &Split),
        options: &ReplayOptions<'_>,
        (pairs, sharing): (impl Pairs, Option<SharingCollector<'k>>),
    ) -> Result<Replayed<'k>, Error> {
        let trace = self.trace;
        let memory = self
            .needs_pieces
            .then_some((&self.images, &self.heap_sites));
        let of = (machine, split.cores());
        let code = (attribution, self.needs_instructions);
        let collector = Collector::new(trace, of, code, memory, pairs);
        let on = (machine, split);
        match options.page_sizes {
            None => replayed(trace, on, options, (collector, sharing)),
            Some(_) => replayed(trace, on, options, (WalkCollector::new(collector), sharing)),
        }
    }

    /// Names what a replay counted, in these views.
    fn profile(
        &self,
        mut sources: SourceLines,
        attribution: &Attribution,
        replayed: Replayed<'_>,
        views: &[By],
    ) -> Profile {
        let Replayed {
            replay,
            counted,
            sharing,
        } = replayed;
        let (trace, images) = (self.trace, &self.images);
        let symbolizer_failure = sources.take_failure();
        let mut lines = Lines::new(trace, sources);
        let names = LazyCell::new(|| Names::of(trace, images, &counted.pieces));
        let sites = heap_sites::places(trace, &self.heap_sites, &mut lines);
        let view = |&by: &By| match by {
            By::Function => view::by_function(trace, attribution, &counted),
            By::Line => view::by_line(trace, attribution, &counted, &mut lines),
            By::Object | By::Member => view::by_memory(by, trace, &names, &counted, &sites),
        };
        let views = views.iter().map(view).collect();
        let sharing = sharing.map(|sharing| {
            let naming = Naming {
                trace,
                attribution,
                lines: &mut lines,
                images,
                names: &names,
                sites: &sites,
            };
            Sharing::of(sharing, naming)
        });
        Profile {
            replay,
            total: counted.total(),
            views,
            has_heap_objects: !trace.heap_events().is_empty(),
            sharing,
            symbolizer_failure,
        }
    }
}
