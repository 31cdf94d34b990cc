//! Which requests the search may look at, and which judge it.
//!
//! A split fitted to ten requests flatters itself on those ten. So the trace's complete requests
//! fall into three parts: *searched*, drawn by a seed; *warm-up*, the first half of the rest; and
//! *judging*, its second half, which nothing before the final verdict looks at.

use crate::Error;
use corehop_simulator::ReplayOptions;
use corehop_traces::Request;
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;

/// How many requests to search on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// This many, drawn at random by the seed.
    Sample(usize),
    /// Every complete request: none is left to judge the result.
    All,
}

/// The trace's complete requests in three parts, each in replay order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The search replays these.
    pub searched: Vec<u32>,
    /// Replayed before the judging ones, uncounted, so that those find warm caches.
    pub warm_up: Vec<u32>,
    /// Counted for the verdict.
    pub judging: Vec<u32>,
}

/// Indices of the requests that the recording did not cut short.
pub fn complete(requests: &[Request]) -> Vec<u32> {
    let complete = (0..).zip(requests).filter(|(_, r)| r.complete);
    complete.map(|(index, _)| index).collect()
}

/// Of a seed's random numbers, those that draw judging requests; the first stream draws the
/// searched ones.
const JUDGING_STREAM: u64 = 1;

impl Parts {
    /// Replays the judging requests, after those that warm up.
    pub fn judging_options(&self) -> ReplayOptions<'static> {
        ReplayOptions {
            requests: Some([&self.warm_up[..], &self.judging].concat()),
            warm_up_requests: self.warm_up.len(),
            ..ReplayOptions::default()
        }
    }

    /// Divides `requests` by `seed`.
    ///
    /// # Errors
    /// [`Error::NoRequests`] or [`Error::TooFewRequests`].
    pub fn of(requests: &[Request], searched: Searched, seed: u64) -> Result<Parts, Error> {
        let complete = complete(requests);
        let wanted = match searched {
            _ if complete.is_empty() => return Err(Error::NoRequests),
            Searched::All => complete.len(),
            Searched::Sample(wanted) => wanted,
        };
        if wanted > complete.len() {
            return Err(Error::TooFewRequests {
                wanted,
                complete: complete.len(),
            });
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let drawn = sample(&mut random, complete.len(), wanted).into_vec();
        let mut is_drawn = vec![false; complete.len()];
        for index in drawn {
            is_drawn[index] = true;
        }
        let part = |wanted: bool| -> Vec<u32> {
            let chosen = complete
                .iter()
                .zip(&is_drawn)
                .filter(|&(_, &drawn)| drawn == wanted);
            chosen.map(|(&request, _)| request).collect()
        };
        let mut warm_up = part(false);
        let judging = warm_up.split_off(warm_up.len() / 2);
        Ok(Parts {
            searched: part(true),
            warm_up,
            judging,
        })
    }

    /// The same with other judging requests: a random half of those that `first` did not search
    /// either. A split that was found there can be judged here too, and draws that are judged all
    /// on the same requests would hide how much those differ.
    #[must_use]
    pub fn apart_from(mut self, first: &Parts, seed: u64) -> Parts {
        self.judging
            .retain(|request| first.searched.binary_search(request).is_err());
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(JUDGING_STREAM);
        let half = self.judging.len().div_ceil(2);
        let mut drawn = sample(&mut random, self.judging.len(), half).into_vec();
        drawn.sort_unstable();
        let judging = drawn.into_iter().map(|index| self.judging[index]);
        self.judging = judging.collect();
        self
    }

    /// The requests that candidates may be counted over: all but the judging ones.
    pub fn learning(&self) -> impl Iterator<Item = u32> {
        self.searched.iter().chain(&self.warm_up).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(count: usize) -> Vec<Request> {
        (0..count)
            .map(|i| Request {
                number: None,
                connection: None,
                thread: 0,
                complete: i + 1 < count,
            })
            .collect()
    }

    #[test]
    fn every_complete_request_is_in_exactly_one_part() {
        let parts = Parts::of(&requests(31), Searched::Sample(10), 1).unwrap();
        let mut all = [
            parts.searched.clone(),
            parts.warm_up.clone(),
            parts.judging.clone(),
        ]
        .concat();
        all.sort_unstable();
        assert_eq!(all, (0..30).collect::<Vec<u32>>());
        assert_eq!(
            (
                parts.searched.len(),
                parts.warm_up.len(),
                parts.judging.len()
            ),
            (10, 10, 10)
        );
    }

    #[test]
    fn the_seed_alone_decides() {
        let of = |seed| Parts::of(&requests(101), Searched::Sample(10), seed).unwrap();
        assert_eq!(of(7), of(7));
        assert_ne!(of(7).searched, of(8).searched);
    }

    #[test]
    fn another_draw_is_judged_by_a_half_that_neither_draw_searched() {
        let of = |seed| Parts::of(&requests(101), Searched::Sample(10), seed).unwrap();
        let (first, own) = (of(1), of(2));
        let apart = own.clone().apart_from(&first, 2);
        let unseen = own.judging.iter().filter(|r| !first.searched.contains(r));
        let unseen: Vec<u32> = unseen.copied().collect();
        assert!(unseen.len() < own.judging.len(), "the draws must overlap");
        assert_eq!(apart.judging.len(), unseen.len().div_ceil(2));
        assert!(apart.judging.is_sorted());
        assert!(apart.judging.iter().all(|request| unseen.contains(request)));
        assert_eq!(
            (&apart.searched, &apart.warm_up),
            (&own.searched, &own.warm_up)
        );
        assert_ne!(own.clone().apart_from(&first, 3).judging, apart.judging);
    }

    #[test]
    fn searching_all_leaves_none_to_judge() {
        let parts = Parts::of(&requests(5), Searched::All, 1).unwrap();
        assert_eq!(parts.searched, [0, 1, 2, 3]);
        assert!(parts.warm_up.is_empty() && parts.judging.is_empty());
    }

    #[test]
    fn too_few_requests_are_named_as_such() {
        let said = |count| {
            Parts::of(&requests(count), Searched::Sample(3), 1)
                .unwrap_err()
                .to_string()
        };
        assert!(said(1).starts_with("the trace holds no complete request"));
        assert!(said(3).starts_with("3 requests wanted, but the trace holds 2 complete ones"));
    }
}
