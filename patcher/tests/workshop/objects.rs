//! The core of each call of a function by an argument: a plain implementation of the rules in
//! docs/reference/objects.md, one after the other.

use std::collections::BTreeMap;

const PLACES: usize = 4;
const EPOCH: u64 = 4096;
const FORGOTTEN_AFTER: u64 = 16;

struct Known {
    object: u64,
    bucket: u64,
    place: usize,
    /// `None` before it has enough calls.
    core: Option<usize>,
    calls: u64,
    named: u64,
    hook: usize,
}

/// A table, as seen by one thread's calls.
pub struct Objects {
    known: Vec<Known>,
    calls: u64,
    cores: usize,
    /// By hook: the number of calls after which an object gets its core.
    after: BTreeMap<usize, u64>,
    /// Number of objects that came, by hook.
    pub seen: BTreeMap<usize, u64>,
    /// Calls about objects without a core, by hook.
    pub early: BTreeMap<usize, u64>,
    /// Calls by hook and core.
    pub by_core: BTreeMap<usize, Vec<u64>>,
}

impl Objects {
    pub fn new(cores: usize) -> Objects {
        Objects {
            known: Vec::new(),
            calls: 0,
            cores,
            after: BTreeMap::new(),
            seen: BTreeMap::new(),
            early: BTreeMap::new(),
            by_core: BTreeMap::new(),
        }
    }

    /// The same, but objects get a core after this many calls at this hook.
    pub fn after(mut self, hook: usize, calls: u64) -> Objects {
        self.after.insert(hook, calls);
        self
    }

    /// The core of a call at `hook` with this argument, if it has one.
    pub fn call(&mut self, hook: usize, argument: u64) -> Option<usize> {
        if !(0x1_0000..1 << 56).contains(&argument) {
            return None;
        }
        self.calls += 1;
        let epoch = self.calls / EPOCH;
        if self.calls.is_multiple_of(EPOCH) {
            self.known
                .retain(|known| known.named + FORGOTTEN_AFTER > epoch);
            self.spread(epoch);
        }
        let object = argument / 16;
        if !self.known.iter().any(|known| known.object == object) {
            self.arrive(hook, object, epoch);
        }
        let by_core = self.by_core.entry(hook);
        let by_core = by_core.or_insert_with(|| vec![0; self.cores]);
        let on = |core| {
            let on = self.known.iter().filter(|known| known.core == Some(core));
            (on.count(), core)
        };
        let emptiest = (0..self.cores).min_by_key(|&core| on(core));
        let mut known = self.known.iter_mut();
        let known = known.find(|known| known.object == object).unwrap();
        known.named = epoch;
        if known.core.is_none() && known.calls >= *self.after.get(&hook).unwrap_or(&0) {
            known.core = emptiest;
        }
        known.calls += 1;
        match known.core {
            Some(core) => by_core[core] += 1,
            None => *self.early.entry(hook).or_default() += 1,
        }
        known.core
    }

    /// Spreads the objects used since the previous epoch, in the order of the table, from full
    /// cores to empty ones.
    fn spread(&mut self, epoch: u64) {
        self.known.sort_by_key(|known| (known.bucket, known.place));
        loop {
            let mut by_core = vec![Vec::new(); self.cores];
            for (index, known) in self.known.iter().enumerate() {
                if let (Some(core), true) = (known.core, known.named + 1 >= epoch) {
                    by_core[core].push(index);
                }
            }
            let sizes: Vec<usize> = by_core.iter().map(Vec::len).collect();
            let (most, fewest) = (*sizes.iter().max().unwrap(), *sizes.iter().min().unwrap());
            if most - fewest < 2 || (most as f64) < 1.25 * fewest as f64 {
                return;
            }
            let full = sizes.iter().position(|&size| size == most).unwrap();
            let empty = sizes.iter().position(|&size| size == fewest).unwrap();
            self.known[by_core[full][0]].core = Some(empty);
        }
    }

    fn arrive(&mut self, hook: usize, object: u64, epoch: u64) {
        let bucket = bucket(object);
        let here = || self.known.iter().filter(|known| known.bucket == bucket);
        if here().count() == PLACES {
            let oldest =
                here().min_by_key(|known| (known.core.is_some(), known.named, known.place));
            let oldest = oldest.unwrap().object;
            self.known.retain(|known| known.object != oldest);
        }
        let here = |place| {
            let mut known = self.known.iter();
            known.any(|known| (known.bucket, known.place) == (bucket, place))
        };
        let place = (0..PLACES).find(|&place| !here(place)).unwrap();
        self.known.push(Known {
            object,
            bucket,
            place,
            core: None,
            calls: 0,
            named: epoch,
            hook,
        });
        *self.seen.entry(hook).or_default() += 1;
    }

    /// Returns how many of the objects that came by `hook` are known.
    pub fn known(&self, hook: usize) -> u64 {
        self.known.iter().filter(|known| known.hook == hook).count() as u64
    }
}

/// Fibonacci hashing (Knuth, volume 3, section 6.4): the highest eight bits of the product.
fn bucket(object: u64) -> u64 {
    object.wrapping_mul(0x9e37_79b9_7f4a_7c15) / (1 << 56)
}
