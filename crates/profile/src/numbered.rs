//! What a file or an analysis has once, and refers to by number.

use std::collections::HashMap;
use std::hash::Hash;

/// Things in the order in which they were met first.
pub(crate) struct Numbered<T> {
    all: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered {
            all: Vec::new(),
            numbers: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// The number of a thing, from 0.
    pub fn of(&mut self, thing: T) -> usize {
        let next = self.all.len();
        let number = *self.numbers.entry(thing.clone()).or_insert(next);
        if number == next {
            self.all.push(thing);
        }
        number
    }

    /// All of them, by number.
    pub fn all(&self) -> &[T] {
        &self.all
    }
}
