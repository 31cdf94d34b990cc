//! Costs by function, then by the function's source lines, then by the objects of a line.
//!
//! Each level adds up to the one around it, and all functions add up to the replay's counters.

use crate::code::Lines;
use crate::collector::Site;
use crate::cost::Cost;
use crate::heap::Made;
use crate::heap_sites;
use crate::objects::Names;
use crate::pairs::PairCounts;
use crate::view::{Place, Row, code_place, data_place, fetched_place, made_by, owner_place};
use crate::{Known, Profile};
use corehop_simulator::detail::Attribution;
use corehop_simulator::{Error, Machine, ReplayOptions, Split};
use corehop_traces::{Kind, Trace};
use std::collections::BTreeMap;

/// A row, and the rows of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// A function, a source line in it, or an object that this line accesses.
    pub row: Row,
    /// The lines of a function, or the objects of a line, in no particular order.
    pub parts: Vec<Nested>,
}

/// Replays `trace` like [`crate::profile`], and returns the functions with their lines and objects
/// instead of views.
///
/// # Errors
/// Those of [`corehop_simulator::replay()`].
pub fn profile_nested(
    trace: &Trace,
    (machine, split): (&Machine, &Split),
    options: &ReplayOptions<'_>,
) -> Result<(Profile, Vec<Nested>), Error> {
    let (known, mut sources) = Known::of(trace, &[], (true, true));
    let symbolizer_failure = sources.take_failure();
    let attribution = Attribution::of(trace);
    let tools = (PairCounts::default(), None);
    let replayed = known.replayed(&attribution, (machine, split), options, tools)?;
    let counted = replayed.counted;

    let mut lines = Lines::new(trace, sources);
    let names = Names::of(trace, &known.images, &counted.pieces);
    let sites = heap_sites::places(trace, &known.heap_sites, &mut lines);
    let mut functions = Functions::new();
    let mut add = |site: &Site, object: Place, cost: Cost| {
        let function = owner_place(trace, attribution.owner(site.owner as usize));
        let line = code_place(trace, lines.name(site, &attribution));
        let objects = functions.entry(function).or_default().entry(line);
        *objects.or_default().entry(object).or_default() += cost;
    };
    for (site, cost) in &counted.sites {
        if site.kind == Kind::Fetch {
            add(site, fetched_place(trace, site.pc), *cost);
        }
    }
    for pair in &counted.pairs {
        let object = data_place(trace, names.name(pair.piece), &sites);
        add(&pair.site, object, pair.cost);
    }
    let profile = Profile {
        replay: replayed.replay,
        total: counted.total(),
        views: Vec::new(),
        has_heap_objects: !trace.heap_events().is_empty(),
        sharing: None,
        symbolizer_failure,
    };
    Ok((profile, nested(functions, &made_by(&sites))))
}

type Objects = BTreeMap<Place, Cost>;
type ObjectsOfLines = BTreeMap<Place, Objects>;
type Functions = BTreeMap<Place, ObjectsOfLines>;

fn nested(functions: Functions, made: &BTreeMap<&Place, Made>) -> Vec<Nested> {
    let object = |(place, cost): (Place, Cost)| Nested {
        row: Row {
            made: made.get(&place).copied(),
            place,
            cost,
        },
        parts: Vec::new(),
    };
    let line = |(place, objects): (Place, Objects)| {
        Nested::of(place, objects.into_iter().map(object).collect())
    };
    let functions = functions
        .into_iter()
        .map(|(place, lines)| Nested::of(place, lines.into_iter().map(line).collect()));
    functions.collect()
}

impl Nested {
    /// Returns the sum of these parts.
    fn of(place: Place, parts: Vec<Nested>) -> Nested {
        Nested {
            row: Row {
                place,
                cost: parts.iter().map(|part| part.row.cost).sum(),
                made: None,
            },
            parts,
        }
    }
}
