//! Which object has which core, once more, as slow and obvious as docs/reference/objects.md has it.

/// The objects that a process knows, in no order.
#[derive(Default)]
pub struct Known {
    objects: Vec<Object>,
    epoch: u64,
    named_by_thread: [u64; 2],
    pub came: u64,
}

struct Object {
    granule: u64,
    way: u64,
    core: u64,
    named: u64,
}

fn bucket_of(granule: u64) -> u64 {
    granule.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

impl Known {
    /// A call of a thread has this argument; the core, if that is an object's.
    pub fn name(&mut self, thread: usize, argument: u64, cores: u64) -> Option<u64> {
        if !(65_536..1 << 56).contains(&argument) {
            return None;
        }
        self.named_by_thread[thread] += 1;
        if self.named_by_thread[thread].is_multiple_of(4096) {
            self.epoch += 1;
            let epoch = self.epoch;
            self.objects.retain(|object| epoch - object.named < 16);
        }
        let granule = argument / 16;
        let epoch = self.epoch;
        let mut known = self.objects.iter_mut();
        if let Some(object) = known.find(|object| object.granule == granule) {
            object.named = epoch;
            return Some(object.core);
        }
        let in_bucket = |object: &Object| bucket_of(object.granule) == bucket_of(granule);
        if self
            .objects
            .iter()
            .filter(|object| in_bucket(object))
            .count()
            == 4
        {
            let bucket = self.objects.iter().filter(|object| in_bucket(object));
            let oldest = bucket
                .map(|object| (object.named, object.way))
                .min()
                .unwrap();
            let is_oldest = |object: &Object| (object.named, object.way) == oldest;
            self.objects
                .retain(|object| !(in_bucket(object) && is_oldest(object)));
        }
        let is_taken = |way: u64| {
            let mut objects = self.objects.iter();
            objects.any(|object| in_bucket(object) && object.way == way)
        };
        let way = (0..4).find(|&way| !is_taken(way)).unwrap();
        let on = |core: u64| {
            self.objects
                .iter()
                .filter(|object| object.core == core)
                .count()
        };
        let core = (0..cores).min_by_key(|&core| on(core)).unwrap();
        self.came += 1;
        self.objects.push(Object {
            granule,
            way,
            core,
            named: epoch,
        });
        Some(core)
    }
}
