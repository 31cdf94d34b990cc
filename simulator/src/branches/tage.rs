//! TAGE, for conditional branches: the longest history that has been seen before this branch
//! predicts it.
//!
//! Seznec and Michaud, "A case for (partially) tagged geometric history length branch predictors",
//! Journal of Instruction-Level Parallelism 8, 2006, with these simplifications: no counter that
//! prefers the alternate prediction to new entries, no path history, an entry is made in the first
//! free table instead of a random one, and aging halves all useful counters.
//!
//! These are all rules.
//!
//! - The base table has 8192 counters from 0 to 3, at first 1, indexed by the address of the branch
//!   modulo 8192. It predicts that the branch is taken if the counter is at least 2.
//! - Each of 6 tagged tables has 2048 entries: a tag of 12 bits, a counter from -4 to 3, and a
//!   useful counter from 0 to 3; at first all 0. Their history lengths are 5, 11, 25, 57, 130, and
//!   256.
//! - The index in a table is the XOR of the address, the address divided by 2048, and the fold of
//!   width 11 of its length, modulo 2048. The tag is the XOR of the address, the fold of width 12,
//!   and twice the fold of width 11, modulo 4096.
//! - The *provider* is the table with the longest history whose entry has the tag; otherwise it is
//!   the base table. It predicts that the branch is taken if the counter is at least 0. The
//!   *alternate* is what would provide without this table.
//! - Afterwards, the provider's counter moves by one to the outcome. If the provider is a tagged
//!   table and the alternate predicts otherwise, its useful counter rises by one after a correct
//!   prediction, and falls by one after a wrong one.
//! - After a wrong prediction, the first table with a longer history whose entry is not useful (its
//!   counter is 0) gets a new entry: the tag, counter 0 if the branch was taken, otherwise -1. If
//!   there is none, the useful counters of the entries there fall by one.
//! - After each 262 144 branches, all useful counters are halved.

use super::history::Fold;

const BASE_ENTRIES: usize = 8192;
const LENGTHS: [usize; 6] = [5, 11, 25, 57, 130, 256];
const INDEX_BITS: u32 = 11;
const TAG_BITS: u32 = 12;
const AGED_AFTER: u32 = 1 << 18;

#[derive(Clone, Debug)]
pub(super) struct Tage {
    base: Box<[u8]>,
    tables: [Table; LENGTHS.len()],
    until_aged: u32,
}

#[derive(Clone, Debug)]
struct Table {
    entries: Box<[Entry]>,
    of_index: Fold,
    of_tag: Fold,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    tag: u16,
    counter: i8,
    useful: u8,
}

impl Table {
    fn new(length: usize) -> Table {
        Table {
            entries: vec![Entry::default(); 1 << INDEX_BITS].into(),
            of_index: Fold::new(length, INDEX_BITS),
            of_tag: Fold::new(length, TAG_BITS),
        }
    }

    /// Returns the index and the tag of a branch.
    #[inline]
    fn place(&self, pc: u64) -> (usize, u16) {
        let (pc, fold) = (pc as usize, self.of_index.value());
        let index = (pc ^ (pc >> INDEX_BITS) ^ fold) & ((1 << INDEX_BITS) - 1);
        let tag = (pc ^ self.of_tag.value() ^ (fold << 1)) & ((1 << TAG_BITS) - 1);
        (index, tag as u16)
    }
}

impl Tage {
    pub fn new() -> Tage {
        Tage {
            base: vec![1; BASE_ENTRIES].into(),
            tables: LENGTHS.map(Table::new),
            until_aged: AGED_AFTER,
        }
    }

    /// Returns the folds of the history that this predictor uses.
    pub fn folds(&mut self) -> impl Iterator<Item = &mut Fold> {
        let tables = self.tables.iter_mut();
        tables.flat_map(|table| [&mut table.of_index, &mut table.of_tag])
    }

    /// Predicts a branch, and learns whether it is taken. Returns whether the prediction was right.
    pub fn predict(&mut self, pc: u64, taken: bool) -> bool {
        let places: [(usize, u16); LENGTHS.len()] =
            std::array::from_fn(|table| self.tables[table].place(pc));
        let matching = |&table: &usize| {
            let (index, tag) = places[table];
            self.tables[table].entries[index].tag == tag
        };
        let mut providers = (0..LENGTHS.len()).rev().filter(matching);
        let (provider, alternate) = (providers.next(), providers.next());
        let base = pc as usize % BASE_ENTRIES;
        let predicts = |table: Option<usize>| match table {
            Some(table) => self.tables[table].entries[places[table].0].counter >= 0,
            None => self.base[base] >= 2,
        };
        let (predicted, otherwise) = (predicts(provider), predicts(alternate));
        match provider {
            Some(table) => {
                let entry = &mut self.tables[table].entries[places[table].0];
                entry.counter = match taken {
                    true => (entry.counter + 1).min(3),
                    false => (entry.counter - 1).max(-4),
                };
                if predicted != otherwise {
                    entry.useful = match predicted == taken {
                        true => (entry.useful + 1).min(3),
                        false => entry.useful.saturating_sub(1),
                    };
                }
            }
            None => {
                let counter = &mut self.base[base];
                *counter = match taken {
                    true => (*counter + 1).min(3),
                    false => counter.saturating_sub(1),
                };
            }
        }
        if predicted != taken {
            self.allocate(provider.map_or(0, |table| table + 1), &places, taken);
        }
        self.age();
        predicted == taken
    }

    /// Makes an entry in a table from this one on.
    fn allocate(&mut self, first: usize, places: &[(usize, u16)], taken: bool) {
        let is_free = |&table: &usize| self.tables[table].entries[places[table].0].useful == 0;
        match (first..LENGTHS.len()).find(is_free) {
            Some(table) => {
                let (index, tag) = places[table];
                self.tables[table].entries[index] = Entry {
                    tag,
                    counter: if taken { 0 } else { -1 },
                    useful: 0,
                };
            }
            None => {
                for (table, &(index, _)) in self.tables[first..].iter_mut().zip(&places[first..]) {
                    table.entries[index].useful -= 1;
                }
            }
        }
    }

    fn age(&mut self) {
        self.until_aged -= 1;
        if self.until_aged == 0 {
            self.until_aged = AGED_AFTER;
            for entry in self.tables.iter_mut().flat_map(|table| &mut table.entries) {
                entry.useful /= 2;
            }
        }
    }
}
