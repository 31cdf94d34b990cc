//! All caches of a machine, and the effects of an access, exactly as in docs/reference/machines.md.

use crate::cache::{Cache, Cause};
use crate::counts::{Counts, Replaced};
use crate::exported::Kind;
use crate::machine::{Inclusion, Machine};
use std::collections::HashMap;

/// Cores use cache `core / shared_by` of each level; those that share an L2 are a cluster.
pub struct Caches {
    machine: Machine,
    l1i: Vec<Cache>,
    l1d: Vec<Cache>,
    l2: Vec<Cache>,
    l3: Option<Cache>,
    /// Stored lines and the cluster that stored to them, until another one accesses them.
    stored_by: HashMap<u64, usize>,
    /// Counts of user code, then of the kernel.
    pub counts: [Counts; 2],
    pub replaced: Replaced,
    /// The mode that uses the caches now.
    mode: usize,
    /// The mode that used each line last.
    last: HashMap<u64, usize>,
}

impl Caches {
    pub fn new(machine: &Machine) -> Caches {
        let of = |level: &crate::machine::Level| -> Vec<Cache> {
            let count = machine.cores.div_ceil(level.shared_by);
            (0..count).map(|_| Cache::new(level)).collect()
        };
        Caches {
            l1i: of(&machine.l1i),
            l1d: of(&machine.l1d),
            l2: of(&machine.l2),
            l3: machine.l3.as_ref().map(Cache::new),
            stored_by: HashMap::new(),
            counts: Default::default(),
            replaced: Replaced::default(),
            mode: 0,
            last: HashMap::new(),
            machine: machine.clone(),
        }
    }

    /// Selects the mode of the following counts by the address of the code: the upper half is the
    /// kernel's.
    pub fn executes(&mut self, address: u64) {
        self.mode = usize::from(address >= 1 << 63);
    }

    /// Returns the counts of the current mode.
    pub fn counts(&mut self) -> &mut Counts {
        &mut self.counts[self.mode]
    }

    /// Counts a line that a cache of this level has replaced.
    fn has_replaced(&mut self, level: &'static str, line: Option<u64>) {
        if let Some(line) = line {
            self.replaced.count(level, self.last[&line], self.mode);
        }
    }

    /// Accesses a line from a core.
    pub fn touch(&mut self, core: usize, line: u64, kind: Kind) {
        self.last.insert(line, self.mode);
        let cycles = match self.l1(core, kind).look_up(line) {
            Ok(()) => {
                self.counts().l1(kind).hit(kind);
                let (l1i, l1d) = (self.machine.l1i.latency, self.machine.l1d.latency);
                if kind == Kind::Fetch { l1i } else { l1d }
            }
            Err(cause) => {
                self.counts().l1(kind).miss(kind, cause);
                let cycles = self.ask_l2(core, line, kind);
                let replaced = self.l1(core, kind).fill(line);
                self.has_replaced(if kind == Kind::Fetch { "l1i" } else { "l1d" }, replaced);
                cycles
            }
        };
        self.counts().cycles += cycles;
        let cluster = core / self.machine.l2.shared_by;
        if self.stored_by.get(&line).is_some_and(|&by| by != cluster) {
            self.stored_by.remove(&line);
        }
        if kind == Kind::Store {
            self.take_from_others(core, line);
            self.stored_by.insert(line, cluster);
        }
    }

    fn l1(&mut self, core: usize, kind: Kind) -> &mut Cache {
        match kind {
            Kind::Fetch => &mut self.l1i[core / self.machine.l1i.shared_by],
            Kind::Load | Kind::Store => &mut self.l1d[core / self.machine.l1d.shared_by],
        }
    }

    /// Accesses the L2 after an L1 miss; returns the latency of the level that has the line.
    fn ask_l2(&mut self, core: usize, line: u64, kind: Kind) -> u64 {
        let cluster = core / self.machine.l2.shared_by;
        match self.l2[cluster].look_up(line) {
            Ok(()) => {
                self.counts().l2.hit(kind);
                self.machine.l2.latency
            }
            Err(cause) => {
                self.counts().l2.miss(kind, cause);
                let cycles = self.ask_l3(cluster, line, kind);
                let replaced = self.l2[cluster].fill(line);
                self.has_replaced("l2", replaced);
                if let Some(replaced) = replaced {
                    self.leaves_l2(cluster, replaced);
                }
                cycles
            }
        }
    }

    fn leaves_l2(&mut self, cluster: usize, line: u64) {
        if self.machine.l2.inclusion == Inclusion::Inclusive {
            self.leaves_l1s(cluster, line, None, Cause::Inclusion);
        }
        if self.l3_is(Inclusion::Exclusive) {
            self.stored_by.remove(&line);
            let l3 = self.l3.as_mut().unwrap();
            if l3.look_up(line).is_err() {
                let replaced = l3.fill(line);
                self.has_replaced("l3", replaced);
            }
        }
    }

    /// Accesses the L3 after a miss in the L2 of this cluster.
    fn ask_l3(&mut self, cluster: usize, line: u64, kind: Kind) -> u64 {
        let mut others = (0..self.l2.len()).filter(|&other| other != cluster);
        let is_transfer = others.any(|other| self.is_held(other, line));
        let by = self.stored_by.get(&line);
        let is_old = by.is_some_and(|&by| by != cluster && self.is_held(by, line));
        if let Some(l3) = &mut self.l3 {
            match l3.look_up(line) {
                Ok(()) => {
                    self.counts().l3.hit(kind);
                    if self.l3_is(Inclusion::Exclusive) {
                        self.l3.as_mut().unwrap().remove(line, Cause::Coherence);
                    }
                    if is_old {
                        self.counts().hit_modified += 1;
                        return self.transfer_latency();
                    }
                    return self.machine.l3.as_ref().unwrap().latency;
                }
                Err(cause) => self.counts().l3.miss(kind, cause),
            }
        }
        if self.l3.is_some() && !self.l3_is(Inclusion::Exclusive) {
            let replaced = self.l3.as_mut().unwrap().fill(line);
            self.has_replaced("l3", replaced);
            if let (Some(replaced), true) = (replaced, self.l3_is(Inclusion::Inclusive)) {
                for cluster in 0..self.l2.len() {
                    self.leaves_cluster(cluster, replaced, Cause::Inclusion);
                }
            }
        }
        if is_transfer {
            self.counts().transfers += 1;
            self.transfer_latency()
        } else {
            self.machine.memory_latency
        }
    }

    fn transfer_latency(&self) -> u64 {
        let l3 = self.machine.l3.as_ref().map(|l3| l3.latency);
        let default = l3.unwrap_or(self.machine.memory_latency);
        self.machine.transfer_latency.unwrap_or(default)
    }

    fn l3_is(&self, inclusion: Inclusion) -> bool {
        let l3 = self.machine.l3.as_ref();
        l3.is_some_and(|l3| l3.inclusion == inclusion)
    }

    /// Invalidates other copies after a store of the core.
    fn take_from_others(&mut self, core: usize, line: u64) {
        let own = core / self.machine.l2.shared_by;
        for cluster in 0..self.l2.len() {
            if cluster == own {
                self.leaves_l1s(cluster, line, Some(core), Cause::Coherence);
            } else if self.leaves_cluster(cluster, line, Cause::Coherence) {
                self.counts().invalidated_lines += 1;
            }
        }
        if self.l3_is(Inclusion::Exclusive) {
            self.l3.as_mut().unwrap().remove(line, Cause::Coherence);
        }
    }

    fn leaves_cluster(&mut self, cluster: usize, line: u64, cause: Cause) -> bool {
        let left_l1s = self.leaves_l1s(cluster, line, None, cause);
        self.l2[cluster].remove(line, cause) | left_l1s
    }

    /// Removes a line from the L1s of a cluster, except those of core `but`.
    fn leaves_l1s(&mut self, cluster: usize, line: u64, but: Option<usize>, cause: Cause) -> bool {
        let levels = [
            (&mut self.l1i, self.machine.l1i.shared_by),
            (&mut self.l1d, self.machine.l1d.shared_by),
        ];
        let mut left = false;
        for (caches, shared_by) in levels {
            let width = self.machine.l2.shared_by / shared_by;
            let keeps = but.map(|core| core / shared_by);
            for (number, cache) in caches.iter_mut().enumerate() {
                if number / width == cluster && Some(number) != keeps {
                    left |= cache.remove(line, cause);
                }
            }
        }
        left
    }

    fn is_held(&self, cluster: usize, line: u64) -> bool {
        let above = |caches: &[Cache], shared_by: usize| {
            let width = self.machine.l2.shared_by / shared_by;
            let mut those = caches.iter().skip(cluster * width).take(width);
            those.any(|cache| cache.holds(line))
        };
        self.l2[cluster].holds(line)
            || above(&self.l1i, self.machine.l1i.shared_by)
            || above(&self.l1d, self.machine.l1d.shared_by)
    }
}
