//! The heap objects on lines that threads take from each other.
//!
//! Memory is reused, so an object has a line only for a while. A line is named after the objects
//! that its takes were of; they are rare, so a lookup at each costs little.

use crate::heap::{LiveObjects, Sites};
use corehop_simulator::LineId;
use corehop_traces::Trace;
use std::collections::HashMap;
use std::ops::Range;

/// An object of which threads took a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Its bytes, as addresses of accesses.
    pub bytes: Range<u64>,
    /// The number of the place that made it.
    pub site: u32,
}

/// The objects of all lines.
pub(super) struct TakenObjects<'a> {
    live: LiveObjects<'a>,
    sites: &'a Sites,
    by_line: HashMap<LineId, Vec<Taken>>,
}

impl<'a> TakenObjects<'a> {
    /// Before the first run; without `sites`, there are no objects.
    pub fn new(trace: &'a Trace, sites: &'a Sites) -> TakenObjects<'a> {
        TakenObjects {
            live: LiveObjects::of(trace),
            sites,
            by_line: HashMap::new(),
        }
    }

    /// Begins a run.
    pub fn run(&mut self, stamp: u64) {
        if !self.sites.all.is_empty() {
            self.live.advance(stamp, |_| {});
        }
    }

    /// A thread takes the line with an access to this address.
    pub fn take(&mut self, line: LineId, address: u64) {
        let Some((bytes, event)) = self.live.object_at(address) else {
            return;
        };
        let site = self.sites.of_object(event);
        let taken = Taken { bytes, site };
        let of_line = self.by_line.entry(line).or_default();
        if !of_line.contains(&taken) {
            of_line.push(taken);
        }
    }

    /// Forgets all takes.
    pub fn clear(&mut self) {
        self.by_line.clear();
    }

    /// Returns the objects of a line, by address.
    pub fn of(&self, line: LineId) -> Vec<&Taken> {
        let mut taken: Vec<&Taken> = self.by_line.get(&line).into_iter().flatten().collect();
        taken.sort_by_key(|of| (of.bytes.start, of.bytes.end, of.site));
        taken
    }
}
