//! Which requests to record when only some are: drawn before the server starts.
//!
//! The numbers are drawn without replacement, each as likely as any other, and follow from the seed
//! alone. The plugin looks them up as marks come, so nothing has to be decided while it runs.

use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

/// The most requests that can be chosen: their list takes 8 bytes each of shared memory.
const MOST: u64 = 1 << 24;

/// More requests are to be chosen than there are, or than can be listed.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {requests} requests from {of}")]
pub struct TooMany {
    /// How many to choose.
    pub requests: u64,
    /// How many to choose from.
    pub of: u64,
}

impl TooMany {
    /// What the user can do about it.
    pub fn remedy(&self) -> String {
        format!("lower --requests, at most {MOST}, or raise --of")
    }
}

/// The numbers of the requests to record, ascending, from 1; none where the first are recorded.
pub fn numbers(requests: Option<u64>, of: Option<u64>, seed: u64) -> Result<Vec<u64>, TooMany> {
    let (Some(requests), Some(of)) = (requests, of) else {
        return Ok(Vec::new());
    };
    if requests > of || requests > MOST {
        return Err(TooMany { requests, of });
    }
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let drawn = index::sample(&mut generator, of as usize, requests as usize);
    let mut numbers: Vec<u64> = drawn.iter().map(|place| place as u64 + 1).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_chooses_the_same_requests() {
        let chosen = |seed| numbers(Some(10), Some(1000), seed).unwrap();
        assert_eq!(chosen(7), chosen(7));
        assert_ne!(chosen(7), chosen(8));
        assert!(chosen(7).is_sorted_by(|earlier, later| earlier < later));
        assert_eq!(chosen(7).len(), 10);
        assert!(chosen(7).iter().all(|number| (1..=1000).contains(number)));
    }

    #[test]
    fn all_may_be_chosen_but_no_more() {
        assert_eq!(numbers(Some(3), Some(3), 1).unwrap(), [1, 2, 3]);
        assert!(numbers(Some(4), Some(3), 1).is_err());
        assert_eq!(numbers(Some(4), None, 1).unwrap(), [0; 0]);
    }
}
