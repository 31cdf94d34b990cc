//! Samples the requests to record, if only some are recorded, before the server starts.
//!
//! The numbers are sampled uniformly without replacement and depend only on the seed. The plugin
//! looks them up at each mark, so it makes no decisions at run time.

use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

/// Maximum number of sampled requests: their list takes 8 bytes each of shared memory.
const MOST: u64 = 1 << 24;

/// The sample is larger than the population or the list.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {requests} requests from {of}")]
pub struct TooMany {
    /// Number of requests to sample.
    pub requests: u64,
    /// Number of requests to sample from.
    pub of: u64,
}

impl TooMany {
    /// Returns what the user can do.
    pub fn remedy(&self) -> String {
        format!("lower --requests, at most {MOST}, or raise --of")
    }
}

/// Returns the numbers of the requests to record, ascending, from 1; empty if the first ones are
/// recorded.
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
