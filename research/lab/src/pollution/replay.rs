//! Replays with a pollute buffer in each L2, and counts of each page's L2 accesses and misses.

use super::colours::{Colours, PolluteBuffer};
use super::error::Error;
use corehop_simulator::{
    CacheLevel, Cause, CoreId, LineId, Machine, Observer, PAGE_BYTES, PageMap, Prepared, Replay,
    ReplayOptions, Setting, Split, Watch, replay_watched,
};
use corehop_traces::{Kind, Trace};
use std::collections::BTreeMap;

/// The L2 accesses of a page, and their misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageUse {
    /// The page's number: an address divided by [`PAGE_BYTES`].
    pub page: u64,
    /// Number of accesses to its lines that an L1 missed.
    pub l2_accesses: u64,
    /// Accesses that the L2 also missed.
    pub l2_misses: u64,
}

/// Replays `trace` in one setting, once with each of these buffers, all in one pass over the trace.
/// For each replay, returns the L2 accesses and misses of every page of the trace.
///
/// # Errors
/// Those of [`corehop_simulator::replay_all`].
///
/// # Panics
/// If a buffer is for other L2s.
pub fn replay_with_buffers(
    trace: &Trace,
    setting: Setting<'_>,
    buffers: &[&PolluteBuffer],
    options: &ReplayOptions<'_>,
) -> Result<Vec<(Replay, Vec<PageUse>)>, corehop_simulator::Error> {
    let maps = buffers.iter().map(|buffer| map(setting.machine, buffer));
    let maps: Vec<PageMap> = maps.collect();
    let maps: Vec<&PageMap> = maps.iter().collect();
    let replays = replay_watched::<ByLine>(trace, setting, &maps, options)?;
    let by_page = |(replay, watched): (_, Vec<ByLine>)| (replay, pages(&watched));
    Ok(replays.into_iter().map(by_page).collect())
}

/// Reads the trace for replays on `machine` with one split, and arbitrary pages confined to buffers
/// of its L2s.
///
/// # Errors
/// Those of [`corehop_simulator::replay()`], and [`Error::TooFewColours`].
pub fn prepare(
    trace: &Trace,
    machine: &Machine,
    split: &Split,
    options: &ReplayOptions<'_>,
) -> Result<Prepared, Error> {
    Colours::of(machine)?;
    Ok(Prepared::for_page_maps(trace, machine, split, options)?)
}

/// Replays the result of [`prepare`] with pages confined to a buffer. All counts equal those of
/// [`replay_with_buffers`].
///
/// # Errors
/// Those of [`Prepared::replay`].
///
/// # Panics
/// Those of [`Prepared::replay_watched`], and if the buffer is for other L2s.
pub fn replay_with_buffer(
    prepared: &Prepared,
    (machine, split): (&Machine, &Split),
    buffer: &PolluteBuffer,
) -> Result<Replay, corehop_simulator::Error> {
    let (replay, _) = prepared.replay_watched::<()>((machine, split), &map(machine, buffer))?;
    Ok(replay)
}

/// Does the same, and also returns the L2 accesses and misses of every page.
///
/// # Errors
/// Those of [`Prepared::replay`].
///
/// # Panics
/// Those of [`replay_with_buffer`].
pub fn pages_with_buffer(
    prepared: &Prepared,
    (machine, split): (&Machine, &Split),
    buffer: &PolluteBuffer,
) -> Result<(Replay, Vec<PageUse>), corehop_simulator::Error> {
    let map = map(machine, buffer);
    let (replay, watched) = prepared.replay_watched::<ByLine>((machine, split), &map)?;
    Ok((replay, pages(&watched)))
}

fn map(machine: &Machine, buffer: &PolluteBuffer) -> PageMap {
    let is_for_these = Colours::of(machine).is_ok_and(|colours| colours == buffer.colours());
    assert!(is_for_these, "a pollute buffer for other L2s");
    buffer.page_map()
}

/// L2 accesses and misses in a set partition, by line.
#[derive(Default)]
struct ByLine {
    pages: Vec<u64>,
    counts: Vec<[u64; 2]>,
}

impl Observer for ByLine {
    fn missed(&mut self, level: CacheLevel, _: CoreId, _: Kind, _: Cause, line: LineId) {
        let place = match level {
            CacheLevel::L1I | CacheLevel::L1D => 0,
            CacheLevel::L2 => 1,
            CacheLevel::L3 => return,
        };
        self.counts[line.index()][place] += 1;
    }
}

impl Watch for ByLine {
    fn register(&mut self, numbers: impl Iterator<Item = u64>) {
        let page_lines = PAGE_BYTES / 64;
        self.pages.extend(numbers.map(|number| number / page_lines));
        self.counts.resize(self.pages.len(), [0; 2]);
    }

    fn start_counting(&mut self) {
        self.counts.fill([0; 2]);
    }
}

/// Returns the pages of all lines of these set partitions, ascending, including pages without
/// counts.
fn pages(set_partitions: &[ByLine]) -> Vec<PageUse> {
    let mut pages: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for ByLine { pages: of, counts } in set_partitions {
        for (&page, counts) in of.iter().zip(counts) {
            let sums = pages.entry(page).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, of)| *sum += of);
        }
    }
    let of_page = |(page, [l2_accesses, l2_misses]): (u64, [u64; 2])| PageUse {
        page,
        l2_accesses,
        l2_misses,
    };
    pages.into_iter().map(of_page).collect()
}
