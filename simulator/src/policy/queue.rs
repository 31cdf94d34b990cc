//! The ways of each set in an order: newest first, empty ways last.
//!
//! Up to 16 ways their numbers fit one 64-bit word, four bits each, the newest lowest; moving one
//! to the front is a dozen operations without a branch. The alternative, the lines themselves in
//! order as an array, needs a search and moves of a length that differs from hit to hit.
//! Wider sets, which only outer levels have, are a list of bytes.

/// The orders of all sets of one cache.
#[derive(Clone)]
pub(super) enum Queue {
    /// One word a set.
    Packed { orders: Vec<u64>, ways: usize },
    /// `ways` bytes a set.
    Wide { orders: Vec<u8>, ways: usize },
}

/// Way 0 first, way 15 last.
const ASCENDING: u64 = 0xfedc_ba98_7654_3210;

/// A one in each of the 16 places.
const ONES: u64 = 0x1111_1111_1111_1111;

impl Queue {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        if ways <= 16 {
            let orders = vec![ASCENDING; sets];
            return Queue::Packed { orders, ways };
        }
        let order = (0..ways).map(|way| way as u8);
        let orders = (0..sets).flat_map(|_| order.clone()).collect();
        Queue::Wide { orders, ways }
    }

    #[inline]
    pub(super) fn move_to_front(&mut self, set: usize, way: usize) {
        match self {
            Queue::Packed { orders, .. } => {
                let order = &mut orders[set];
                let shift = shift_of(*order, way);
                *order = with_front(*order, shift, way);
            }
            Queue::Wide { orders, ways } => {
                let order = &mut orders[set * *ways..][..*ways];
                let position = position(order, way);
                order[..=position].rotate_right(1);
            }
        }
    }

    #[inline]
    pub(super) fn move_last_to_front(&mut self, set: usize) -> usize {
        match self {
            Queue::Packed { orders, ways } => {
                let order = &mut orders[set];
                let shift = 4 * (*ways as u32 - 1);
                let way = (*order >> shift & 15) as usize;
                *order = with_front(*order, shift, way);
                way
            }
            Queue::Wide { orders, ways } => {
                let order = &mut orders[set * *ways..][..*ways];
                order.rotate_right(1);
                usize::from(order[0])
            }
        }
    }

    #[inline]
    pub(super) fn move_to_back(&mut self, set: usize, way: usize) {
        match self {
            Queue::Packed { orders, ways } => {
                let order = &mut orders[set];
                let (shift, last) = (shift_of(*order, way), 4 * (*ways as u32 - 1));
                let kept = *order & !(upwards(shift) ^ (upwards(last) << 4));
                let moved = (*order >> 4) & (upwards(shift) ^ upwards(last));
                *order = kept | moved | (way as u64) << last;
            }
            Queue::Wide { orders, ways } => {
                let order = &mut orders[set * *ways..][..*ways];
                let position = position(order, way);
                order[position..].rotate_left(1);
            }
        }
    }
}

/// Ones from bit `shift` on.
#[inline]
fn upwards(shift: u32) -> u64 {
    u64::MAX << shift
}

/// How far up `way` stands in `order`, in bits: where the difference to 16 copies of it is zero,
/// and the lowest place found so is one (Hacker's Delight, section 6-1).
#[inline]
fn shift_of(order: u64, way: usize) -> u32 {
    let difference = order ^ (way as u64).wrapping_mul(ONES);
    let zeros = difference.wrapping_sub(ONES) & !difference & (ONES << 3);
    zeros.trailing_zeros() & 60
}

/// `order` with the places below `shift` moved up by one and `way` first.
#[inline]
fn with_front(order: u64, shift: u32, way: usize) -> u64 {
    let above = upwards(shift) << 4;
    order & above | (order & !upwards(shift)) << 4 | way as u64
}

fn position(order: &[u8], way: usize) -> usize {
    let found = order.iter().position(|&other| usize::from(other) == way);
    found.expect("every way stands in the order")
}
