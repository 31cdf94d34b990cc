//! Replays a trace directly from its file, for any number of machines and splits in one pass.
//!
//! Decoding, reducing and dividing are done once for all of them, and nothing is kept. A trace may
//! therefore be larger than memory.

use super::checks;
use super::pass::{self, PassInput};
use super::piece_placement::PiecePlacement;
use super::set_partition::SetPartition;
use super::simulate::{self, Simulation};
use super::totals::Totals;
use super::watch::Watch;
use crate::detail::analyze;
use crate::error::Error;
use crate::filters::entry::Entry;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::hierarchy::page_map::PageMap;
use crate::machine::Machine;
use crate::options::{ReplayOptions, chosen_requests};
use crate::report::replay::Replay;
use crate::threads::split::Split;
use crate::threads::thread_placement::delegated_calls;
use corehop_traces::Trace;
use rayon::prelude::*;

/// A machine, and the split of the traced program over its cores.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The machine to simulate.
    pub machine: &'a Machine,
    /// The start core of each thread, and where threads move.
    pub split: &'a Split,
}

/// Replays `trace` on `machine`, split over cores by `split`. See [`replay_all`].
///
/// # Errors
/// Those of [`replay_all`].
pub fn replay(
    trace: &Trace,
    machine: &Machine,
    split: &Split,
    options: &ReplayOptions,
) -> Result<Replay, Error> {
    let mut replays = replay_all(trace, &[Setting { machine, split }], options)?;
    Ok(replays.remove(0))
}

/// Replays `trace` in every setting in one pass, on the host threads of the current Rayon pool.
/// Returns one replay for each setting, in their order. The counts are independent of the number of
/// host threads and of the other settings. With address translation, each setting takes a separate
/// sequential pass.
///
/// # Errors
/// [`Error::TooManyCores`] if a split needs more cores than its machine has; [`Error::NoRequests`],
/// [`Error::UnknownRequest`] and [`Error::NothingToCount`] for options that do not match the trace;
/// [`Error::Trace`] if the trace cannot be read; [`Error::NoTranslation`] if translation is
/// requested on a machine whose file does not describe it.
pub fn replay_all(
    trace: &Trace,
    settings: &[Setting<'_>],
    options: &ReplayOptions,
) -> Result<Vec<Replay>, Error> {
    if options.page_sizes.is_some() {
        return one_by_one(trace, settings, options);
    }
    let settings = settings.iter().map(|&setting| (setting, None));
    let settings: Vec<_> = settings.collect();
    let replayed = run::<()>(trace, &settings, options)?;
    Ok(replayed.into_iter().map(|(replay, _)| replay).collect())
}

/// Replays `trace` in every setting, access by access, in one pass for each. A page walk references
/// lines of any set partition, so it needs all accesses in order.
fn one_by_one(
    trace: &Trace,
    settings: &[Setting<'_>],
    options: &ReplayOptions,
) -> Result<Vec<Replay>, Error> {
    let silent = ReplayOptions {
        progress: None,
        ..options.clone()
    };
    let replay = |(place, setting): (usize, &Setting<'_>)| {
        // Progress is reported for one pass only.
        let options = if place == 0 { options } else { &silent };
        analyze(trace, setting.machine, setting.split, options, &mut ())
    };
    settings.par_iter().enumerate().map(replay).collect()
}

/// Replays `trace` in one setting, once for each page map, all in one pass over the trace. Each L2
/// places pages by the map, and each set partition has a watch.
///
/// # Errors
/// Those of [`replay_all`].
pub fn replay_watched<W: Watch>(
    trace: &Trace,
    setting: Setting<'_>,
    maps: &[&PageMap],
    options: &ReplayOptions,
) -> Result<Vec<(Replay, Vec<W>)>, Error> {
    let settings = maps.iter().map(|&map| (setting, Some(map)));
    run(trace, &settings.collect::<Vec<_>>(), options)
}

/// A setting, and the page map of its L2s, if any.
type Mapped<'a> = (Setting<'a>, Option<&'a PageMap>);

/// Returns one replay for each setting, and a watch for each set partition.
fn run<W: Watch>(
    trace: &Trace,
    settings: &[Mapped<'_>],
    options: &ReplayOptions,
) -> Result<Vec<(Replay, Vec<W>)>, Error> {
    let chosen = chosen_requests(options, trace.requests().len())?;
    for (setting, _) in settings {
        checks::check_cores(setting.machine, setting.split)?;
    }
    let machines = settings.iter().map(|(setting, _)| setting.machine);
    let splits = || settings.iter().map(|(setting, _)| setting.split);
    let planned = splits().flat_map(Split::functions);
    let calls = delegated_calls(trace, splits())?;
    let reading = PassInput {
        trace,
        requests: options.requests.as_ref().map(|_| &chosen[..]),
        breaks: checks::breaks(trace.functions().len(), planned),
        calls: calls.as_ref(),
        set_partition_count: checks::set_partition_count_of(machines),
        progress: options.progress,
    };
    let first_counted = checks::first_counted(options, &chosen);
    let placements =
        splits().map(|split| PiecePlacement::new(split, calls.as_ref(), first_counted));
    let mut placements: Vec<PiecePlacement<'_>> = placements.collect();
    let simulated = simulate::<W>(&reading, settings, &mut placements)?;
    let report = |(index, (setting, _)): (usize, &Mapped<'_>)| {
        let of_setting = simulated.iter().map(|simulations| &simulations[index]);
        let tallies = of_setting.map(Simulation::tally);
        let report = Totals {
            machine: setting.machine,
            placement: &placements[index],
            requests: (chosen.len() - options.warm_up_requests) as u64,
        };
        report.replay(&simulate::sum(setting.split.cores(), tallies))
    };
    let replays: Vec<Replay> = settings.iter().enumerate().map(report).collect();
    let mut watched: Vec<Vec<W>> = replays.iter().map(|_| Vec::new()).collect();
    for simulations in simulated {
        let of_settings = watched.iter_mut().zip(simulations).zip(&placements);
        of_settings.for_each(|((watched, simulation), placement)| {
            watched.push(simulation.into_watch(placement.is_counting()));
        });
    }
    Ok(replays.into_iter().zip(watched).collect())
}

/// For each set partition, returns the simulations of all settings.
fn simulate<W: Watch>(
    reading: &PassInput<'_>,
    settings: &[Mapped<'_>],
    placements: &mut [PiecePlacement<'_>],
) -> Result<Vec<Vec<Simulation<W>>>, Error> {
    let geometry = |(setting, map): &Mapped<'_>| {
        let (machine, cores) = (setting.machine, setting.split.cores());
        let geometry = Geometry::new(machine, cores, reading.set_partition_count);
        match map {
            Some(map) => geometry.with_page_map(map),
            None => geometry,
        }
    };
    let geometries: Vec<Geometry> = settings.iter().map(geometry).collect();
    let simulations = || {
        geometries
            .iter()
            .map(|geometry| Simulation::new(Hierarchy::new(geometry)))
    };
    let mut set_partitions = checks::set_partitions(reading.set_partition_count, || {
        (simulations().collect::<Vec<_>>(), Vec::<Entry>::new())
    });
    pass::read(
        reading,
        &mut set_partitions,
        |batch| {
            let pieces = || batch.placed.iter().map(|&placed| batch.order.piece(placed));
            let place = |placement: &mut PiecePlacement<'_>| placement.place(pieces());
            placements.iter_mut().map(place).collect::<Vec<_>>()
        },
        |cores, batch, set_partition, (simulations, entries)| {
            entries.clear();
            set_partition.gather(batch.order, batch.placed, 0, entries);
            for (simulation, cores) in simulations.iter_mut().zip(cores) {
                simulation.run(set_partition, entries, 0, cores);
            }
        },
    )?;
    let simulations_only = |(_, (simulations, _)): (SetPartition, (_, Vec<Entry>))| simulations;
    Ok(set_partitions.into_iter().map(simulations_only).collect())
}
