//! Which object has which core: the rules of docs/reference/objects.md, as the runtime's table
//! (`runtime/core/objects.c`) has them for one process.

use crate::ids::CoreId;
use corehop_traces::ThreadId;

const BUCKETS_LOG: u32 = 8;
const WAYS: usize = 4;
/// Calls of a thread that name an object, after which an epoch ends.
const EPOCH: u64 = 4096;
/// Epochs after which an object that nobody names is forgotten.
const LONG: u64 = 16;
const GRANULE_LOG: u32 = 4;
const LOWEST: u64 = 0x1_0000;
const HIGHEST: u64 = (1 << 56) - 1;

/// The objects that a process knows, each with its core.
#[derive(Clone, Debug)]
pub struct ObjectTable {
    buckets: Vec<[Option<Object>; WAYS]>,
    /// By core, how many objects it has.
    counts: Vec<u64>,
    epoch: u64,
    /// By thread, how many of its calls have named an object.
    named: Vec<u64>,
    objects: u64,
}

#[derive(Clone, Copy, Debug)]
struct Object {
    /// Its address / 16.
    granule: u64,
    core: CoreId,
    /// The epoch in which it was named last.
    named: u64,
}

impl ObjectTable {
    /// No object, and so many cores; none count as one.
    pub fn new(cores: u32) -> ObjectTable {
        ObjectTable {
            buckets: vec![[None; WAYS]; 1 << BUCKETS_LOG],
            counts: vec![0; cores.max(1) as usize],
            epoch: 0,
            named: Vec::new(),
            objects: 0,
        }
    }

    /// How many objects have come; one that was forgotten and comes again counts again.
    pub fn objects(&self) -> u64 {
        self.objects
    }

    /// A call of a thread has this argument: the core of the object that it names, if it names one.
    pub fn name(&mut self, thread: ThreadId, address: u64) -> Option<CoreId> {
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
        let bucket = &mut self.buckets[bucket as usize];
        let mut known = bucket.iter_mut().flatten();
        if let Some(object) = known.find(|object| object.granule == granule) {
            object.named = self.epoch;
            return Some(object.core);
        }
        let place = bucket.iter().position(Option::is_none).unwrap_or_else(|| {
            // The first of those that were named longest ago.
            let named = |&way: &usize| bucket[way].map(|object| object.named);
            (0..WAYS).min_by_key(named).expect("a bucket has places")
        });
        if let Some(forgotten) = bucket[place].take() {
            self.counts[forgotten.core.index()] -= 1;
        }
        let emptiest = (0..self.counts.len()).min_by_key(|&core| self.counts[core]);
        let core = CoreId(emptiest.expect("there is a core") as u32);
        bucket[place] = Some(Object {
            granule,
            core,
            named: self.epoch,
        });
        self.counts[core.index()] += 1;
        self.objects += 1;
        Some(core)
    }

    fn begin_epoch(&mut self) {
        self.epoch += 1;
        for place in self.buckets.iter_mut().flatten() {
            if let Some(old) = place.take_if(|object| self.epoch - object.named >= LONG) {
                self.counts[old.core.index()] -= 1;
            }
        }
    }
}
