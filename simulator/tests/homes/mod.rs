//! A second implementation of the assignment of objects to cores, as simple as
//! docs/reference/objects.md describes it.

use std::collections::HashMap;

/// The known objects of a process, in no order.
#[derive(Default)]
pub struct Known {
    objects: Vec<Object>,
    epoch: u64,
    named_by_thread: HashMap<usize, u64>,
    pub came: u64,
}

struct Object {
    granule: u64,
    way: u64,
    core: Option<u64>,
    calls: u64,
    named: u64,
}

fn bucket_of(granule: u64) -> u64 {
    granule.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

impl Known {
    /// Processes a call of a thread with this argument; returns the object's core, if any. An
    /// object gets a core after this many earlier calls have named it.
    pub fn name(
        &mut self,
        thread: usize,
        argument: u64,
        (cores, after): (u64, u64),
    ) -> Option<u64> {
        if !(65_536..1 << 56).contains(&argument) {
            return None;
        }
        let named = self.named_by_thread.entry(thread).or_default();
        *named += 1;
        if named.is_multiple_of(4096) {
            self.epoch += 1;
            let epoch = self.epoch;
            self.objects.retain(|object| epoch - object.named < 16);
            while self.moves_one(cores) {}
        }
        let granule = argument / 16;
        let epoch = self.epoch;
        if !self.objects.iter().any(|object| object.granule == granule) {
            self.arrive(granule);
        }
        let on = |core: u64| {
            let objects = self.objects.iter();
            objects.filter(|object| object.core == Some(core)).count()
        };
        let emptiest = (0..cores).min_by_key(|&core| on(core));
        let mut known = self.objects.iter_mut();
        let object = known.find(|object| object.granule == granule).unwrap();
        object.named = epoch;
        if object.core.is_none() && object.calls >= after {
            object.core = emptiest;
        }
        object.calls += 1;
        object.core
    }

    /// At the start of an epoch, moves one object that was named in the last epoch to another core;
    /// returns whether it moved one.
    fn moves_one(&mut self, cores: u64) -> bool {
        let recent = self.epoch - 1;
        let on = |core: u64| -> Vec<u64> {
            let objects = self.objects.iter();
            let there = objects.filter(|object| object.core == Some(core));
            let named = there.filter(|object| object.named >= recent);
            named.map(|object| object.granule).collect()
        };
        let count = |core: u64| on(core).len();
        let fewest = (0..cores).map(count).min().unwrap();
        let most = (0..cores).map(count).max().unwrap();
        if most < fewest + 2 || most * 4 < fewest * 5 {
            return false;
        }
        let from = (0..cores).find(|&core| count(core) == most).unwrap();
        let to = (0..cores).find(|&core| count(core) == fewest).unwrap();
        let there = on(from);
        let moved = self.objects.iter_mut();
        let moved = moved.filter(|object| there.contains(&object.granule));
        let moved = moved.min_by_key(|object| (bucket_of(object.granule), object.way));
        moved.unwrap().core = Some(to);
        true
    }

    /// Adds an unknown object to its bucket.
    fn arrive(&mut self, granule: u64) {
        let in_bucket = |object: &Object| bucket_of(object.granule) == bucket_of(granule);
        if self
            .objects
            .iter()
            .filter(|object| in_bucket(object))
            .count()
            == 4
        {
            let bucket = self.objects.iter().filter(|object| in_bucket(object));
            let rank = |object: &Object| (object.core.is_some(), object.named, object.way);
            let oldest = bucket.map(rank).min().unwrap();
            let is_oldest = |object: &Object| rank(object) == oldest;
            self.objects
                .retain(|object| !(in_bucket(object) && is_oldest(object)));
        }
        let is_taken = |way: u64| {
            let mut objects = self.objects.iter();
            objects.any(|object| in_bucket(object) && object.way == way)
        };
        let way = (0..4).find(|&way| !is_taken(way)).unwrap();
        self.came += 1;
        self.objects.push(Object {
            granule,
            way,
            core: None,
            calls: 0,
            named: self.epoch,
        });
    }
}
