//! The table of objects, as docs/reference/objects.md describes it: 256 buckets of four places.

/// The bits of a product from this one on are the bucket.
const SHIFT: u32 = 56;
/// Number of calls of a thread that begin an epoch.
const CALLS: u64 = 4096;
/// Number of epochs after which an unnamed object is forgotten.
const KEPT: u64 = 16;

#[derive(Clone, Copy)]
struct Place {
    /// The address divided by 16.
    granule: u64,
    core: Option<usize>,
    /// Number of calls about it.
    calls: u64,
    /// The epoch of the last call.
    epoch: u64,
}

/// The places in order, and the counts of a process.
pub struct Table {
    places: Vec<Option<Place>>,
    cores: usize,
    epoch: u64,
    /// By thread, the number of calls that named an object.
    named: Vec<u64>,
    /// Number of objects that entered the table.
    pub came: u64,
}

impl Table {
    pub fn new(cores: usize) -> Table {
        Table {
            places: vec![None; 1024],
            cores,
            epoch: 0,
            named: Vec::new(),
            came: 0,
        }
    }

    /// Returns the core of the object in a call of `thread`, if it has one by then.
    pub fn call(&mut self, thread: usize, argument: u64, after: u64) -> Option<usize> {
        // Rule 1.
        if argument >> 16 == 0 || argument >> 56 != 0 {
            return None;
        }
        // Rule 2.
        if self.named.len() <= thread {
            self.named.resize(thread + 1, 0);
        }
        self.named[thread] += 1;
        if self.named[thread].is_multiple_of(CALLS) {
            self.begin_epoch();
        }
        let at = self.find(argument >> 4);
        // Rules 3 and 5: cores are chosen before this call is counted.
        let free = self.emptiest();
        let epoch = self.epoch;
        let place = self.places[at].as_mut().unwrap();
        place.epoch = epoch;
        if place.core.is_none() && place.calls >= after {
            place.core = Some(free);
        }
        place.calls += 1;
        place.core
    }

    /// Returns the place of an object; a new object gets one by rule 4.
    fn find(&mut self, granule: u64) -> usize {
        let bucket = (granule.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> SHIFT) as usize;
        let bucket = bucket * 4..bucket * 4 + 4;
        for at in bucket.clone() {
            if self.places[at].is_some_and(|place| place.granule == granule) {
                return at;
            }
        }
        let mut taken = None;
        for at in bucket {
            let rank = match self.places[at] {
                None => (0, 0),
                Some(place) if place.core.is_none() => (1, place.epoch),
                Some(place) => (2, place.epoch),
            };
            if taken.is_none_or(|(least, _)| rank < least) {
                taken = Some((rank, at));
            }
        }
        let (_, at) = taken.unwrap();
        self.came += 1;
        self.places[at] = Some(Place {
            granule,
            core: None,
            calls: 0,
            epoch: self.epoch,
        });
        at
    }

    /// Returns the number of objects on each core, among those that calls named since an epoch.
    fn on_cores(&self, since: u64) -> Vec<u64> {
        let mut on = vec![0; self.cores];
        for place in self.places.iter().flatten() {
            if let Some(core) = place.core.filter(|_| place.epoch >= since) {
                on[core] += 1;
            }
        }
        on
    }

    fn emptiest(&self) -> usize {
        let on = self.on_cores(0);
        let least = *on.iter().min().unwrap();
        on.iter().position(|&count| count == least).unwrap()
    }

    /// Rules 2 and 6.
    fn begin_epoch(&mut self) {
        self.epoch += 1;
        for place in &mut self.places {
            if place.is_some_and(|place| self.epoch - place.epoch >= KEPT) {
                *place = None;
            }
        }
        let since = self.epoch - 1;
        loop {
            let on = self.on_cores(since);
            let (most, least) = (*on.iter().max().unwrap(), *on.iter().min().unwrap());
            if most - least < 2 || 4 * (most - least) < least {
                return;
            }
            let from = on.iter().position(|&count| count == most);
            let to = on.iter().position(|&count| count == least);
            let mut places = self.places.iter_mut().flatten();
            let first = places.find(|place| place.core == from && place.epoch >= since);
            first.unwrap().core = to;
        }
    }
}
