//! A lower bound on the misses of one core under any replacement policy of its private caches.
//!
//! Two kinds of misses occur under every replacement policy:
//!
//! - The first reference to a line, and the first one after another core stored to it.
//! - In any *window* of time, the caches can keep only as many lines of one L2 set as they held
//!   when the window began. The core misses on all other lines of that set that it references again
//!   in the window.
//!
//! The sum of these misses is therefore at most [`PrivateReplay::tally`]. Counting them needs no
//! caches, only two facts about each line: whether the core has referenced it, and whether it has
//! referenced it in this window. Each fact is one bit, so [`LANES`] sets of occurrences are counted
//! together, each in its own bit of a word. This is a hundred times as fast as simulating them one
//! after the other.
//!
//! While a core holds a line, further references to it change nothing. Of consecutive references to
//! a line by the same occurrence, only the first is therefore kept. A window ends when the number
//! of referenced lines of its set is a few times what the caches hold. With far fewer lines nothing
//! is missed; with far more, lines recur and count only once. The best length depends on the share
//! of the program that runs on the core. Several lengths are tried and the largest count is used,
//! because each is a lower bound.

use super::private_replay::PrivateReplay;
use crate::filters::entry::{kind, line};
use crate::ids::LineId;
use corehop_traces::Kind;
use rayon::prelude::*;

/// Number of sets of occurrences that are counted together.
pub const LANES: usize = u64::BITS as usize;

/// Window lengths: the number of lines in a window as a multiple of what the caches hold.
const LENGTHS: [u32; 2] = [2, 4];

/// For each set partition, how occurrences reference its lines.
pub struct LowerBound {
    set_partitions: Vec<PartitionMeetings>,
    held_lines: u32,
}

struct PartitionMeetings {
    l2_sets: Vec<u32>,
    meetings: Vec<Meeting>,
}

/// Consecutive references to a line by one occurrence.
#[derive(Clone, Copy)]
struct Meeting {
    line: LineId,
    occurrence: u32,
    /// Whether the first reference is a fetch.
    is_fetch: bool,
    /// Whether any reference is a store.
    stores: bool,
    /// For each length, whether this is the first meeting of its line in a window.
    is_first: [bool; LENGTHS.len()],
    /// For each length, whether a window of its set begins here.
    begins: [bool; LENGTHS.len()],
}

/// Which misses to count: those of fetches, and those of loads and stores.
pub type Counted = [bool; 2];

/// For each lane: misses of fetches on lines that the core did not have, the same of loads and
/// stores, and capacity misses of the counted kinds.
pub type OfLanes = [[u64; LANES]; 3];

impl LowerBound {
    /// Creates the bound for one core of the machine of `private_replay`.
    pub fn new(private_replay: &PrivateReplay) -> LowerBound {
        LowerBound::of_together(private_replay, 1)
    }

    /// Creates the bound for the sum of misses of `cores` such cores, wherever occurrences run. A
    /// line that none of them held when a window began is missed by its first reference. A lane
    /// represents all cores together.
    pub fn of_together(private_replay: &PrivateReplay, cores: u32) -> LowerBound {
        let held_lines = private_replay.held_lines.saturating_mul(cores);
        let set_partitions = (0..private_replay.set_partitions()).into_par_iter();
        LowerBound {
            set_partitions: set_partitions
                .map(|index| PartitionMeetings::new(private_replay, index, held_lines))
                .collect(),
            held_lines,
        }
    }

    /// Returns a lower bound on the misses of cores on lines of `set_partition`; core `i` runs the
    /// occurrences whose entry in `runs` has bit `i` set.
    ///
    /// # Panics
    /// If `set_partition` is out of range, or `runs` is too short.
    pub fn misses(&self, set_partition: usize, runs: &[u64], counted: Counted) -> OfLanes {
        let mut count = Count::new(&self.set_partitions[set_partition], self.held_lines);
        count.count(runs, counted);
        let windows = count.windows.map(|windows| windows.misses.sums());
        let mut largest = [0; LANES];
        for misses in windows {
            let lanes = largest.iter_mut().zip(misses);
            lanes.for_each(|(largest, misses)| *largest = misses.max(*largest));
        }
        let [fetches, data] = count.cold.map(|columns| columns.sums());
        [fetches, data, largest]
    }
}

impl PartitionMeetings {
    fn new(private_replay: &PrivateReplay, index: usize, held_lines: u32) -> PartitionMeetings {
        let l2_sets = private_replay.l2_sets(index).to_vec();
        let mut last: Vec<Option<usize>> = vec![None; l2_sets.len()];
        let mut meetings: Vec<Meeting> = Vec::new();
        private_replay.each_reference(index, |occurrence, entry| {
            let (line, kind) = (line(entry), kind(entry));
            let last = &mut last[line.index()];
            match last.map(|index| &mut meetings[index]) {
                Some(meeting) if meeting.occurrence == occurrence => {
                    meeting.stores |= kind == Kind::Store;
                }
                _ => {
                    *last = Some(meetings.len());
                    meetings.push(Meeting {
                        line,
                        occurrence,
                        is_fetch: kind == Kind::Fetch,
                        stores: kind == Kind::Store,
                        is_first: [false; LENGTHS.len()],
                        begins: [false; LENGTHS.len()],
                    });
                }
            }
        });
        let mut set_partition = PartitionMeetings { l2_sets, meetings };
        for (index, length) in LENGTHS.into_iter().enumerate() {
            set_partition.cut(index, length.saturating_mul(held_lines));
        }
        set_partition
    }

    /// Marks where windows of the `index`th length begin; each window has `lines` lines.
    fn cut(&mut self, index: usize, lines: u32) {
        let sets = self.sets();
        let (mut window, mut met) = (vec![0u32; sets], vec![0; sets]);
        let mut last_window = vec![u32::MAX; self.l2_sets.len()];
        for meeting in &mut self.meetings {
            let set = self.l2_sets[meeting.line.index()] as usize;
            let last = &mut last_window[meeting.line.index()];
            if *last == window[set] {
                continue;
            }
            if met[set] == lines {
                met[set] = 0;
                window[set] += 1;
                meeting.begins[index] = true;
            }
            met[set] += 1;
            *last = window[set];
            meeting.is_first[index] = true;
        }
    }

    fn sets(&self) -> usize {
        self.l2_sets
            .iter()
            .max()
            .map_or(0, |&last| last as usize + 1)
    }
}

/// A count in progress.
struct Count<'a> {
    set_partition: &'a PartitionMeetings,
    /// For each line, the cores that have referenced it since another core stored to it.
    has: Vec<u64>,
    /// Misses on lines that the core did not have: of fetches, and of loads and stores.
    cold: [Columns; 2],
    windows: [Windows; LENGTHS.len()],
    room: u32,
}

/// The part of a count that depends on windows of one length.
struct Windows {
    /// For each line, the cores that referenced it in this window.
    referenced: Vec<u64>,
    /// For each set, the number of lines referenced again in this window that may have been cached,
    /// at most the capacity.
    again: Vec<Columns>,
    /// Capacity misses.
    misses: Columns,
}

impl<'a> Count<'a> {
    fn new(set_partition: &'a PartitionMeetings, room: u32) -> Count<'a> {
        let lines = set_partition.l2_sets.len();
        let windows = || Windows {
            referenced: vec![0; lines],
            again: vec![Columns::default(); set_partition.sets()],
            misses: Columns::default(),
        };
        Count {
            set_partition,
            has: vec![0; lines],
            cold: Default::default(),
            windows: std::array::from_fn(|_| windows()),
            room,
        }
    }

    fn count(&mut self, runs: &[u64], counted: Counted) {
        for meeting in &self.set_partition.meetings {
            let line = meeting.line.index();
            let runs = runs[meeting.occurrence as usize];
            let has = &mut self.has[line];
            let set = self.set_partition.l2_sets[line] as usize;
            let kind = usize::from(!meeting.is_fetch);
            self.cold[kind].add(runs & !*has);
            for (length, windows) in self.windows.iter_mut().enumerate() {
                let (referenced, again) = (&mut windows.referenced[line], &mut windows.again[set]);
                if meeting.begins[length] {
                    *again = Columns::default();
                }
                if meeting.is_first[length] {
                    *referenced = 0;
                }
                if counted[kind] {
                    let back = runs & *has & !*referenced;
                    let full = again.are_at(self.room);
                    windows.misses.add(back & full);
                    again.add(back & !full);
                }
                *referenced |= runs;
            }
            *has |= runs;
            if meeting.stores {
                *has &= runs;
            }
        }
    }
}

/// A counter for each lane, stored bit by bit: the lowest bits of all lanes are in the first word,
/// and so on.
#[derive(Clone, Default)]
struct Columns([u64; 24]);

impl Columns {
    #[inline]
    fn add(&mut self, mut lanes: u64) {
        for column in &mut self.0 {
            if lanes == 0 {
                break;
            }
            (*column, lanes) = (*column ^ lanes, *column & lanes);
        }
    }

    /// Returns the lanes whose counter equals `most`. No counter may exceed `most`: no smaller
    /// number has all bits of `most` set.
    #[inline]
    fn are_at(&self, most: u32) -> u64 {
        let bits = (0..).zip(self.0).filter(|(bit, _)| most >> bit & 1 == 1);
        bits.fold(u64::MAX, |are, (_, column)| are & column)
    }

    fn sums(&self) -> [u64; LANES] {
        let sum = |lane: usize| {
            let bits = (0..).zip(self.0);
            bits.map(|(bit, column)| (column >> lane & 1) << bit).sum()
        };
        std::array::from_fn(sum)
    }
}
