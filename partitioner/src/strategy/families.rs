//! Choices of functions of which no two are of one family: calls of one function, say, of which a
//! plan can name one.

use rand::Rng;
use rand::RngExt;
use std::collections::BTreeMap;

/// The members of each family, by index.
fn members(families: &[u32]) -> Vec<Vec<u32>> {
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&family, function) in families.iter().zip(0..) {
        members.entry(family).or_default().push(function);
    }
    members.into_values().collect()
}

/// Number of ways to choose so many functions, saturating: the elementary symmetric polynomial of
/// the families' sizes.
pub(super) fn choices(families: &[u32], chosen: u32) -> u128 {
    let mut ways = vec![0_u128; chosen as usize + 1];
    ways[0] = 1;
    for family in members(families) {
        for count in (1..ways.len()).rev() {
            let with_one = ways[count - 1].saturating_mul(family.len() as u128);
            ways[count] = ways[count].saturating_add(with_one);
        }
    }
    ways[chosen as usize]
}

/// So many functions, drawn evenly from all such choices.
///
/// # Panics
/// When there are fewer families.
pub(super) fn drawn(families: &[u32], chosen: u32, random: &mut impl Rng) -> Vec<u32> {
    let members = members(families);
    assert!(
        chosen as usize <= members.len(),
        "{chosen} of fewer families"
    );
    // By number of the last families, the logarithms of the ways to choose so many of them.
    let mut ways = vec![vec![f64::NEG_INFINITY; chosen as usize + 1]; members.len() + 1];
    ways[0][0] = 0.0;
    for (last, family) in (1..).zip(members.iter().rev()) {
        for count in 0..=chosen as usize {
            let without = ways[last - 1][count];
            let with_one = match count {
                0 => f64::NEG_INFINITY,
                _ => ways[last - 1][count - 1] + (family.len() as f64).ln(),
            };
            ways[last][count] = sum(without, with_one);
        }
    }
    let mut left = chosen as usize;
    let mut functions = Vec::new();
    for (place, family) in members.iter().enumerate() {
        let others = members.len() - place - 1;
        if left == 0 {
            break;
        }
        let with_one = ways[others][left - 1] + (family.len() as f64).ln();
        let share = (with_one - ways[others + 1][left]).exp();
        if left > others || random.random_bool(share.min(1.0)) {
            functions.push(family[random.random_range(0..family.len())]);
            left -= 1;
        }
    }
    functions
}

/// The logarithm of the sum of two numbers whose logarithms these are.
fn sum(one: f64, other: f64) -> f64 {
    let (less, more) = (one.min(other), one.max(other));
    match less == f64::NEG_INFINITY {
        true => more,
        false => more + (less - more).exp().ln_1p(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const FAMILIES: [u32; 6] = [5, 7, 5, 9, 7, 5];

    #[test]
    fn choices_are_counted_and_drawn_evenly() {
        // Of sizes 3, 2 and 1: pairs 3 * 2 + 3 * 1 + 2 * 1.
        let counts = [1, 6, 11, 6, 0];
        for (chosen, count) in (0..).zip(counts) {
            assert_eq!(choices(&FAMILIES, chosen), count);
        }
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut seen: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for _ in 0..11 * 400 {
            let mut functions = drawn(&FAMILIES, 2, &mut random);
            functions.sort_unstable();
            *seen.entry(functions).or_default() += 1;
        }
        assert_eq!(seen.len(), 11);
        // Six standard deviations of a binomial with mean 400.
        assert!(seen.values().all(|&n| (285..515).contains(&n)), "{seen:?}");
    }

    #[test]
    fn many_families_neither_overflow_nor_lose_a_function() {
        let families: Vec<u32> = (0..4000).map(|function| function / 8).collect();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(drawn(&families, 400, &mut random).len(), 400);
        assert_eq!(drawn(&families, 500, &mut random).len(), 500);
        assert_eq!(choices(&families, 400), u128::MAX);
    }
}
