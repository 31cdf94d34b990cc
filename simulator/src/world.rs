//! All caches of a machine, for the lines of one residue.
//!
//! The usual simulator searches a set at every level. Here each line has a row with one byte a
//! cache, which says in which way of that cache the line lies or else why it does not: one load
//! answers whether an access hits, where, and what a miss was caused by, and a store finds whom to
//! take the line from. The price is that lines are numbered densely, by the caller, who has often
//! done so before: a stream that is replayed many times is numbered once.
//!
//! A line also has an *owner*, the core that stored last, while no other cache but an inclusive or
//! non-inclusive L3 holds it: MESI's modified state. Most stores are by owners and ask no further.

use crate::cache::Cache;
use crate::geometry::{Geometry, Seat};
use crate::machine::Inclusion;
use crate::policy::EMPTY;
use crate::tally::Tally;
use crate::watch::{CacheLevel, Cause, Watch};
use corehop_traces::Kind;

/// The caches of the cores used, with what they hold and what they counted.
///
/// A copy goes on independently, which saves numbering the same lines again.
#[derive(Clone)]
pub struct World {
    geometry: Geometry,
    caches: Vec<Cache>,
    lines: Vec<Line>,
    /// By line and cache: [`HELD`] plus the way the line lies in, else the [`Cause`] it lacks for.
    rows: Vec<u8>,
    tallies: Vec<Tally>,
}

#[derive(Clone, Copy)]
struct Line {
    /// Low bits of line number / residues, enough for the sets of L1s and L2s.
    quotient: u32,
    l3_set: u32,
    /// One bit for each cluster that holds the line in its L2 or an L1; exact.
    holders: u64,
}

/// First of the bytes that say a line is held.
const HELD: u8 = 4;

/// The owner of a line that any store must look for.
const NOBODY: u8 = u8::MAX;

impl World {
    /// Empty caches, no lines.
    pub fn new(geometry: &Geometry) -> World {
        World {
            caches: geometry.caches(),
            lines: Vec::new(),
            rows: Vec::new(),
            tallies: vec![Tally::default(); geometry.seats.len()],
            geometry: geometry.clone(),
        }
    }

    /// Registers the line whose number divided by the number of residues is `quotient`; gives its
    /// id, which counts from 0. Registering a line twice makes two lines of it.
    ///
    /// # Panics
    /// On the 2^32nd line.
    pub fn line(&mut self, quotient: u64) -> u32 {
        let id = self.lines.len() as u32;
        assert!(id < EMPTY, "a world numbers its lines in 32 bits");
        self.lines.push(Line {
            quotient: quotient as u32,
            l3_set: (quotient % self.geometry.l3_sets) as u32,
            holders: 0,
        });
        self.rows
            .resize(self.rows.len() + self.geometry.row_bytes, 0);
        let owner = self.place(id, self.geometry.owner());
        self.rows[owner] = NOBODY;
        id
    }

    /// Registers several lines, as [`World::line`] does one.
    ///
    /// # Panics
    /// As [`World::line`].
    pub fn register(&mut self, quotients: &[u64]) {
        self.lines.reserve(quotients.len());
        self.rows.reserve(quotients.len() * self.geometry.row_bytes);
        for &quotient in quotients {
            self.line(quotient);
        }
    }

    /// `core` touches `line`. The crate's description says what happens; `watch` is told of it.
    ///
    /// # Panics
    /// When `core` is not one of the cores used, or `line` was not registered.
    #[inline(always)]
    pub fn access<W: Watch>(&mut self, core: usize, kind: Kind, line: u32, watch: &mut W) {
        watch.accessed(core, kind, line);
        let seat = self.geometry.seats[core];
        let l1 = seat.l1[usize::from(kind != Kind::Fetch)];
        match self.way(line, l1) {
            Some(way) => {
                let cache = &mut self.caches[l1];
                // A world often has one set of each L1, and need not ask which.
                let set = match cache.last_set {
                    0 => 0,
                    last_set => self.lines[line as usize].quotient & last_set,
                };
                cache.hit(set as usize, way);
            }
            None => self.miss(core, kind, line, watch),
        }
        let owner = self.place(line, self.geometry.owner());
        // One branch, which is hardly ever taken, where asking first what is a store makes two.
        if (kind == Kind::Store) & (self.rows[owner] != core as u8) {
            self.take(core, line, watch);
        }
    }

    /// A core that is not simulated stores to `line`: every cluster, and an exclusive L3, loses it.
    ///
    /// # Panics
    /// When `line` was not registered.
    pub fn store_elsewhere(&mut self, line: u32) {
        let holders = self.lines[line as usize].holders;
        for cluster in ones(holders) {
            self.take_from_cluster(cluster, line, Cause::Coherence);
            self.tallies[self.geometry.clusters[cluster].first_core].invalidated_lines += 1;
        }
        self.take_from_exclusive_l3(line);
    }

    /// Starts counting afresh; the caches stay as they are.
    pub fn start_counting(&mut self) {
        self.tallies.fill(Tally::default());
    }

    /// What was counted, by core.
    pub fn tally(&self) -> &[Tally] {
        &self.tallies
    }

    #[inline(always)]
    fn place(&self, line: u32, cache: usize) -> usize {
        line as usize * self.geometry.row_bytes + cache
    }

    /// The way of `cache` that `line` lies in, if it is there.
    #[inline(always)]
    fn way(&self, line: u32, cache: usize) -> Option<usize> {
        self.rows[self.place(line, cache)]
            .checked_sub(HELD)
            .map(usize::from)
    }

    #[inline(always)]
    fn set(&self, line: u32, cache: usize) -> usize {
        let line = &self.lines[line as usize];
        let set = match self.geometry.l3 == Some(cache) {
            true => line.l3_set,
            false => line.quotient & self.caches[cache].last_set,
        };
        set as usize
    }

    #[inline(always)]
    fn hit(&mut self, line: u32, cache: usize, way: usize) {
        let set = self.set(line, cache);
        self.caches[cache].hit(set, way);
    }

    /// `core`'s L1 does not hold `line`: brings it there.
    #[inline(never)]
    fn miss<W: Watch>(&mut self, core: usize, kind: Kind, line: u32, watch: &mut W) {
        let seat = self.geometry.seats[core];
        let l1 = seat.l1[usize::from(kind != Kind::Fetch)];
        let level = match kind {
            Kind::Fetch => CacheLevel::L1I,
            Kind::Load | Kind::Store => CacheLevel::L1D,
        };
        self.count_miss(level, l1, core, kind, line, watch);
        let owner = self.place(line, self.geometry.owner());
        if self.rows[owner] != core as u8 {
            self.rows[owner] = NOBODY;
        }
        match self.way(line, seat.l2) {
            Some(way) => self.hit(line, seat.l2, way),
            None => self.miss_l2(core, kind, line, watch),
        }
        let victim = self.fill(l1, core, line, watch);
        if victim != EMPTY && self.geometry.l2_inclusion != Inclusion::Inclusive {
            self.forget_holder(seat.cluster, victim);
        }
        self.lines[line as usize].holders |= 1 << seat.cluster;
    }

    /// `core`'s L2 does not hold `line` either: brings it there.
    fn miss_l2<W: Watch>(&mut self, core: usize, kind: Kind, line: u32, watch: &mut W) {
        let Seat { l2, cluster, .. } = self.geometry.seats[core];
        self.count_miss(CacheLevel::L2, l2, core, kind, line, watch);
        if !self.look_up_l3(core, kind, line, watch) {
            let others = self.lines[line as usize].holders & !(1 << cluster);
            if others != 0 {
                self.tallies[core].transfers[kind as usize] += 1;
                watch.transferred(core, kind, line);
            }
        }
        let victim = self.fill(l2, core, line, watch);
        if victim == EMPTY {
            return;
        }
        if self.geometry.l2_inclusion == Inclusion::Inclusive {
            self.take_from_cluster(cluster, victim, Cause::Inclusion);
        } else {
            self.forget_holder(cluster, victim);
        }
        if let (Some(l3), Inclusion::Exclusive) = (self.geometry.l3, self.geometry.l3_inclusion) {
            let owner = self.place(victim, self.geometry.owner());
            self.rows[owner] = NOBODY;
            match self.way(victim, l3) {
                Some(way) => self.hit(victim, l3, way),
                None => {
                    self.fill(l3, core, victim, watch);
                }
            }
        }
    }

    /// Whether the L3 serves `line`; if not, it is brought there unless it is exclusive.
    fn look_up_l3<W: Watch>(&mut self, core: usize, kind: Kind, line: u32, watch: &mut W) -> bool {
        let Some(l3) = self.geometry.l3 else {
            return false;
        };
        let exclusive = self.geometry.l3_inclusion == Inclusion::Exclusive;
        if let Some(way) = self.way(line, l3) {
            match exclusive {
                true => self.remove(l3, line, Cause::Coherence),
                false => self.hit(line, l3, way),
            }
            return true;
        }
        self.count_miss(CacheLevel::L3, l3, core, kind, line, watch);
        if !exclusive {
            let victim = self.fill(l3, core, line, watch);
            if victim != EMPTY && self.geometry.l3_inclusion == Inclusion::Inclusive {
                for cluster in ones(self.lines[victim as usize].holders) {
                    self.take_from_cluster(cluster, victim, Cause::Inclusion);
                }
            }
        }
        false
    }

    /// `core` stored to `line`, which is in its L1D, and makes it its own.
    #[inline(never)]
    fn take<W: Watch>(&mut self, core: usize, line: u32, watch: &mut W) {
        let seat = self.geometry.seats[core];
        for cluster in ones(self.lines[line as usize].holders & !(1 << seat.cluster)) {
            self.take_from_cluster(cluster, line, Cause::Coherence);
            self.tallies[self.geometry.clusters[cluster].first_core].invalidated_lines += 1;
            watch.invalidated(cluster, core, line);
        }
        for index in 0..self.geometry.clusters[seat.cluster].l1s.len() {
            let l1 = self.geometry.clusters[seat.cluster].l1s[index];
            if !seat.l1.contains(&l1) {
                self.remove(l1, line, Cause::Coherence);
            }
        }
        self.take_from_exclusive_l3(line);
        let owner = self.place(line, self.geometry.owner());
        self.rows[owner] = core as u8;
    }

    fn take_from_exclusive_l3(&mut self, line: u32) {
        if let (Some(l3), Inclusion::Exclusive) = (self.geometry.l3, self.geometry.l3_inclusion) {
            self.remove(l3, line, Cause::Coherence);
        }
    }

    /// L2 and L1s of `cluster` lose `line`, those of them that hold it.
    fn take_from_cluster(&mut self, cluster: usize, line: u32, cause: Cause) {
        self.lines[line as usize].holders &= !(1 << cluster);
        self.remove(self.geometry.clusters[cluster].l2, line, cause);
        for index in 0..self.geometry.clusters[cluster].l1s.len() {
            self.remove(self.geometry.clusters[cluster].l1s[index], line, cause);
        }
    }

    /// `line` left a cache of `cluster`: was it the last that held it there?
    fn forget_holder(&mut self, cluster: usize, line: u32) {
        let of_cluster = &self.geometry.clusters[cluster];
        let mut caches = of_cluster.l1s.iter().chain([&of_cluster.l2]);
        if caches.all(|&cache| self.way(line, cache).is_none()) {
            self.lines[line as usize].holders &= !(1 << cluster);
        }
    }

    /// Takes `line` from `cache`, if it is there.
    #[inline(always)]
    fn remove(&mut self, cache: usize, line: u32, cause: Cause) {
        if let Some(way) = self.way(line, cache) {
            let (set, place) = (self.set(line, cache), self.place(line, cache));
            self.caches[cache].remove(set, way);
            self.rows[place] = cause as u8;
        }
    }

    /// Puts `line` into `cache` for an access of `core`; gives the line replaced, or [`EMPTY`].
    #[inline(always)]
    fn fill<W: Watch>(&mut self, cache: usize, core: usize, line: u32, watch: &mut W) -> u32 {
        let (set, place) = (self.set(line, cache), self.place(line, cache));
        let (way, victim) = self.caches[cache].fill(set, line);
        self.rows[place] = HELD + way as u8;
        if victim != EMPTY {
            let place = self.place(victim, cache);
            self.rows[place] = Cause::Capacity as u8;
            let Cache {
                level, instance, ..
            } = self.caches[cache];
            watch.replaced(level, instance, core, victim);
        }
        victim
    }

    #[inline(always)]
    fn count_miss<W: Watch>(
        &mut self,
        level: CacheLevel,
        cache: usize,
        core: usize,
        kind: Kind,
        line: u32,
        watch: &mut W,
    ) {
        let cause = Cause::of(self.rows[self.place(line, cache)]);
        self.tallies[core].count(level, kind, cause);
        watch.missed(level, core, kind, cause, line);
    }
}

/// The places of the ones in `bits`.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.checked_sub(1)?;
        Some(place)
    })
}
