//! Replays a trace straight from its file: any number of machines and splits in one pass.
//!
//! Decoding, reducing and dividing are done once for all of them, and nothing is kept, so a trace
//! may be larger than memory.

use super::by_page::{self, ByLine, PageUse, Watch};
use super::checks;
use super::pass::{self, PassInput};
use super::piece_placement::PiecePlacement;
use super::set_partition::SetPartition;
use super::simulate::{self, Simulation};
use super::totals::Totals;
use crate::colours::PolluteBuffer;
use crate::error::Error;
use crate::filters::entry::Entry;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::Geometry;
use crate::machine::Machine;
use crate::options::{ReplayOptions, chosen_requests};
use crate::report::replay::Replay;
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
    let settings = settings.iter().map(|&setting| (setting, None));
    let settings: Vec<_> = settings.collect();
    Ok(run::<()>(trace, &settings, options)?.replays)
}

/// Replays `trace` in one setting, in one pass over it, with each of these pollute buffers in turn,
/// and says of each replay what every page of the trace references of the L2s and misses there.
///
/// # Errors
/// As [`replay_all`].
///
/// # Panics
/// When a buffer is one for other L2s.
pub fn replay_with_buffers(
    trace: &Trace,
    setting: Setting<'_>,
    buffers: &[&PolluteBuffer],
    options: &ReplayOptions,
) -> Result<Vec<(Replay, Vec<PageUse>)>, Error> {
    let settings = buffers.iter().map(|&buffer| (setting, Some(buffer)));
    let settings: Vec<_> = settings.collect();
    let replayed = run::<ByLine>(trace, &settings, options)?;
    let pages = |index: usize| {
        let set_partitions = replayed.set_partitions.iter();
        by_page::pages(set_partitions.map(|(of, watched)| (of, &watched[index])))
    };
    let replays = replayed.replays.into_iter().enumerate();
    Ok(replays
        .map(|(index, replay)| (replay, pages(index)))
        .collect())
}

/// One replay a setting, and what was watched of each in every set partition.
struct Replayed<W> {
    replays: Vec<Replay>,
    set_partitions: Vec<(SetPartition, Vec<W>)>,
}

/// A setting, and the pollute buffer of its L2s, if they have one.
type Buffered<'a> = (Setting<'a>, Option<&'a PolluteBuffer>);

/// A set partition, and its simulations by setting.
type Simulated<W> = (SetPartition, Vec<Simulation<W>>);

fn run<W: Watch>(
    trace: &Trace,
    settings: &[Buffered<'_>],
    options: &ReplayOptions,
) -> Result<Replayed<W>, Error> {
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
    let report = |(index, (setting, _)): (usize, &Buffered<'_>)| {
        let of_setting = simulated.iter().map(|(_, simulations)| &simulations[index]);
        let tallies = of_setting.map(Simulation::tally);
        let report = Totals {
            machine: setting.machine,
            placement: &placements[index],
            requests: (chosen.len() - options.warm_up_requests) as u64,
        };
        report.replay(&simulate::sum(setting.split.cores(), tallies))
    };
    Ok(Replayed {
        replays: settings.iter().enumerate().map(report).collect(),
        set_partitions: watched(simulated, &placements),
    })
}

/// What was watched of what counts.
fn watched<W: Watch>(
    simulated: Vec<Simulated<W>>,
    placements: &[PiecePlacement<'_>],
) -> Vec<(SetPartition, Vec<W>)> {
    let of_set_partition = |(set_partition, simulations): (_, Vec<Simulation<W>>)| {
        let simulations = simulations.into_iter().zip(placements);
        let watched = simulations.map(|(of, placement)| of.into_watch(placement.is_counting()));
        (set_partition, watched.collect())
    };
    simulated.into_iter().map(of_set_partition).collect()
}

/// The simulations of every set partition, by setting.
fn simulate<W: Watch>(
    reading: &PassInput<'_>,
    settings: &[Buffered<'_>],
    placements: &mut [PiecePlacement<'_>],
) -> Result<Vec<Simulated<W>>, Error> {
    let geometry = |(setting, buffer): &Buffered<'_>| {
        let (machine, cores) = (setting.machine, setting.split.cores());
        let geometry = Geometry::new(machine, cores, reading.set_partition_count);
        match buffer {
            Some(buffer) => geometry.with_buffer(buffer),
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
                simulation.run(&set_partition.lines, entries, 0, cores);
            }
        },
    )?;
    let simulations_only =
        |(of, (simulations, _)): (SetPartition, (_, Vec<Entry>))| (of, simulations);
    Ok(set_partitions.into_iter().map(simulations_only).collect())
}
