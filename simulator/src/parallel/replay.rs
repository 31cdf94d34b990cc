//! Replays a trace straight from its file: any number of machines and splits in one pass.
//!
//! Decoding, reducing and dividing are done once for all of them, and nothing is kept, so a trace
//! may be larger than memory.

use super::checks;
use super::pass::{self, PassInput};
use super::piece_placement::PiecePlacement;
use super::simulate::{self, Simulation};
use super::totals::Totals;
use crate::error::Error;
use crate::filters::entry::Entry;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::machine::Machine;
use crate::options::{ReplayOptions, chosen_requests};
use crate::report::replay::Replay;
use crate::report::tally::Tally;
use crate::threads::split::Split;
use crate::threads::thread_placement::delegated_calls;
use corehop_traces::Trace;

/// A machine, and how the traced program is split over its cores.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The machine to simulate.
    pub machine: &'a Machine,
    /// Which core each thread is on, and where it moves.
    pub split: &'a Split,
}

/// Replays `trace` on `machine`, split over cores by `split`. See [`replay_all`].
///
/// # Errors
/// As [`replay_all`].
pub fn replay(
    trace: &Trace,
    machine: &Machine,
    split: &Split,
    options: &ReplayOptions,
) -> Result<Replay, Error> {
    let mut replays = replay_all(trace, &[Setting { machine, split }], options)?;
    Ok(replays.remove(0))
}

/// Replays `trace` in every setting, in one pass over it, on the host threads of the current Rayon
/// pool. One replay a setting, in their order; the counts do not depend on the number of host
/// threads, nor on which settings are replayed together.
///
/// # Errors
/// [`Error::TooManyCores`] for a split that its machine is too small for; [`Error::NoRequests`],
/// [`Error::UnknownRequest`] and [`Error::NothingToCount`] for options that do not fit the trace;
/// [`Error::Trace`] for a trace that cannot be read.
pub fn replay_all(
    trace: &Trace,
    settings: &[Setting<'_>],
    options: &ReplayOptions,
) -> Result<Vec<Replay>, Error> {
    let chosen = chosen_requests(options, trace.requests().len())?;
    for setting in settings {
        checks::check_cores(setting.machine, setting.split)?;
    }
    let set_partition_count =
        checks::set_partition_count_of(settings.iter().map(|setting| setting.machine));
    let planned = settings
        .iter()
        .flat_map(|setting| setting.split.functions());
    let calls = delegated_calls(trace, settings.iter().map(|setting| setting.split))?;
    let reading = PassInput {
        trace,
        requests: options.requests.as_ref().map(|_| &chosen[..]),
        breaks: checks::breaks(trace.functions().len(), planned),
        calls: calls.as_ref(),
        set_partition_count,
        progress: options.progress,
    };
    let first_counted = checks::first_counted(options, &chosen);
    let placements = settings
        .iter()
        .map(|setting| PiecePlacement::new(setting.split, calls.as_ref(), first_counted));
    let mut placements: Vec<PiecePlacement<'_>> = placements.collect();
    let tallies = simulate(&reading, settings, &mut placements)?;
    let requests = (chosen.len() - options.warm_up_requests) as u64;
    let report =
        |(setting, (placement, tallies)): (&Setting<'_>, (&PiecePlacement<'_>, Vec<Tally>))| {
            let machine = setting.machine;
            let report = Totals {
                machine,
                placement,
                requests,
            };
            report.replay(&tallies)
        };
    let counted = placements.iter().zip(tallies);
    Ok(settings.iter().zip(counted).map(report).collect())
}

/// What each core missed, by setting.
fn simulate(
    reading: &PassInput<'_>,
    settings: &[Setting<'_>],
    placements: &mut [PiecePlacement<'_>],
) -> Result<Vec<Vec<Tally>>, Error> {
    let geometry = |setting: &Setting<'_>| {
        Geometry::new(
            setting.machine,
            setting.split.cores(),
            reading.set_partition_count,
        )
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
                simulation.run(&set_partition.lines, entries, 0, cores);
            }
        },
    )?;
    let tally = |(index, setting): (usize, &Setting<'_>)| {
        let simulations = set_partitions
            .iter()
            .map(|(_, (simulations, _))| &simulations[index]);
        simulate::sum(setting.split.cores(), simulations.map(Simulation::tally))
    };
    Ok(settings.iter().enumerate().map(tally).collect())
}
