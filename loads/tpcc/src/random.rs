//! Random values of TPC-C: non-uniform numbers, strings and last names, from a given seed.
//!
//! ChaCha generates the same numbers on every machine and in every later version. It has
//! independent streams for one seed, so that connections do not depend on each other.

use crate::size::Size;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::ops::RangeInclusive;

/// Syllables of last names (4.3.2.3).
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// NURand's C for last names in the initial population, chosen once in 0 ..= 255 (2.1.6).
const LAST_NAME_LOAD_CONSTANT: u32 = 157;

/// Whether 2.1.6.1 allows this distance between the last names' C of load and run.
fn is_allowed_distance(distance: u32) -> bool {
    (65..=119).contains(&distance) && distance != 96 && distance != 112
}

/// A stream of random values for a database of one size.
pub struct Random {
    generator: ChaCha8Rng,
    size: Size,
    last_name_constant: u32,
    customer_constant: u32,
    item_constant: u32,
}

impl Random {
    /// Returns the stream that fills the tables.
    pub fn for_load(seed: u64, size: Size) -> Self {
        let mut random = Random::new(seed, 0, size);
        random.last_name_constant = LAST_NAME_LOAD_CONSTANT;
        random
    }

    /// Returns the stream of one connection; all streams of a seed share NURand's constants, as
    /// required by 2.1.6.
    pub fn for_run(seed: u64, connection: u32, size: Size) -> Self {
        Random::new(seed, u64::from(connection) + 1, size)
    }

    fn new(seed: u64, stream: u64, size: Size) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let last_name_constant = loop {
            let constant = generator.random_range(0..=255_u32);
            if is_allowed_distance(constant.abs_diff(LAST_NAME_LOAD_CONSTANT)) {
                break constant;
            }
        };
        let customer_constant = generator.random_range(0..=1023);
        let item_constant = generator.random_range(0..=8191);
        generator.set_stream(stream);
        Random {
            generator,
            size,
            last_name_constant,
            customer_constant,
            item_constant,
        }
    }

    /// Returns a uniformly distributed number of the range.
    pub fn uniform(&mut self, range: RangeInclusive<u32>) -> u32 {
        self.generator.random_range(range)
    }

    /// Returns true with a probability of `percent` percent.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.uniform(1..=100) <= percent
    }

    /// Returns NURand(A, x, y) of clause 2.1.6.
    fn non_uniform(&mut self, a: u32, constant: u32, range: RangeInclusive<u32>) -> u32 {
        let (first, last) = (*range.start(), *range.end());
        let mixed = self.uniform(0..=a) | self.uniform(first..=last);
        (mixed + constant) % (last - first + 1) + first
    }

    /// Returns a customer's number, NURand(1023, 1, 3000) at scale 1 (2.4.1.2).
    pub fn customer(&mut self) -> u32 {
        let a = self.size.skew(1023);
        self.non_uniform(a, self.customer_constant, 1..=self.size.customers())
    }

    /// Returns an item's number, NURand(8191, 1, 100000) at scale 1 (2.4.1.5).
    pub fn item(&mut self) -> u32 {
        let a = self.size.skew(8191);
        self.non_uniform(a, self.item_constant, 1..=self.size.items())
    }

    /// Returns a last name that exists in every district, NURand(255, 0, 999) at scale 1 (2.5.1.2).
    pub fn last_name(&mut self) -> String {
        let a = self.size.skew(255);
        let number = self.non_uniform(a, self.last_name_constant, 0..=self.size.last_names() - 1);
        last_name(number)
    }

    /// Returns an a-string: `length` letters and digits (4.3.2.2).
    pub fn letters(&mut self, length: RangeInclusive<u32>) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        self.string(LETTERS, length)
    }

    /// Returns an n-string: `length` digits (4.3.2.2).
    pub fn digits(&mut self, length: RangeInclusive<u32>) -> String {
        self.string(b"0123456789", length)
    }

    /// Returns a state: two capital letters.
    pub fn state(&mut self) -> String {
        self.string(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 2..=2)
    }

    /// Returns a zip code: four digits and 11111 (4.3.2.7).
    pub fn zip(&mut self) -> String {
        self.digits(4..=4) + "11111"
    }

    fn string(&mut self, alphabet: &[u8], length: RangeInclusive<u32>) -> String {
        let length = self.uniform(length);
        let last = alphabet.len() as u32 - 1;
        (0..length)
            .map(|_| char::from(alphabet[self.uniform(0..=last) as usize]))
            .collect()
    }

    /// Returns I_DATA or S_DATA: 26 to 50 letters, with ORIGINAL somewhere in 10 % of them
    /// (4.3.3.1).
    pub fn data(&mut self) -> String {
        let mut text = self.letters(26..=50);
        if self.chance(10) {
            let start = self.uniform(0..=text.len() as u32 - 8) as usize;
            text.replace_range(start..start + 8, "ORIGINAL");
        }
        text
    }

    /// Shuffles a slice.
    pub fn shuffle<T>(&mut self, slice: &mut [T]) {
        slice.shuffle(&mut self.generator);
    }
}

/// Returns the last name of a number from 0 to 999, one syllable per digit (4.3.2.3).
pub fn last_name(number: u32) -> String {
    [number / 100 % 10, number / 10 % 10, number % 10]
        .map(|digit| SYLLABLES[digit as usize])
        .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn size(scale: u32) -> Size {
        Size {
            warehouses: 1,
            scale,
        }
    }

    #[test]
    fn the_standards_example_of_a_last_name() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
    }

    #[test]
    fn no_two_numbers_share_a_last_name() {
        let names: BTreeSet<String> = (0..1000).map(last_name).collect();
        assert_eq!(names.len(), 1000);
    }

    proptest! {
        #[test]
        fn non_uniform_numbers_stay_in_their_range(seed: u64, scale in 1_u32..=100) {
            let size = size(scale);
            let mut random = Random::for_run(seed, 0, size);
            for _ in 0..50 {
                prop_assert!((1..=size.customers()).contains(&random.customer()));
                prop_assert!((1..=size.items()).contains(&random.item()));
            }
        }

        #[test]
        fn the_run_constant_of_last_names_keeps_its_distance(seed: u64) {
            let constant = Random::for_run(seed, 3, size(1)).last_name_constant;
            prop_assert!(constant <= 255);
            prop_assert!(is_allowed_distance(constant.abs_diff(LAST_NAME_LOAD_CONSTANT)));
        }

        #[test]
        fn connections_of_a_seed_share_constants_but_not_numbers(seed: u64) {
            let [mut one, mut two] = [0, 1].map(|c| Random::for_run(seed, c, size(1)));
            prop_assert_eq!(one.item_constant, two.item_constant);
            prop_assert_eq!(one.customer_constant, two.customer_constant);
            prop_assert_ne!(one.letters(30..=30), two.letters(30..=30));
        }

        #[test]
        fn the_same_seed_gives_the_same_values(seed: u64) {
            let [one, two] = [(), ()].map(|()| Random::for_load(seed, size(30)).letters(40..=40));
            prop_assert_eq!(one, two);
        }
    }

    #[test]
    fn non_uniform_numbers_prefer_some_items() {
        // With A = 8191, half of the samples are on few of the items. The same number of uniform
        // samples would omit about 37 % of the items; these omit far more.
        let mut random = Random::for_run(1, 0, size(1));
        let drawn: BTreeSet<u32> = (0..100_000).map(|_| random.item()).collect();
        let share = drawn.len();
        assert!(share < 50_000, "{share} different items");
    }

    #[test]
    fn one_item_in_ten_is_original() {
        let mut random = Random::for_load(7, size(1));
        let texts: Vec<String> = (0..2000).map(|_| random.data()).collect();
        assert!(texts.iter().all(|text| (26..=50).contains(&text.len())));
        let original = texts
            .iter()
            .filter(|text| text.contains("ORIGINAL"))
            .count();
        assert!((150..=250).contains(&original), "{original} of 2000");
    }
}
