//! A second implementation of the interval model, literally by the rules in its header and with the
//! complete history; and, in [`window`], of the window model.

#![allow(dead_code)] // Each test uses its part.

pub mod window;

use corehop_simulator::Core;
use corehop_traces::Kind;

/// Parts of a cycle that a clock counts.
pub const PARTS: u64 = 65_536;

/// A reference, and the response of the caches.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    pub kind: Kind,
    pub line: u64,
    /// Whether it hit its L1.
    pub is_hit: bool,
    /// Latency of the level that served it.
    pub latency: u64,
    /// Latency of a transfer, if it is a store that invalidated its line in other caches.
    pub taken: Option<u64>,
    /// Distance back to the load that its address comes from.
    pub back: u8,
    /// Cycles of its address translation.
    pub translation: u64,
}

impl Made {
    /// Returns the latency of the line and the translation, unless both hit.
    fn missed(&self) -> Option<u64> {
        match (self.is_hit, self.translation) {
            (true, 0) => None,
            (true, cycles) => Some(cycles),
            (false, cycles) => Some(self.latency + cycles),
        }
    }

    /// Returns the latency of a store's line, if it has to be translated, brought or invalidated.
    fn store_latency(&self) -> Option<u64> {
        let taken = self.taken.map(|taken| taken + self.translation);
        self.missed().max(taken)
    }
}

/// Returns when a line came, according to the loads that missed.
fn came(missed: &[(u64, u64)], line: u64) -> u64 {
    let last = missed.iter().rfind(|(of, _)| *of == line);
    last.map_or(0, |(_, done)| *done)
}

/// Loads that wait together.
#[derive(Clone)]
struct Group {
    position: u64,
    began: u64,
}

/// A core.
#[derive(Clone)]
pub struct Naive {
    core: Core,
    now: u64,
    position: u64,
    pub stalls: u64,
    group: Option<Group>,
    loads: Vec<u64>,
    /// Loads that missed: the line, and when it came.
    missed: Vec<(u64, u64)>,
    stores: Vec<u64>,
}

impl Naive {
    pub fn new(core: Core) -> Naive {
        Naive {
            core,
            now: 0,
            position: 0,
            stalls: 0,
            group: None,
            loads: Vec::new(),
            missed: Vec::new(),
            stores: Vec::new(),
        }
    }

    pub fn cycle(&self) -> u64 {
        self.now / PARTS
    }

    pub fn wait_until(&mut self, cycle: u64) {
        self.now = self.now.max(cycle * PARTS);
    }

    pub fn instructions(&mut self, count: u32) {
        let rate = f64::from(self.core.instructions_in_1000_cycles) / 1000.0;
        self.position += u64::from(count);
        self.now += u64::from(count) * ((PARTS as f64 / rate).round() as u64).max(1);
    }

    pub fn reference(&mut self, made: Made) {
        match made.kind {
            Kind::Fetch => self.now += made.missed().unwrap_or(0) * PARTS,
            Kind::Load => {
                self.load(made);
                if !made.is_hit {
                    self.missed.push((made.line, *self.loads.last().unwrap()));
                }
            }
            Kind::Store => self.store(made.store_latency()),
        }
    }

    fn load(&mut self, made: Made) {
        let source = match usize::from(made.back) {
            0 => None,
            back => self.loads.len().checked_sub(back),
        };
        let mut source_done = source.map_or(0, |source| self.loads[source]);
        if made.is_hit {
            source_done = source_done.max(came(&self.missed, made.line));
        }
        let Some(latency) = made.missed() else {
            self.loads.push(source_done);
            return;
        };
        let begins = Group {
            position: self.position,
            began: self.stalls,
        };
        let window = u64::from(self.core.reorder_window_instructions);
        let group = match self.group.take() {
            Some(group) if self.position - group.position < window => {
                let issued = group.began.max(source_done);
                if issued == self.stalls { begins } else { group }
            }
            _ => begins,
        };
        let done = group.began.max(source_done) + latency;
        if done > self.stalls {
            self.now += (done - self.stalls) * PARTS;
            self.stalls = done;
        }
        self.group = Some(group);
        self.loads.push(done);
    }

    fn store(&mut self, missed: Option<u64>) {
        let entries = self.core.store_buffer_entries as usize;
        if let Some(place) = self.stores.len().checked_sub(entries) {
            self.now = self.now.max(self.stores[place]);
        }
        let before = self.stores.last().copied().unwrap_or(0);
        self.stores.push(match missed {
            None => before,
            Some(latency) => before.max(self.now + latency * PARTS),
        });
    }

    /// Continues elsewhere than predicted, after this load back, if any.
    pub fn mispredicted(&mut self, back: usize) {
        self.now += u64::from(self.core.mispredict_cycles) * PARTS;
        self.group = self.group.take().filter(|_| back == 0);
    }

    pub fn switch(&mut self) {
        let last = self.stores.last().copied().unwrap_or(0);
        self.now = self.now.max(last);
        self.group = None;
    }
}
