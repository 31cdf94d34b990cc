//! A set-associative cache that replaces the least recently used line of a set.
//!
//! The lines of a set lie in one array, most recently used first, so their order in memory is the
//! LRU order and the usual hit is the first comparison. Ages in a second array, tried on a recorded
//! mariadbd, were a quarter slower: they save moving a few words, but cost a write on every hit.

use crate::machine::Level;

/// One cache. `P` is what it keeps with each line: nothing in a private cache, the cores that may
/// hold the line in the L3.
pub(crate) struct Lru<P> {
    sets: u64,
    /// `sets - 1` where that is a mask, which is everywhere but in some L3s.
    mask: Option<u64>,
    ways: usize,
    slots: Vec<Slot<P>>,
}

/// A line and what is kept with it; empty slots come last in their set.
#[derive(Clone, Copy)]
pub(crate) struct Slot<P> {
    pub(crate) line: u64,
    pub(crate) payload: P,
}

/// No line: line numbers are addresses divided by 64.
const EMPTY: u64 = u64::MAX;

impl<P: Copy + Default> Lru<P> {
    /// An empty cache of a checked machine's `level`.
    pub(crate) fn new(level: Level) -> Self {
        let (sets, ways) = (level.sets(), level.ways as usize);
        let empty = Slot {
            line: EMPTY,
            payload: P::default(),
        };
        Lru {
            sets,
            mask: sets.is_power_of_two().then(|| sets - 1),
            ways,
            slots: vec![empty; sets as usize * ways],
        }
    }

    #[inline]
    fn set(&mut self, line: u64) -> &mut [Slot<P>] {
        debug_assert_ne!(line, EMPTY);
        let set = match self.mask {
            Some(mask) => line & mask,
            None => line % self.sets,
        };
        let first = set as usize * self.ways;
        &mut self.slots[first..first + self.ways]
    }

    /// Looks `line` up and, if it is there, makes it the most recently used.
    #[inline]
    pub(crate) fn touch(&mut self, line: u64) -> Option<&mut P> {
        let set = self.set(line);
        if set[0].line != line {
            let way = set.iter().position(|slot| slot.line == line)?;
            let found = set[way];
            push_front(&mut set[..=way], found);
        }
        Some(&mut set[0].payload)
    }

    /// Looks `line` up and changes no order.
    pub(crate) fn find(&mut self, line: u64) -> Option<&mut P> {
        let slot = self.set(line).iter_mut().find(|slot| slot.line == line)?;
        Some(&mut slot.payload)
    }

    /// Adds `line`, which must not be there, as the most recently used; gives what it replaced.
    #[inline]
    pub(crate) fn insert(&mut self, line: u64, payload: P) -> Option<Slot<P>> {
        let set = self.set(line);
        debug_assert!(set.iter().all(|slot| slot.line != line));
        let replaced = push_front(set, Slot { line, payload });
        (replaced.line != EMPTY).then_some(replaced)
    }

    /// Removes `line`; the others keep their order. False when it was not there.
    #[inline]
    pub(crate) fn remove(&mut self, line: u64) -> bool {
        let set = self.set(line);
        let Some(way) = set.iter().position(|slot| slot.line == line) else {
            return false;
        };
        set[way..].rotate_left(1);
        if let Some(last) = set.last_mut() {
            last.line = EMPTY;
        }
        true
    }
}

/// Puts `slot` first and moves the others back by one; gives the last, which has no place left.
/// `rotate_right` does the same for any length, but calls `memmove` for these few words.
#[inline]
fn push_front<P: Copy>(slots: &mut [Slot<P>], slot: Slot<P>) -> Slot<P> {
    let mut carried = slot;
    for place in slots {
        std::mem::swap(&mut carried, place);
    }
    carried
}
