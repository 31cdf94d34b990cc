//! Pages that forked processes share because none has written them since the fork.
//!
//! A fork copies no memory: both processes share pages until one of them writes. /proc/PID/pagemap
//! shows the still shared pages at the end of a recording, because shared pages are only ever
//! separated. It shows for each page whether it is shared and, with privileges, its frame. Pages
//! with the same address and frame are the same. If frames are hidden, all shared pages at one
//! address count as the same. Processes that have ended, or cannot be read, share no pages.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Pages that a process shares with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    /// The process id.
    pub process: u32,
    /// Addresses.
    pub range: Range<u64>,
    /// Equal for processes that share the pages at these addresses.
    pub group: u32,
}

const PAGE_BYTES: u64 = 4096;

/// Larger mappings, beyond 64 GiB, are reservations with hardly a page in use.
const LARGEST_MAPPING_BYTES: u64 = 1 << 36;

/// Bits of a pagemap entry, see proc_pid_pagemap(5).
const PRESENT: u64 = 1 << 63;
const ALONE: u64 = 1 << 56;
const FRAME: u64 = (1 << 55) - 1;

/// A shared page: its address, and its frame or 0 if hidden.
type Page = (u64, u64);

/// Returns the shared pages of these processes, by process and ascending address.
pub fn common(processes: &[u32]) -> Vec<Common> {
    let pages: Vec<(u32, Vec<Page>)> = processes
        .iter()
        .map(|&process| (process, pages_of(process).unwrap_or_default()))
        .collect();
    group(&pages)
}

fn group(pages: &[(u32, Vec<Page>)]) -> Vec<Common> {
    let mut owners: HashMap<Page, u32> = HashMap::new();
    for page in pages.iter().flat_map(|(_, pages)| pages) {
        *owners.entry(*page).or_default() += 1;
    }
    owners.retain(|_, owners| *owners > 1);
    let mut shared: Vec<Page> = owners.into_keys().collect();
    shared.sort_unstable();
    // Frames at one address are numbered from 0, so that adjacent pages have the same number.
    let mut groups: HashMap<Page, u32> = HashMap::new();
    for at_address in shared.chunk_by(|one, next| one.0 == next.0) {
        groups.extend(at_address.iter().copied().zip(0..));
    }
    let mut common: Vec<Common> = Vec::new();
    for &(process, ref pages) in pages {
        for page in pages {
            let Some(&group) = groups.get(page) else {
                continue;
            };
            let end = page.0 + PAGE_BYTES;
            match common.last_mut() {
                Some(last)
                    if (last.process, last.range.end, last.group) == (process, page.0, group) =>
                {
                    last.range.end = end;
                }
                _ => common.push(Common {
                    process,
                    range: page.0..end,
                    group,
                }),
            }
        }
    }
    common
}

/// Returns the shared pages of a process's private memory; `None` if it cannot be read.
fn pages_of(process: u32) -> Option<Vec<Page>> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let pagemap = File::open(format!("/proc/{process}/pagemap")).ok()?;
    let mut pages = Vec::new();
    for range in maps.lines().filter_map(own_memory) {
        let count = (range.end - range.start) / PAGE_BYTES;
        let mut entries = vec![0; 8 * count as usize];
        pagemap
            .read_exact_at(&mut entries, range.start / PAGE_BYTES * 8)
            .ok()?;
        for (entry, address) in entries.as_chunks().0.iter().zip(range.step_by(4096)) {
            let entry = u64::from_le_bytes(*entry);
            if entry & PRESENT != 0 && entry & ALONE == 0 {
                pages.push((address, entry & FRAME));
            }
        }
    }
    Some(pages)
}

/// Returns the addresses in a line of maps if the memory is private and writable.
fn own_memory(line: &str) -> Option<Range<u64>> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).ok());
    let range = start?..end?;
    let is_own = rest.as_bytes().get(1) == Some(&b'w') && rest.as_bytes().get(3) == Some(&b'p');
    (is_own && range.end - range.start <= LARGEST_MAPPING_BYTES).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(process: u32, range: Range<u64>, group: u32) -> Common {
        Common {
            process,
            range,
            group,
        }
    }

    #[test]
    fn pages_with_one_frame_are_common_and_neighbours_are_one_range() {
        let pages = [
            (5, vec![(0x1000, 70), (0x2000, 71), (0x3000, 72)]),
            (6, vec![(0x1000, 70), (0x2000, 71), (0x3000, 80)]),
        ];
        let both = 0x1000..0x3000;
        assert_eq!(
            group(&pages),
            [common(5, both.clone(), 0), common(6, both, 0)]
        );
    }

    #[test]
    fn two_pairs_of_processes_have_a_group_each() {
        let pages = [70, 71, 70, 71].map(|frame| vec![(0x1000, frame)]);
        let pages: Vec<_> = (1..).zip(pages).collect();
        let groups: Vec<u32> = group(&pages).iter().map(|common| common.group).collect();
        assert_eq!(groups, [0, 1, 0, 1]);
    }

    #[test]
    fn where_frames_are_hidden_pages_that_are_not_alone_are_common() {
        let pages = [(5, vec![(0x1000, 0), (0x7000, 0)]), (6, vec![(0x1000, 0)])];
        let page = 0x1000..0x2000;
        assert_eq!(
            group(&pages),
            [common(5, page.clone(), 0), common(6, page, 0)]
        );
    }

    #[test]
    fn only_memory_that_a_process_writes_for_itself_is_looked_at() {
        let own = "1000-3000 rw-p 00000000 00:00 0      [heap]";
        assert_eq!(own_memory(own), Some(0x1000..0x3000));
        assert_eq!(
            own_memory("1000-3000 rw-s 00000000 00:01 7 /dev/zero"),
            None
        );
        assert_eq!(
            own_memory("1000-3000 r--p 00000000 fe:00 7 /bin/true"),
            None
        );
        assert_eq!(own_memory("1000-800000001000 rw-p 00000000 00:00 0"), None);
    }

    #[test]
    fn a_process_that_is_gone_has_nothing_in_common() {
        assert_eq!(super::common(&[u32::MAX - 1]), []);
    }
}
