//! A trace prepared for many replays: reduced, divided into set partitions, and held in memory.
//!
//! Reading a trace costs more than simulating the reduced one. A caller that replays it for many
//! plans or machines therefore reads it once. References that are guaranteed to hit in these
//! machines' L1s ([`GuaranteedHits`]) are also dropped, because nothing depends on them. A sixth of
//! the accesses of a recorded mariadbd remain, at four bytes each.

use super::checks;
use super::pass::{self, PassInput, PieceBatch};
use super::piece_placement::{Cores, PiecePlacement};
use super::set_partition::SetPartition;
use super::simulate::{self, Simulation};
use super::totals::Totals;
use super::watch::Watch;
use crate::error::Error;
use crate::filters::entry::{self, Entry};
use crate::filters::guaranteed_hit::GuaranteedHits;
use crate::filters::trace_reduction::Piece;
use crate::hierarchy::Hierarchy;
use crate::hierarchy::geometry::{self, Geometry};
use crate::hierarchy::page_map::{PAGE_BYTES, PageMap};
use crate::ids::CoreId;
use crate::machine::{Level, Machine};
use crate::options::{ReplayOptions, chosen_requests};
use crate::report::replay::Replay;
use crate::report::tally::Tally;
use crate::threads::split::Split;
use crate::threads::thread_placement::delegated_calls;
use corehop_traces::{Calls, FunctionId, RequestId, Trace};
use rayon::prelude::*;

/// A trace, or some requests of it, in memory and ready for replay.
///
/// ```no_run
/// # use corehop_simulator::{CoreId, Machine, Prepared, ReplayOptions, Split};
/// # use corehop_traces::FunctionId;
/// # let trace = corehop_traces::Trace::open("bank.trace".as_ref())?;
/// # let (first, second) = (FunctionId(3), FunctionId(17));
/// let machine = Machine::named_or_path("xeon-e5-2620-v4")?;
/// let functions = [first, second];
/// let prepared = Prepared::new(&trace, &[&machine], &functions, &ReplayOptions::default())?;
/// for function in functions {
///     let replay = prepared.replay(&machine, &Split::new([(function, CoreId(1))]))?;
///     println!("{} L2 misses", replay.counters.l2.misses());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Prepared {
    pub(crate) set_partition_count: u64,
    /// The levels of each machine it was prepared for.
    caches: Vec<Vec<Level>>,
    /// Whether L2s may have a page map.
    page_maps: bool,
    /// For each function, whether a split may move threads at its entries.
    breaks: Vec<bool>,
    /// The calls of all these functions, if a split may delegate them.
    calls: Option<Calls>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) set_partitions: Vec<(SetPartition, Vec<Entry>)>,
    first_counted: Option<RequestId>,
    requests: u64,
}

impl Prepared {
    /// Reads the requests of `trace` that `options` select, for replays on `machines` with splits
    /// at entries of `functions`.
    ///
    /// # Errors
    /// Those of [`crate::replay()`].
    pub fn new(
        trace: &Trace,
        machines: &[&Machine],
        functions: &[FunctionId],
        options: &ReplayOptions,
    ) -> Result<Prepared, Error> {
        let breaks = checks::breaks(trace.functions().len(), functions.iter().copied());
        Prepared::prepare(trace, (machines, machines), (breaks, None), options)
    }

    /// Does the same for splits that may also delegate calls of these functions. It uses more
    /// memory, and reads the whole trace once more to find the ends of calls.
    ///
    /// # Errors
    /// Those of [`crate::replay()`].
    pub fn with_calls(
        trace: &Trace,
        machines: &[&Machine],
        functions: &[FunctionId],
        options: &ReplayOptions,
    ) -> Result<Prepared, Error> {
        let breaks = checks::breaks(trace.functions().len(), functions.iter().copied());
        let calls = Calls::of(trace, &breaks)?;
        Prepared::prepare(trace, (machines, machines), (breaks, Some(calls)), options)
    }

    /// Reads the trace for replays on `machine` with one split and arbitrary page maps of its L2s.
    ///
    /// # Errors
    /// Those of [`crate::replay()`].
    pub fn for_page_maps(
        trace: &Trace,
        machine: &Machine,
        split: &Split,
        options: &ReplayOptions,
    ) -> Result<Prepared, Error> {
        // In this L2, lines at the same offset in their pages share a set.
        let page = PAGE_BYTES * u64::from(machine.l2.ways);
        let l2 = Level {
            size_bytes: page.min(machine.l2.size_bytes),
            ..machine.l2
        };
        let of_one_page = Machine {
            l2,
            ..machine.clone()
        };
        let breaks = checks::breaks(trace.functions().len(), split.functions());
        let calls = delegated_calls(trace, [split])?;
        let machines = (&[machine][..], &[&of_one_page][..]);
        let mut prepared = Prepared::prepare(trace, machines, (breaks, calls), options)?;
        prepared.page_maps = true;
        Ok(prepared)
    }

    /// Reads the trace for replays on `machines`. Dropped references are guaranteed hits on
    /// `hitting`, which have the same L1s.
    fn prepare(
        trace: &Trace,
        (machines, hitting): (&[&Machine], &[&Machine]),
        (breaks, calls): (Vec<bool>, Option<Calls>),
        options: &ReplayOptions,
    ) -> Result<Prepared, Error> {
        let chosen = chosen_requests(options, trace.requests().len())?;
        let set_partition_count = checks::set_partition_count_of(machines.iter().copied());
        let stripping = || Stripping {
            guaranteed: GuaranteedHits::new(hitting, set_partition_count),
            gathered: Vec::new(),
            entries: Vec::new(),
        };
        let mut set_partitions = checks::set_partitions(set_partition_count, stripping);
        let reading = PassInput {
            trace,
            requests: options.requests.as_ref().map(|_| &chosen[..]),
            breaks,
            calls: calls.as_ref(),
            set_partition_count,
            progress: options.progress,
        };
        let mut pieces: Vec<Piece> = Vec::new();
        pass::read(
            &reading,
            &mut set_partitions,
            |batch| {
                let first_piece = pieces.len();
                let placed = batch.placed.iter();
                pieces.extend(placed.map(|&placed| *batch.order.piece(placed)));
                first_piece
            },
            |&first_piece, batch, set_partition, stripping| {
                stripping.read_on(set_partition, batch, first_piece)
            },
        )?;
        pieces.shrink_to_fit();
        let entries_only = |(set_partition, stripping): (SetPartition, Stripping)| {
            let mut entries = stripping.entries;
            entries.shrink_to_fit();
            (set_partition, entries)
        };
        let set_partitions = set_partitions.into_iter().map(entries_only).collect();
        let caches = machines.iter().map(|machine| geometry::levels(machine));
        Ok(Prepared {
            set_partition_count,
            caches: caches.collect(),
            page_maps: false,
            breaks: reading.breaks,
            calls,
            pieces,
            set_partitions,
            first_counted: checks::first_counted(options, &chosen),
            requests: (chosen.len() - options.warm_up_requests) as u64,
        })
    }

    /// Replays the trace. All counts equal those of [`crate::replay()`] of the trace with the
    /// options it was prepared with.
    ///
    /// # Errors
    /// [`Error::TooManyCores`] if the split needs more cores than the machine has.
    ///
    /// # Panics
    /// If the machine's caches are not among those it was prepared for (an L3 may be missing). If
    /// the split moves threads at other functions. If the split delegates calls and it was not
    /// prepared with them.
    pub fn replay(&self, machine: &Machine, split: &Split) -> Result<Replay, Error> {
        self.replay_rounds(machine, split, 1)
    }

    /// Replays the trace `rounds` times without emptying a cache or moving a thread between rounds,
    /// and counts all rounds. Calls that are open at the end of a round end there. The reported
    /// requests are those of one round.
    ///
    /// # Errors
    /// Those of [`Prepared::replay`].
    ///
    /// # Panics
    /// Those of [`Prepared::replay`].
    pub fn replay_rounds(
        &self,
        machine: &Machine,
        split: &Split,
        rounds: usize,
    ) -> Result<Replay, Error> {
        let geometry = |cores| Geometry::new(machine, cores, self.set_partition_count);
        let (replay, _) = self.run::<()>(machine, split, &geometry, rounds)?;
        Ok(replay)
    }

    /// Replays the trace with pages placed by `map` in each L2, and with a watch for each set
    /// partition. All counts equal those of [`crate::replay_watched`].
    ///
    /// # Errors
    /// Those of [`Prepared::replay`].
    ///
    /// # Panics
    /// Those of [`Prepared::replay`], and if it was not prepared for page maps.
    pub fn replay_watched<W: Watch>(
        &self,
        (machine, split): (&Machine, &Split),
        map: &PageMap,
    ) -> Result<(Replay, Vec<W>), Error> {
        assert!(self.page_maps, "prepared for L2s without a page map");
        let geometry = |cores| {
            let geometry = Geometry::new(machine, cores, self.set_partition_count);
            geometry.with_page_map(map)
        };
        self.run(machine, split, &geometry, 1)
    }

    /// Replays the trace `rounds` times on the caches that `geometry` returns for a number of
    /// cores. Also returns the watch of each set partition.
    fn run<W: Watch>(
        &self,
        machine: &Machine,
        split: &Split,
        geometry: &dyn Fn(u32) -> Geometry,
        rounds: usize,
    ) -> Result<(Replay, Vec<W>), Error> {
        checks::check_cores(machine, split)?;
        self.check_machine(machine);
        self.check_functions(split);
        let mut placement = PiecePlacement::new(split, self.calls.as_ref(), self.first_counted);
        let place = |_| {
            placement.begin_again();
            placement.place(self.pieces.iter())
        };
        let cores: Vec<Cores> = (0..rounds).map(place).collect();
        let geometry = geometry(split.cores());
        let run = |(set_partition, entries): &(SetPartition, Vec<Entry>)| {
            let mut simulation = Simulation::<W>::new(Hierarchy::new(&geometry));
            for cores in &cores {
                simulation.run(set_partition, entries, 0, cores);
            }
            (
                simulation.tally().to_vec(),
                simulation.into_watch(placement.is_counting()),
            )
        };
        let (tallies, watched): (Vec<Vec<Tally>>, Vec<W>) = self
            .set_partitions
            .par_iter()
            .with_max_len(1)
            .map(run)
            .unzip();
        let tallies = simulate::sum(split.cores(), tallies.iter().map(Vec::as_slice));
        let report = Totals {
            machine,
            placement: &placement,
            requests: self.requests,
        };
        Ok((report.replay(&tallies), watched))
    }

    /// Returns the core of each occurrence of [`crate::PrivateReplay::of_delegated`] under a split,
    /// in one round.
    ///
    /// # Panics
    /// If the split delegates calls and it was not prepared with them.
    pub fn cores(&self, split: &Split) -> Vec<CoreId> {
        self.check_functions(split);
        let mut placement = PiecePlacement::new(split, self.calls.as_ref(), self.first_counted);
        placement.place(self.pieces.iter()).cores
    }

    fn check_functions(&self, split: &Split) {
        let planned = split.functions();
        let is_break = |function: FunctionId| self.breaks.get(function.index()) == Some(&true);
        assert!(
            planned.into_iter().all(is_break),
            "prepared for splits at other functions"
        );
        assert!(
            self.calls.is_some() || split.delegated().next().is_none(),
            "prepared without calls"
        );
    }

    /// # Panics
    /// If it was prepared for other machines.
    pub(crate) fn check_machine(&self, machine: &Machine) {
        // A machine without the L3 is a different one, but it guarantees no fewer hits.
        let levels = geometry::levels(machine);
        assert!(
            self.caches.iter().any(|of| of.starts_with(&levels)),
            "prepared for other machines than {}",
            machine.name
        );
    }

    /// Returns the memory size in bytes.
    pub fn size_bytes(&self) -> usize {
        let of_set_partition = |(set_partition, entries): &(SetPartition, Vec<Entry>)| {
            entries.capacity() * size_of::<Entry>() + set_partition.lines.size_bytes()
        };
        let set_partitions: usize = self.set_partitions.iter().map(of_set_partition).sum();
        set_partitions + self.pieces.capacity() * size_of::<Piece>()
    }
}

/// The remaining references of a set partition during the pass.
struct Stripping {
    guaranteed: GuaranteedHits,
    /// Buffer for the next references.
    gathered: Vec<Entry>,
    entries: Vec<Entry>,
}

impl Stripping {
    /// Appends the references of the placed pieces; the first piece has the index `first_piece`.
    fn read_on(
        &mut self,
        set_partition: &mut SetPartition,
        batch: PieceBatch<'_>,
        first_piece: usize,
    ) {
        self.gathered.clear();
        set_partition.gather(batch.order, batch.placed, first_piece, &mut self.gathered);
        let quotients = set_partition.lines.numbers();
        for (mark, references) in entry::pieces(&self.gathered) {
            self.entries.push(mark);
            self.guaranteed
                .strip(references, quotients, &mut self.entries);
        }
    }
}
