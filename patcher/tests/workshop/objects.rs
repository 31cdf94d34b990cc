//! Which core each call takes a thread to whose function goes by an argument: the rules of
//! docs/reference/objects.md, one after the other, with nothing to be fast.

use std::collections::BTreeMap;

const PLACES: usize = 4;
const EPOCH: u64 = 4096;
const FORGOTTEN_AFTER: u64 = 16;

struct Known {
    object: u64,
    bucket: u64,
    place: usize,
    core: usize,
    named: u64,
    hook: usize,
}

/// A table, as one thread names objects.
pub struct Objects {
    known: Vec<Known>,
    calls: u64,
    cores: usize,
    /// How many objects came, by hook.
    pub seen: BTreeMap<usize, u64>,
    /// Calls by hook and core.
    pub by_core: BTreeMap<usize, Vec<u64>>,
}

impl Objects {
    pub fn new(cores: usize) -> Objects {
        Objects {
            known: Vec::new(),
            calls: 0,
            cores,
            seen: BTreeMap::new(),
            by_core: BTreeMap::new(),
        }
    }

    /// The core of a call at `hook` with this argument.
    pub fn call(&mut self, hook: usize, argument: u64) -> Option<usize> {
        if !(0x1_0000..1 << 56).contains(&argument) {
            return None;
        }
        self.calls += 1;
        let epoch = self.calls / EPOCH;
        if self.calls.is_multiple_of(EPOCH) {
            self.known
                .retain(|known| known.named + FORGOTTEN_AFTER > epoch);
        }
        let object = argument / 16;
        let core = match self.known.iter_mut().find(|known| known.object == object) {
            Some(known) => {
                known.named = epoch;
                known.core
            }
            None => self.arrive(hook, object, epoch),
        };
        let by_core = self.by_core.entry(hook);
        by_core.or_insert_with(|| vec![0; self.cores])[core] += 1;
        Some(core)
    }

    fn arrive(&mut self, hook: usize, object: u64, epoch: u64) -> usize {
        let bucket = bucket(object);
        let here = || self.known.iter().filter(|known| known.bucket == bucket);
        if here().count() == PLACES {
            let oldest = here().min_by_key(|known| (known.named, known.place));
            let oldest = oldest.unwrap().object;
            self.known.retain(|known| known.object != oldest);
        }
        let here = |place| {
            let mut known = self.known.iter();
            known.any(|known| (known.bucket, known.place) == (bucket, place))
        };
        let place = (0..PLACES).find(|&place| !here(place)).unwrap();
        let on = |core| self.known.iter().filter(|known| known.core == core).count();
        let core = (0..self.cores)
            .min_by_key(|&core| (on(core), core))
            .unwrap();
        self.known.push(Known {
            object,
            bucket,
            place,
            core,
            named: epoch,
            hook,
        });
        *self.seen.entry(hook).or_default() += 1;
        core
    }

    /// How many of the objects that came by `hook` are known.
    pub fn known(&self, hook: usize) -> u64 {
        self.known.iter().filter(|known| known.hook == hook).count() as u64
    }
}

/// Fibonacci hashing (Knuth, volume 3, section 6.4): the highest eight bits of the product.
fn bucket(object: u64) -> u64 {
    object.wrapping_mul(0x9e37_79b9_7f4a_7c15) / (1 << 56)
}
