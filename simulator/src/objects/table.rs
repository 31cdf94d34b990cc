//! Assignment of objects to cores: the rules of docs/reference/objects.md, as implemented by the
//! runtime's table (`runtime/hooks/objects.c`) for one process.

use crate::ids::CoreId;
use corehop_traces::ThreadId;

const BUCKETS_LOG: u32 = 8;
const WAYS: usize = 4;
/// Number of a thread's calls that name an object after which an epoch ends.
const EPOCH: u64 = 4096;
/// Number of epochs after which an unused object is forgotten.
const LONG: u64 = 16;
const GRANULE_LOG: u32 = 4;
const LOWEST: u64 = 0x1_0000;
const HIGHEST: u64 = (1 << 56) - 1;

/// The known objects of a process, each with its core.
#[derive(Clone, Debug)]
pub struct ObjectTable {
    buckets: Vec<[Option<Object>; WAYS]>,
    /// For each core, the number of its objects.
    counts: Vec<u64>,
    epoch: u64,
    /// For each thread, the number of its calls that named an object.
    named: Vec<u64>,
    objects: u64,
    early: u64,
}

#[derive(Clone, Copy, Debug)]
struct Object {
    /// Its address / 16.
    granule: u64,
    home: Home,
    /// The epoch in which it was last named.
    named: u64,
}

/// The placement of an object.
#[derive(Clone, Copy, Debug)]
enum Home {
    /// It has no core yet; this many calls have named it.
    None(u32),
    Core(CoreId),
}

impl ObjectTable {
    /// Creates an empty table for `cores` cores; zero counts as one.
    pub fn new(cores: u32) -> ObjectTable {
        ObjectTable {
            buckets: vec![[None; WAYS]; 1 << BUCKETS_LOG],
            counts: vec![0; cores.max(1) as usize],
            epoch: 0,
            named: Vec::new(),
            objects: 0,
            early: 0,
        }
    }

    /// Returns the number of new objects; a forgotten object that returns is counted again.
    pub fn objects(&self) -> u64 {
        self.objects
    }

    /// Returns the number of calls that named an object without a core.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// Processes a call of a thread with this argument. Returns the core of the object that it
    /// names, if any. An object without a core gets one after `after` calls have named it.
    pub fn name(&mut self, thread: ThreadId, address: u64, after: u32) -> Option<CoreId> {
        if !(LOWEST..=HIGHEST).contains(&address) {
            return None;
        }
        if self.named.len() <= thread.index() {
            self.named.resize(thread.index() + 1, 0);
        }
        self.named[thread.index()] += 1;
        if self.named[thread.index()].is_multiple_of(EPOCH) {
            self.begin_epoch();
        }
        let granule = address >> GRANULE_LOG;
        let bucket = granule.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BUCKETS_LOG);
        let bucket = bucket as usize;
        let is_it = |place: &Option<Object>| place.is_some_and(|object| object.granule == granule);
        let place = self.buckets[bucket].iter().position(is_it);
        let place = place.unwrap_or_else(|| self.arrive(bucket, granule));
        let object = self.buckets[bucket][place].as_mut().expect("it was found");
        object.named = self.epoch;
        match &mut object.home {
            Home::Core(core) => return Some(*core),
            Home::None(calls) if *calls < after => {
                *calls += 1;
                self.early += 1;
                return None;
            }
            Home::None(_) => {}
        }
        let emptiest = (0..self.counts.len()).min_by_key(|&core| self.counts[core]);
        let core = CoreId(emptiest.expect("there is a core") as u32);
        object.home = Home::Core(core);
        self.counts[core.index()] += 1;
        Some(core)
    }

    /// Adds an object to its bucket; returns its index there.
    fn arrive(&mut self, bucket: usize, granule: u64) -> usize {
        let bucket = &mut self.buckets[bucket];
        let place = bucket.iter().position(Option::is_none).unwrap_or_else(|| {
            // Evict the least recently named object, preferring those without a core.
            let rank = |&way: &usize| bucket[way].map(|object| (object.has_core(), object.named));
            (0..WAYS).min_by_key(rank).expect("a bucket has places")
        });
        let arrived = Object {
            granule,
            home: Home::None(0),
            named: self.epoch,
        };
        if let Some(forgotten) = bucket[place].replace(arrived) {
            forgotten.leave(&mut self.counts);
        }
        self.objects += 1;
        place
    }

    fn begin_epoch(&mut self) {
        self.epoch += 1;
        for place in self.buckets.iter_mut().flatten() {
            if let Some(old) = place.take_if(|object| self.epoch - object.named >= LONG) {
                old.leave(&mut self.counts);
            }
        }
        self.spread();
    }

    /// Balances the objects that were named in the previous epoch. Moves them from the core with
    /// most of them to the one with the fewest, until these differ by less than two or a quarter.
    fn spread(&mut self) {
        let last = self.epoch - 1;
        let objects = self.buckets.iter().flatten().flatten();
        let mut in_use = vec![0_u64; self.counts.len()];
        for core in objects.filter_map(|object| object.core_if_named_since(last)) {
            in_use[core.index()] += 1;
        }
        loop {
            let cores = || 0..in_use.len();
            let emptiest = cores().min_by_key(|&core| in_use[core]);
            // The lowest of equal cores; `max_by_key` alone would return the last.
            let fullest = cores().rev().max_by_key(|&core| in_use[core]);
            let (Some(emptiest), Some(fullest)) = (emptiest, fullest) else {
                return;
            };
            let (fewest, most) = (in_use[emptiest], in_use[fullest]);
            if most < fewest + 2 || 4 * most < 5 * fewest {
                return;
            }
            let from = CoreId(fullest as u32);
            let mut objects = self.buckets.iter_mut().flatten().flatten();
            let first = objects.find(|object| object.core_if_named_since(last) == Some(from));
            first.expect("it was counted").home = Home::Core(CoreId(emptiest as u32));
            for by_core in [&mut in_use, &mut self.counts] {
                by_core[fullest] -= 1;
                by_core[emptiest] += 1;
            }
        }
    }
}

impl Object {
    fn has_core(&self) -> bool {
        matches!(self.home, Home::Core(_))
    }

    fn core_if_named_since(&self, epoch: u64) -> Option<CoreId> {
        match self.home {
            Home::Core(core) if self.named >= epoch => Some(core),
            _ => None,
        }
    }

    /// Updates the counts when the object is forgotten.
    fn leave(self, counts: &mut [u64]) {
        if let Home::Core(core) = self.home {
            counts[core.index()] -= 1;
        }
    }
}
