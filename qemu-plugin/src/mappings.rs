// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines which file the code at an address comes from.
//!
//! The process's mappings show this. They are read again whenever code is found at an unmapped
//! address, which covers libraries opened at any time. QEMU removes the guest's permission to
//! execute, so a mapping counts as code when code is found in it. If something new is mapped,
//! previous mappings there are removed. In a whole machine, files are identified by page contents
//! instead (`system::pages`).

use crate::maps::{self, Line};
use crate::system::pages::Pages;
use corehop_wire::ring::{Message, RequestMarker};
use std::ops::Range;

/// The mappings in which code was found so far.
pub(crate) struct Mappings {
    known: Vec<Range<u64>>,
    request_marker: RequestMarker,
    marker: Option<u64>,
    /// The pages of a whole machine.
    pages: Option<Pages>,
}

impl Mappings {
    /// Returns an empty set of mappings.
    pub(crate) fn new(request_marker: RequestMarker, pages: Option<Pages>) -> Self {
        Mappings {
            known: Vec::new(),
            request_marker,
            marker: None,
            pages,
        }
    }

    /// Removes all mappings, in a forked child whose mappings are its own from now on.
    pub(crate) fn forget_all(&mut self) {
        self.known.clear();
    }

    /// Removes mappings at these addresses; returns whether there was code.
    pub(crate) fn forget(&mut self, range: &Range<u64>) -> bool {
        let before = self.known.len();
        self.known
            .retain(|known| known.end <= range.start || range.end <= known.start);
        self.known.len() < before
    }

    /// Returns the request marker.
    pub(crate) fn request_marker(&self) -> &RequestMarker {
        &self.request_marker
    }

    /// Returns the guest address at which a request begins, once its file is mapped.
    pub(crate) fn marker(&self) -> Option<u64> {
        self.marker
    }

    /// Handles code in a whole machine, in a page with these contents; returns the message to send
    /// if the code belongs to another file than known.
    pub(crate) fn meet(&mut self, address: u64, page: &[u8]) -> Option<Message> {
        let pages = self.pages.as_mut()?;
        let met = pages.meet(address, page);
        self.marker = match &self.request_marker {
            RequestMarker::At { path, file_offset } => {
                pages.address_of(address, path, *file_offset)
            }
            _ => None,
        };
        met
    }

    /// Looks up the mapping around `address`; returns the message to send if it is new.
    pub(crate) fn discover(&mut self, address: u64) -> Option<Message> {
        if self.known.iter().any(|range| range.contains(&address)) {
            return None;
        }
        let found = maps::lines()
            .into_iter()
            .find(|line| line.range.contains(&address))
            .unwrap_or_else(|| page_of(address));
        self.known.push(found.range.clone());
        if let RequestMarker::At { path, file_offset } = &self.request_marker
            && found.path == *path
        {
            let size_bytes = found.range.end - found.range.start;
            let within = file_offset.checked_sub(found.file_offset);
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

/// Returns the page around an address without a known mapping.
fn page_of(address: u64) -> Line {
    let start = address & !0xfff;
    Line {
        range: start..start.saturating_add(0x1000),
        writable: false,
        shared: false,
        file_offset: 0,
        identity: [0; 2],
        path: String::new(),
    }
}
