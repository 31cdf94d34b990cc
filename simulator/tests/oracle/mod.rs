//! A second implementation of the model, as slow and simple as possible, for comparison with the
//! simulator.
//!
//! It shares only the machine's description and the counters' fields with the simulator: sets are
//! lists, every store searches every cache, and the holders of a line are found by searching.

#![allow(dead_code)] // Each test uses its part of the oracle.

mod cache;
pub mod calls;
pub mod paging;

pub use cache::PageMap;

use cache::{Cache, Lost};
use corehop_simulator::{
    CacheLevel, Counters, Inclusion, KindCounters, LevelCounters, Machine, PageSize, TlbCounters,
    WalkStart,
};
use corehop_traces::Kind;
use paging::Paging;
use std::collections::HashMap;

/// Events, with the same meaning as in [`corehop_simulator::Observer`].
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Missed(CacheLevel, usize, Kind, u64),
    /// Core, line.
    LoadsFromL2(usize, u64),
    /// Level, instance, core that caused it, line.
    Replaced(CacheLevel, usize, usize, u64),
    /// Cluster, core that caused it, line.
    Invalidated(usize, usize, u64),
}

/// A whole machine.
pub struct Oracle {
    machine: Machine,
    l1i: Vec<Cache>,
    l1d: Vec<Cache>,
    l2: Vec<Cache>,
    l3: Option<Cache>,
    /// For each line, the cluster that has it modified.
    modified: HashMap<u64, usize>,
    counters: Vec<Counters>,
    /// The address translation, if any.
    paging: Option<Paging>,
    pub events: Vec<Event>,
}

/// The caches that one core uses.
struct CoreView {
    l1i: usize,
    l1d: usize,
    l2: usize,
}

impl Oracle {
    pub fn new(machine: &Machine, cores_used: u32) -> Oracle {
        let caches = |level: corehop_simulator::Level| {
            let count = cores_used.div_ceil(level.shared_by);
            (0..count).map(|_| Cache::new(level)).collect()
        };
        Oracle {
            l1i: caches(machine.l1i),
            l1d: caches(machine.l1d),
            l2: caches(machine.l2),
            l3: machine.l3.map(Cache::new),
            modified: HashMap::new(),
            machine: machine.clone(),
            counters: vec![Counters::default(); cores_used as usize],
            paging: None,
            events: Vec::new(),
        }
    }

    /// Enables address translation.
    pub fn translate(&mut self, paging: Paging) {
        self.paging = Some(paging);
    }

    /// Places pages in other sets of each L2.
    pub fn map_pages(&mut self, map: &PageMap) {
        self.l2.iter_mut().for_each(|l2| l2.map_pages(map));
    }

    fn view(&self, core: usize) -> CoreView {
        CoreView {
            l1i: core / self.machine.l1i.shared_by as usize,
            l1d: core / self.machine.l1d.shared_by as usize,
            l2: core / self.machine.l2.shared_by as usize,
        }
    }

    /// References bytes `address .. address + size_bytes` on one core.
    pub fn reference(&mut self, core: usize, kind: Kind, address: u64, size_bytes: u64) {
        let mut page = None;
        for line in address / 64..=(address + size_bytes - 1) / 64 {
            if let Some(paging) = &self.paging {
                let of_line = Some(paging.page(line * 64));
                if page != of_line {
                    page = of_line;
                    self.translate_address(core, kind, line * 64);
                }
            }
            self.access(core, kind, line);
        }
    }

    /// Looks up the page of an address; returns its size.
    pub fn look_up(&mut self, core: usize, kind: Kind, address: u64) -> PageSize {
        self.translate_address(core, kind, address);
        self.paging.as_ref().unwrap().size(address)
    }

    /// Looks up the page, and makes the loads of the walk if there is one.
    fn translate_address(&mut self, core: usize, kind: Kind, address: u64) {
        let mut paging = self.paging.take().unwrap();
        let read = paging.look_up(core, kind == Kind::Fetch, address);
        let misses = |counters: &Counters| {
            let levels = [counters.l1d, counters.l2, counters.l3];
            levels.map(|level| level.load.misses.total())
        };
        let before = misses(&self.counters[core]);
        for address in read {
            match paging.walks() {
                WalkStart::L1d => self.access(core, Kind::Load, address / 64),
                WalkStart::L2 => self.load_from_l2(core, address / 64),
                WalkStart::None => {}
            }
        }
        let after = misses(&self.counters[core]);
        let counted = &mut paging.counters[core];
        counted.walk_l1d_misses += after[0] - before[0];
        counted.walk_l2_misses += after[1] - before[1];
        counted.walk_l3_misses += after[2] - before[2];
        self.paging = Some(paging);
    }

    fn load_from_l2(&mut self, core: usize, line: u64) {
        self.events.push(Event::LoadsFromL2(core, line));
        let latency_cycles = self.serve_beyond_l1(core, Kind::Load, line);
        self.counters[core].cycles += u64::from(latency_cycles);
        self.others_see(core, line);
    }

    /// Returns the translations of each core; empty without translation.
    pub fn tlbs(&self) -> Vec<TlbCounters> {
        let paging = self.paging.as_ref();
        paging.map_or(Vec::new(), |paging| paging.counters.clone())
    }

    pub fn access(&mut self, core: usize, kind: Kind, line: u64) {
        let latency_cycles = self.serve(core, kind, line);
        self.counters[core].cycles += u64::from(latency_cycles);
        self.others_see(core, line);
        if kind == Kind::Store {
            self.store(core, line);
        }
    }

    /// Clears the modified state in another cluster after this core has referenced the line.
    fn others_see(&mut self, core: usize, line: u64) {
        if self.modified.get(&line) != Some(&self.view(core).l2) {
            self.modified.remove(&line);
        }
    }

    fn serve(&mut self, core: usize, kind: Kind, line: u64) -> u32 {
        let view = self.view(core);
        let fetch = kind == Kind::Fetch;
        let (l1, counted, name, latency_cycles) = if fetch {
            let latency_cycles = self.machine.l1i.latency_cycles;
            let counted = &mut self.counters[core].l1i;
            (
                &mut self.l1i[view.l1i],
                counted,
                CacheLevel::L1I,
                latency_cycles,
            )
        } else {
            let latency_cycles = self.machine.l1d.latency_cycles;
            let counted = &mut self.counters[core].l1d;
            (
                &mut self.l1d[view.l1d],
                counted,
                CacheLevel::L1D,
                latency_cycles,
            )
        };
        of(counted, kind).accesses += 1;
        if l1.hit(line) {
            return latency_cycles;
        }
        of(counted, kind).misses += l1.cause(line);
        self.events.push(Event::Missed(name, core, kind, line));
        let latency_cycles = self.serve_beyond_l1(core, kind, line);
        let (l1, instance) = match fetch {
            true => (&mut self.l1i[view.l1i], view.l1i),
            false => (&mut self.l1d[view.l1d], view.l1d),
        };
        if let Some(victim) = l1.fill(line) {
            self.events
                .push(Event::Replaced(name, instance, core, victim));
        }
        latency_cycles
    }

    fn serve_beyond_l1(&mut self, core: usize, kind: Kind, line: u64) -> u32 {
        let cluster = self.view(core).l2;
        of(&mut self.counters[core].l2, kind).accesses += 1;
        if self.l2[cluster].hit(line) {
            return self.machine.l2.latency_cycles;
        }
        of(&mut self.counters[core].l2, kind).misses += self.l2[cluster].cause(line);
        self.events
            .push(Event::Missed(CacheLevel::L2, core, kind, line));
        let latency_cycles = self.serve_beyond_l2(core, kind, line);
        if let Some(victim) = self.l2[cluster].fill(line) {
            let replaced = Event::Replaced(CacheLevel::L2, cluster, core, victim);
            self.events.push(replaced);
            if self.machine.l2.inclusion == Inclusion::Inclusive {
                self.l1s_lose(cluster, victim, Lost::OuterLevel);
            }
            if self.l3_is(Inclusion::Exclusive) {
                self.modified.remove(&victim);
                let l3 = self.l3.as_mut().unwrap();
                if !l3.hit(victim)
                    && let Some(victim) = l3.fill(victim)
                {
                    let replaced = Event::Replaced(CacheLevel::L3, 0, core, victim);
                    self.events.push(replaced);
                }
            }
        }
        latency_cycles
    }

    fn serve_beyond_l2(&mut self, core: usize, kind: Kind, line: u64) -> u32 {
        let cluster = self.view(core).l2;
        let elsewhere = (0..self.l2.len()).any(|other| other != cluster && self.held(other, line));
        let has_modified = self.modified.get(&line).copied();
        let has_modified = has_modified.filter(|&other| other != cluster);
        let is_modified = has_modified.is_some_and(|other| self.held(other, line));
        let exclusive = self.l3_is(Inclusion::Exclusive);
        let inclusive = self.l3_is(Inclusion::Inclusive);
        if let Some(l3) = &mut self.l3 {
            let counted = of(&mut self.counters[core].l3, kind);
            counted.accesses += 1;
            if l3.hit(line) {
                if exclusive {
                    l3.lose(line, Lost::Store);
                }
                if is_modified {
                    self.counters[core].hit_modified += 1;
                    return self.machine.transfer_latency_cycles;
                }
                return self.machine.l3.unwrap().latency_cycles;
            }
            counted.misses += l3.cause(line);
            self.events
                .push(Event::Missed(CacheLevel::L3, core, kind, line));
            if !exclusive && let Some(victim) = l3.fill(line) {
                let replaced = Event::Replaced(CacheLevel::L3, 0, core, victim);
                self.events.push(replaced);
                if inclusive {
                    for cluster in 0..self.l2.len() {
                        self.l2[cluster].lose(victim, Lost::OuterLevel);
                        self.l1s_lose(cluster, victim, Lost::OuterLevel);
                    }
                }
            }
        }
        if elsewhere {
            self.counters[core].transfers += 1;
            return self.machine.transfer_latency_cycles;
        }
        self.machine.memory_latency_cycles
    }

    fn l3_is(&self, inclusion: Inclusion) -> bool {
        self.machine.l3.is_some_and(|l3| l3.inclusion == inclusion)
    }

    /// Returns whether the L2 of this cluster or an L1 above it holds the line.
    fn held(&mut self, cluster: usize, line: u64) -> bool {
        let cores = self.cores_of(cluster);
        let mut held = self.l2[cluster].holds(line);
        for core in cores {
            let CoreView { l1i, l1d, .. } = self.view(core);
            held |= self.l1i[l1i].holds(line) || self.l1d[l1d].holds(line);
        }
        held
    }

    fn cores_of(&self, cluster: usize) -> Vec<usize> {
        let cores = 0..self.counters.len();
        cores
            .filter(|&core| self.view(core).l2 == cluster)
            .collect()
    }

    fn l1s_lose(&mut self, cluster: usize, line: u64, why: Lost) {
        for core in self.cores_of(cluster) {
            let CoreView { l1i, l1d, .. } = self.view(core);
            self.l1i[l1i].lose(line, why);
            self.l1d[l1d].lose(line, why);
        }
    }

    fn store(&mut self, core: usize, line: u64) {
        let own = self.view(core);
        self.modified.insert(line, own.l2);
        for cluster in 0..self.l2.len() {
            if cluster != own.l2 && self.cluster_loses_to_store(cluster, line) {
                let event = Event::Invalidated(cluster, core, line);
                self.events.push(event);
            }
        }
        for other in self.cores_of(own.l2) {
            let CoreView { l1i, l1d, .. } = self.view(other);
            if l1i != own.l1i {
                self.l1i[l1i].lose(line, Lost::Store);
            }
            if l1d != own.l1d {
                self.l1d[l1d].lose(line, Lost::Store);
            }
        }
        self.exclusive_l3_loses_to_store(line);
    }

    /// Brings the line into the core's L2 like a load that misses its L1, if its cluster does not
    /// hold it. Returns the latency of the level that serves it. Nothing is counted. With
    /// `in_the_middle`, half of the L2's set is replaced before it.
    pub fn prefetch(&mut self, core: usize, line: u64, in_the_middle: bool) -> Option<u32> {
        if self.held(self.view(core).l2, line) {
            return None;
        }
        let before = self.counters.clone();
        let latency_cycles = self.serve_beyond_l1(core, Kind::Load, line);
        self.others_see(core, line);
        self.counters = before;
        if in_the_middle {
            let l2 = self.view(core).l2;
            self.l2[l2].age_by_half(line);
        }
        Some(latency_cycles)
    }

    /// Returns whether an L2 holds the line.
    pub fn l2_holds(&mut self, l2: usize, line: u64) -> bool {
        self.l2[l2].holds(line)
    }

    /// Models a store to the line by a core outside this machine.
    pub fn store_elsewhere(&mut self, line: u64) {
        for cluster in 0..self.l2.len() {
            self.cluster_loses_to_store(cluster, line);
        }
        self.exclusive_l3_loses_to_store(line);
        self.modified.remove(&line);
    }

    fn cluster_loses_to_store(&mut self, cluster: usize, line: u64) -> bool {
        let held = self.held(cluster, line);
        if held {
            self.l2[cluster].lose(line, Lost::Store);
            self.l1s_lose(cluster, line, Lost::Store);
            let first_core = self.cores_of(cluster)[0];
            self.counters[first_core].invalidated_lines += 1;
        }
        held
    }

    fn exclusive_l3_loses_to_store(&mut self, line: u64) {
        if self.l3_is(Inclusion::Exclusive) {
            self.l3.as_mut().unwrap().lose(line, Lost::Store);
        }
    }

    /// Adds cycles of a core that are not spent on an access.
    pub fn charge(&mut self, core: usize, cycles: u32) {
        self.counters[core].cycles += u64::from(cycles);
    }

    pub fn start_counting(&mut self) {
        self.counters.fill(Counters::default());
        if let Some(paging) = &mut self.paging {
            paging.counters.fill(TlbCounters::default());
        }
        self.events.clear();
    }

    pub fn counters(&self) -> Vec<Counters> {
        self.counters.clone()
    }
}

fn of(level: &mut LevelCounters, kind: Kind) -> &mut KindCounters {
    match kind {
        Kind::Fetch => &mut level.fetch,
        Kind::Load => &mut level.load,
        Kind::Store => &mut level.store,
    }
}
