//! Predicts data addresses, so that nine in ten need not be stored.
//!
//! The same instruction of the same template often accesses the same address again, or advances by
//! a constant stride. Most often, its address is at the same distance as before from a recently
//! accessed address. Examples are fields of an object and slots of a stack frame. The best of these
//! base addresses is determined for each such slot by trying all of them on the chunk, and is
//! stored. General compression alone, over fixed-width columns of addresses, needs twice the space
//! (research/notes/trace-size.md has the figures).

use std::collections::HashMap;

/// Maximum distance from an address back to its base, in data accesses, plus one.
pub const BASES: usize = 16;
/// Maximum number of 64 KiB regions among the explicit addresses of one chunk.
pub const MAX_REGIONS: usize = 1 << 16;

/// How an address is predicted: at the same distance from its base as last time.
pub const FROM_BASE: u8 = 0;
/// Predicted by the same stride as last time.
pub const BY_STRIDE: u8 = 1;
/// Not predicted; stored.
pub const EXPLICIT: u8 = 2;

/// Prediction state of one data access of one template.
#[derive(Clone, Copy, Default)]
struct Slot {
    history: AddressHistory,
    base: Base,
}

/// Previous addresses of a slot, from which the next one is predicted.
#[derive(Clone, Copy, Default)]
pub struct AddressHistory {
    /// Distance of the last address from its base.
    pub from_base: u64,
    /// The last address.
    pub last: u64,
    last_but_one: u64,
}

/// The base address that a slot's address is predicted from.
#[derive(Clone, Copy, Default)]
pub struct Base {
    /// How many accesses before this one the base is; it counts as zero if the mask is zero.
    pub back: u8,
    mask: i8,
}

/// State shared by encoding and decoding a chunk's addresses.
#[derive(Default)]
pub struct Predictor {
    slots: Vec<Slot>,
    recent: [u64; BASES],
    position: usize,
}

impl Predictor {
    /// Clears all state; `bases` contains the base of each slot, each below [`BASES`].
    pub fn begin(&mut self, bases: &[u8]) {
        let slot = |&base: &u8| Slot {
            history: AddressHistory::default(),
            base: Base::new(base),
        };
        self.slots.clear();
        self.slots.extend(bases.iter().map(slot));
        self.recent = [0; BASES];
        self.position = 0;
    }

    /// Appends the addresses of one execution to `addresses`. Its data accesses are in the slots
    /// from `first_slot` on.
    ///
    /// # Panics
    /// If there are no such slots, or `explicit` has too few addresses.
    #[inline(always)]
    pub fn decode(
        &mut self,
        first_slot: usize,
        hows: &[u8],
        explicit: &mut std::slice::Iter<'_, Explicit>,
        addresses: &mut Vec<u64>,
    ) {
        let slots = &mut self.slots[first_slot..first_slot + hows.len()];
        let mut position = self.position;
        for (slot, &how) in slots.iter_mut().zip(hows) {
            let base = slot.base(&self.recent, position);
            let address = match how {
                FROM_BASE => base.wrapping_add(slot.history.from_base),
                BY_STRIDE => slot.history.next_by_stride(),
                _ => {
                    let next = explicit.next().expect("as many as were counted");
                    next.address(slot.history.last)
                }
            };
            slot.history.update(base, address);
            self.recent[position % BASES] = address;
            position = position.wrapping_add(1);
            addresses.push(address);
        }
        self.position = position;
    }

    /// Returns how the next address, `address`, is predicted, and the slot's last address.
    fn encode(&mut self, slot: usize, address: u64) -> (u8, u64) {
        let slot = &mut self.slots[slot];
        let base = slot.base(&self.recent, self.position);
        let last = slot.history.last;
        let how = if base.wrapping_add(slot.history.from_base) == address {
            FROM_BASE
        } else if slot.history.next_by_stride() == address {
            BY_STRIDE
        } else {
            EXPLICIT
        };
        slot.history.update(base, address);
        self.recent[self.position % BASES] = address;
        self.position = self.position.wrapping_add(1);
        (how, last)
    }
}

impl Slot {
    #[inline(always)]
    fn base(&self, recent: &[u64; BASES], position: usize) -> u64 {
        let back = usize::from(self.base.back);
        self.base
            .address(recent[position.wrapping_sub(back) % BASES])
    }
}

impl Base {
    /// Creates the base for a value of column `bases`.
    pub fn new(base: u8) -> Base {
        Base {
            back: base,
            mask: -i8::from(base != 0),
        }
    }

    /// Returns the base's address; `before` is the address of the access `back` accesses before.
    #[inline(always)]
    pub fn address(self, before: u64) -> u64 {
        before & i64::from(self.mask) as u64
    }
}

impl AddressHistory {
    /// Predicts the next address, assuming an unchanged stride.
    #[inline(always)]
    pub fn next_by_stride(&self) -> u64 {
        let stride = self.last.wrapping_sub(self.last_but_one);
        self.last.wrapping_add(stride)
    }

    /// Records `address`, whose base is at `base`.
    #[inline(always)]
    pub fn update(&mut self, base: u64, address: u64) {
        self.from_base = address.wrapping_sub(base);
        self.last_but_one = self.last;
        self.last = address;
    }
}

/// A stored address.
#[derive(Clone, Copy)]
pub struct Explicit {
    /// Its high 48 bits, not shifted.
    pub region: u64,
    /// Its low 16 bits minus those of its slot's last address.
    pub offset: u16,
}

impl Explicit {
    /// Returns the address, in a slot whose last address is `last`.
    #[inline(always)]
    pub fn address(self, last: u64) -> u64 {
        self.region | u64::from(self.offset.wrapping_add(last as u16))
    }
}

/// The addresses of a chunk as columns: see `schema/trace.capnp`.
#[derive(Default)]
pub struct Coded {
    pub bases: Vec<u8>,
    pub hows: Vec<u8>,
    pub regions: Vec<u64>,
    pub regions_low: Vec<u8>,
    pub regions_high: Vec<u8>,
    pub offsets: Vec<u16>,
}

/// Encodes the addresses of chunks; buffers are reused for each chunk.
#[derive(Default)]
pub struct Coder {
    coded: Coded,
    trials: Vec<Trial>,
    /// Number of addresses tried for each slot.
    tried: Vec<u8>,
    /// The low 16 bits of all addresses, after `BASES - 1` zeros.
    lows: Vec<u16>,
    predictor: Predictor,
    /// Number of each region.
    numbers: HashMap<u64, usize>,
}

/// Number of slots in the cache of recent regions.
const LATEST: usize = 64;

/// How many of a slot's first addresses in a chunk determine its base; more give the same result.
const TRIALS: u8 = 48;

/// For a slot: the last distance from each base, farthest base first, and how often it was
/// repeated.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Trial {
    distances: [u16; BASES],
    hits: [u16; BASES],
}

impl Coder {
    /// Encodes `addresses`; `slots` contains the slot of each access, below `slot_count`. `None` if
    /// they are in too many regions for one chunk.
    pub fn code(&mut self, slots: &[u32], slot_count: usize, addresses: &[u64]) -> Option<&Coded> {
        self.choose_bases(slots, slot_count, addresses);
        let coded = &mut self.coded;
        coded.hows.clear();
        coded.regions.clear();
        coded.regions_low.clear();
        coded.regions_high.clear();
        coded.offsets.clear();
        self.numbers.clear();
        self.predictor.begin(&coded.bases);
        // Explicit addresses are mostly in a few regions.
        let mut latest = [(u64::MAX, 0); LATEST];
        let accesses = slots.iter().zip(addresses);
        coded.hows.extend(accesses.map(|(&slot, &address)| {
            let (how, last) = self.predictor.encode(slot as usize, address);
            if how == EXPLICIT {
                let region = address >> 16;
                let known = &mut latest[region as usize % LATEST];
                if known.0 != region {
                    let number = *self.numbers.entry(region).or_insert_with(|| {
                        coded.regions.push(region);
                        coded.regions.len() - 1
                    });
                    *known = (region, number);
                }
                let (number, offset) = (known.1, (address as u16).wrapping_sub(last as u16));
                coded.regions_low.push(number as u8);
                coded.regions_high.push((number >> 8) as u8);
                coded.offsets.push(offset);
            }
            how
        }));
        (coded.regions.len() <= MAX_REGIONS).then_some(coded)
    }

    /// Selects for each slot the base that predicts most of its first addresses.
    fn choose_bases(&mut self, slots: &[u32], slot_count: usize, addresses: &[u64]) {
        self.trials.clear();
        self.trials.resize(slot_count, Trial::default());
        self.tried.clear();
        self.tried.resize(slot_count, 0);
        // The low 16 bits decide as well as whole addresses do, and make a trial fit in one cache
        // line.
        self.lows.clear();
        self.lows.resize(BASES - 1, 0);
        self.lows
            .extend(addresses.iter().map(|&address| address as u16));
        for (&slot, window) in slots.iter().zip(self.lows.windows(BASES)) {
            let tried = &mut self.tried[slot as usize];
            if *tried == TRIALS {
                continue;
            }
            *tried += 1;
            let mut before: [u16; BASES] = window.try_into().expect("windows of that length");
            // The distance from base zero is the address itself. It is last in the window.
            let address = std::mem::replace(&mut before[BASES - 1], 0);
            let trial = &mut self.trials[slot as usize];
            for (place, &before) in before.iter().enumerate() {
                let distance = address.wrapping_sub(before);
                trial.hits[place] += u16::from(distance == trial.distances[place]);
                trial.distances[place] = distance;
            }
        }
        let best = |trial: &Trial| {
            let most = trial.hits.iter().max();
            // The nearest base wins a tie.
            let place = trial.hits.iter().rposition(|hits| Some(hits) == most);
            place.map_or(0, |place| (BASES - 1 - place) as u8)
        };
        self.coded.bases.clear();
        self.coded.bases.extend(self.trials.iter().map(best));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_moving_object_follow_from_its_first_field() {
        let objects = [0x1000u64, 0x7f00_0000, 0x2460, 0x9_0000_0000];
        let addresses: Vec<u64> = objects.iter().flat_map(|o| [*o, o + 8, o + 24]).collect();
        let slots = [0, 1, 2].repeat(objects.len());
        let mut coder = Coder::default();
        let coded = coder.code(&slots, 3, &addresses).unwrap();
        assert_eq!(coded.bases[1..], [1, 1]);
        // All fields of the first object are explicit; of the others, only the first field is.
        assert_eq!(coded.hows, [2, 2, 2, 2, 0, 0, 2, 0, 0, 2, 0, 0]);
    }

    #[test]
    fn an_array_walk_follows_by_its_stride() {
        let mut predictor = Predictor::default();
        predictor.begin(&[0]);
        let mut how = |step: u64| predictor.encode(0, 0x5000 + step * 24).0;
        let hows: Vec<u8> = (0..6).map(&mut how).collect();
        assert_eq!(hows, [2, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn addresses_in_too_many_regions_do_not_fit_one_block() {
        let addresses: Vec<u64> = (0..=MAX_REGIONS as u64 + 1)
            .map(|n| (n * n) << 16)
            .collect();
        let slots = vec![0; addresses.len()];
        assert!(Coder::default().code(&slots, 1, &addresses).is_none());
    }
}
