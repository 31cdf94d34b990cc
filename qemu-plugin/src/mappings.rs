// SPDX-License-Identifier: GPL-2.0-or-later
//! Which file the code at an address comes from.
//!
//! In user mode guest addresses are the process's own, so /proc/self/maps says it. It is read
//! again whenever code is met where none was before, which covers libraries opened at any time.
//! QEMU strips the guest's permission to execute, so a mapping is code when code is found in it.
//! Code that is unmapped and replaced by other code at the same address keeps the first one's file.

use corehop_ring::Message;
use std::ops::Range;

/// The mappings that code was found in so far.
pub(crate) struct Mappings {
    known: Vec<Range<u64>>,
    marker_path: String,
    marker_offset: u64,
    marker: Option<u64>,
}

impl Mappings {
    /// Knows none yet. A request begins at `marker_offset` in the file `marker_path`.
    pub(crate) fn new(marker_path: String, marker_offset: u64) -> Self {
        Mappings {
            known: Vec::new(),
            marker_path,
            marker_offset,
            marker: None,
        }
    }

    /// Guest address at which a request begins, once its file is mapped.
    pub(crate) fn marker(&self) -> Option<u64> {
        self.marker
    }

    /// Looks up the mapping around `address`; the message to send when it is a new one.
    pub(crate) fn discover(&mut self, address: u64) -> Option<Message> {
        if self.known.iter().any(|range| range.contains(&address)) {
            return None;
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let found = maps
            .lines()
            .filter_map(parse)
            .find(|line| line.range.contains(&address))
            .unwrap_or_else(|| Line::page_of(address));
        self.known.push(found.range.clone());
        if found.path == self.marker_path {
            let size_bytes = found.range.end - found.range.start;
            let within = self.marker_offset.checked_sub(found.file_offset);
            if let Some(within) = within.filter(|&within| within < size_bytes) {
                self.marker = Some(found.range.start + within);
            }
        }
        Some(Message::Mapping {
            process: std::process::id(),
            start: found.range.start,
            end: found.range.end,
            file_offset: found.file_offset,
            path: found.path,
        })
    }
}

/// One line of /proc/self/maps.
struct Line {
    range: Range<u64>,
    file_offset: u64,
    /// Empty where the memory is not a file's.
    path: String,
}

impl Line {
    fn page_of(address: u64) -> Line {
        let start = address & !0xfff;
        Line {
            range: start..start.saturating_add(0x1000),
            file_offset: 0,
            path: String::new(),
        }
    }
}

/// `start-end permissions offset device inode   path`, see proc_pid_maps(5).
fn parse(line: &str) -> Option<Line> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let _permissions = fields.next()?;
    let file_offset = hexadecimal(fields.next()?)?;
    let path = fields.nth(2).unwrap_or_default().trim_start();
    Some(Line {
        range: hexadecimal(start)?..hexadecimal(end)?,
        file_offset,
        path: if path.starts_with('/') { path } else { "" }.to_owned(),
    })
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}
