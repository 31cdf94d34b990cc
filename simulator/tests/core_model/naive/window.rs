//! A second implementation of the window model by the rules in its header, with the complete
//! history.

use super::{Made, PARTS, came};
use corehop_simulator::Core;
use corehop_traces::Kind;

/// A core.
#[derive(Clone)]
pub struct Naive {
    core: Core,
    now: u64,
    position: u64,
    /// Position, completion time, and time of leaving.
    loads: Vec<(u64, u64, u64)>,
    /// Loads that missed: the line, and when it came.
    missed: Vec<(u64, u64)>,
    /// Completion time of each store.
    stores: Vec<u64>,
}

impl Naive {
    pub fn new(core: Core) -> Naive {
        Naive {
            core,
            now: 0,
            position: 0,
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
        let window = u64::from(self.core.reorder_window_instructions);
        let behind = |&&(position, ..): &&(u64, u64, u64)| position + window <= self.position;
        let left = self.loads.iter().filter(behind).map(|load| load.2).max();
        self.now = self.now.max(left.unwrap_or(0));
    }

    pub fn reference(&mut self, made: Made) {
        let last_left = self.loads.last().map_or(0, |load| load.2);
        match made.kind {
            Kind::Fetch => self.now += made.missed().unwrap_or(0) * PARTS,
            Kind::Load => {
                let source = match made.back {
                    0 => None,
                    back => self.loads.len().checked_sub(usize::from(back)),
                };
                let source_done = source.map_or(0, |source| self.loads[source].1);
                let latency = made.latency + made.translation;
                let mut done = self.now.max(source_done) + latency * PARTS;
                if made.is_hit {
                    done = done.max(came(&self.missed, made.line));
                } else {
                    self.missed.push((made.line, done));
                }
                self.loads.push((self.position, done, last_left.max(done)));
            }
            Kind::Store => {
                let entries = self.core.store_buffer_entries as usize;
                if let Some(place) = self.stores.len().checked_sub(entries) {
                    self.now = self.now.max(self.stores[place]);
                }
                let before = self.stores.last().copied().unwrap_or(0);
                self.stores.push(match made.store_latency() {
                    None => before,
                    Some(latency) => before.max(self.now.max(last_left) + latency * PARTS),
                });
            }
        }
    }

    /// Continues elsewhere than predicted, after this load back, if any.
    pub fn mispredicted(&mut self, back: usize) {
        let load = match back {
            0 => None,
            back => self.loads.len().checked_sub(back),
        };
        let decided = load.map_or(0, |load| self.loads[load].1);
        let cycles = u64::from(self.core.mispredict_cycles);
        self.now = self.now.max(decided) + cycles * PARTS;
    }

    pub fn switch(&mut self) {
        let left = self.loads.last().map_or(0, |load| load.2);
        let stored = self.stores.last().copied().unwrap_or(0);
        self.now = self.now.max(left).max(stored);
    }
}
