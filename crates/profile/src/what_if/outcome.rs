//! Replays a what-if and what was recorded, and pairs the counts.

use super::counted::{CountedRows, Counting};
use super::error::{Error, Problem};
use super::file::{Change, HugePages, WhatIf};
use super::free::FreeRegions;
use super::layout::{Layout, Places};
use super::resolved::{Object, Objects, Resolved, resolve};
use crate::cost::Cost;
use crate::pieces::Images;
use corehop_simulator::detail::{Rewriter, analyze_changed};
use corehop_simulator::timing::PrefetcherName;
use corehop_simulator::{Machine, PageSize, PageSizes, Replay, ReplayOptions, Split};
use corehop_symbolizer::SourceLines;
use corehop_traces::Trace;
use std::path::Path;

/// An object that a what-if moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedObject {
    /// Its name, or the range of addresses that the what-if names.
    pub name: String,
    /// Path of the file that holds it; `None` for a range.
    pub module: Option<String>,
    /// Its first address, and the one behind it.
    pub range: (u64, u64),
    /// The same of its arrays afterwards.
    pub new_ranges: Vec<(u64, u64)>,
}

/// The counts of one of the two replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The simulated machine.
    pub machine: Machine,
    /// The prefetcher of each L2.
    pub prefetcher: PrefetcherName,
    /// The totals, with the loads of page walks.
    pub replay: Replay,
    /// The totals with the causes of misses, without page walks.
    pub total: Cost,
    /// The objects, in the order of the what-if.
    pub objects: Vec<Cost>,
    /// All other data, and code.
    pub rest: Cost,
}

/// The counts with and without a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The objects that move, in the order of the what-if; then those that only others follow.
    pub objects: Vec<ChangedObject>,
    /// As recorded.
    pub before: Side,
    /// With the change.
    pub after: Side,
}

/// Replays `trace` on `machine` as recorded, and as `what_if` changes it. `path` is the file of the
/// what-if, for errors.
///
/// # Errors
/// [`Error::Invalid`] if the what-if does not fit the trace or the machine, and those of
/// [`corehop_simulator::replay()`].
pub fn what_if(
    trace: &Trace,
    (machine, split): (&Machine, &Split),
    options: &ReplayOptions<'_>,
    (what_if, path): (&WhatIf, &Path),
) -> Result<Outcome, Error> {
    let invalid = |problem, line| Error::Invalid {
        path: path.into(),
        line,
        problem,
    };
    let no_line = |problem| invalid(problem, None);
    let objects = known_objects(trace);
    let changes: Vec<&Change> = what_if.changes.iter().map(|(change, _)| change).collect();
    let resolved = resolve(&objects, &changes).map_err(|(problem, index)| {
        let of = index.and_then(|index| what_if.changes.get(index));
        invalid(problem, of.and_then(|(_, line)| *line))
    })?;
    let changed_machine = what_if.machine.of(machine).map_err(no_line)?;
    let changed_split = match what_if.machine.cores {
        Some(cores) => Split::thread_per_core(cores),
        None => split.clone(),
    };
    let mut free = match resolved.is_empty() {
        true => FreeRegions::default(),
        false => FreeRegions::of(trace, options).map_err(corehop_simulator::Error::from)?,
    };
    let layout = Layout::of(trace, &resolved, &mut free);
    let mut layout = layout.ok_or_else(|| no_line(Problem::NoSpace))?;
    let page_sizes = match what_if.huge_pages.first() {
        None => None,
        Some((_, line)) => {
            if let Some(machine) = [machine, &changed_machine]
                .into_iter()
                .find(|machine| machine.translation.is_none())
            {
                let machine = machine.name.clone();
                return Err(invalid(Problem::NoTranslation { machine }, *line));
            }
            let sizes = page_sizes(trace, &objects, &layout, &resolved, &what_if.huge_pages);
            Some(sizes.map_err(|(problem, line)| invalid(problem, line))?)
        }
    };
    let small = PageSizes::default();
    let (old, new) = (layout.old.clone(), layout.new.clone());
    let run = Run {
        trace,
        options,
        objects: resolved.len(),
    };
    let before = Setting {
        on: (machine, split),
        prefetcher: PrefetcherName::None,
        page_sizes: page_sizes.as_ref().map(|_| &small),
        places: &old,
    };
    let after = Setting {
        on: (&changed_machine, &changed_split),
        prefetcher: what_if.machine.prefetcher.unwrap_or_default(),
        page_sizes: page_sizes.as_ref(),
        places: &new,
    };
    let (before, after) = rayon::join(
        || run.side(&before, &mut ()),
        || run.side(&after, &mut layout),
    );
    Ok(Outcome {
        objects: changed(&resolved, &new),
        before: before?,
        after: after?,
    })
}

/// Replays only the changed side of a change of one object, which must be valid.
pub(super) fn after_change(
    trace: &Trace,
    on: (&Machine, &Split),
    options: &ReplayOptions<'_>,
    (objects, free, change): (&Objects, &mut FreeRegions, &Change),
) -> Option<Result<Side, corehop_simulator::Error>> {
    let resolved = resolve(objects, &[change]).ok()?;
    let mut layout = Layout::of(trace, &resolved, free)?;
    let new = layout.new.clone();
    let run = Run {
        trace,
        options,
        objects: resolved.len(),
    };
    let setting = Setting {
        on,
        prefetcher: PrefetcherName::None,
        page_sizes: None,
        places: &new,
    };
    Some(run.side(&setting, &mut layout))
}

/// Returns the variables of a trace's files.
pub(super) fn known_objects(trace: &Trace) -> Objects {
    let images = Images::of(trace, &mut SourceLines::default(), false);
    Objects::of(trace, &images)
}

fn changed(resolved: &[Resolved], new: &Places) -> Vec<ChangedObject> {
    let all = resolved.iter().enumerate().map(|(index, of)| {
        let Object {
            name,
            module,
            start,
            end,
        } = of.object.clone();
        ChangedObject {
            name,
            module,
            range: (start, end),
            new_ranges: new.ranges(index),
        }
    });
    all.collect()
}

/// Returns the sizes of pages, or the problem and the line of its entry.
fn page_sizes(
    trace: &Trace,
    objects: &Objects,
    layout: &Layout<'_>,
    resolved: &[Resolved],
    regions: &[(HugePages, Option<usize>)],
) -> Result<PageSizes, (Problem, Option<usize>)> {
    let mut sizes = PageSizes::default();
    for (of, line) in regions {
        let size = match of.size.as_str() {
            "2M" => PageSize::Large,
            "1G" => PageSize::Huge,
            _ => {
                let size = of.size.clone();
                return Err((Problem::PageSize { size }, *line));
            }
        };
        let modules = trace.modules().iter();
        let code = modules.filter(|module| module.start < module.end);
        let places: Vec<(u64, u64)> = match of.region.as_str() {
            "all" => vec![(0, u64::MAX)],
            "code" => code.map(|module| (module.start, module.end - 1)).collect(),
            name => {
                let object = objects.find(name).map_err(|problem| (problem, *line))?;
                match resolved.iter().position(|of| of.object == object) {
                    Some(moved) => layout.new.ranges(moved),
                    None => vec![(object.start, object.end)],
                }
                .into_iter()
                .map(|(start, end)| (start, end - 1))
                .collect()
            }
        };
        for place in places {
            sizes = sizes.at_least(place, size);
        }
    }
    Ok(sizes)
}

/// What both replays have in common.
struct Run<'a> {
    trace: &'a Trace,
    options: &'a ReplayOptions<'a>,
    objects: usize,
}

/// What may differ.
struct Setting<'a> {
    on: (&'a Machine, &'a Split),
    prefetcher: PrefetcherName,
    page_sizes: Option<&'a PageSizes>,
    /// Where the objects are.
    places: &'a Places,
}

impl Run<'_> {
    fn side(
        &self,
        setting: &Setting<'_>,
        rewriter: &mut impl Rewriter,
    ) -> Result<Side, corehop_simulator::Error> {
        let (machine, split) = setting.on;
        let on = (machine, split.cores());
        let mut tool = Counting::new(self.trace, on, (setting.places, self.objects));
        let options = ReplayOptions {
            page_sizes: setting.page_sizes,
            ..self.options.clone()
        };
        let changed = (rewriter, setting.prefetcher);
        let replay = analyze_changed(self.trace, setting.on, &options, changed, &mut tool)?;
        let CountedRows { objects, rest } = tool.finish();
        let mut total = rest;
        objects.iter().for_each(|object| total += *object);
        Ok(Side {
            machine: machine.clone(),
            prefetcher: setting.prefetcher,
            replay,
            total,
            objects,
            rest,
        })
    }
}
