//! The train/test split of the requests: those for the search and those for the evaluation.
//!
//! A split fitted to ten requests performs better on these than on others. So the trace's complete
//! requests are divided into three: *searched*, sampled by a seed; *warm-up*, the first half of the
//! rest; and *held-out*, its second half, which is used only for the final verdict.

use crate::Error;
use crate::evaluate::rounds;
use corehop_simulator::ReplayOptions;
use corehop_traces::{Request, RequestId};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;

/// The requests to search on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// This many, sampled at random by the seed.
    Sample(usize),
    /// Every complete request; none is left for the evaluation.
    All,
}

/// The trace's complete requests, divided into three parts, each in replay order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainTestSplit {
    /// The search replays these.
    pub searched: Vec<RequestId>,
    /// Replayed before the held-out requests to warm the caches; not counted.
    pub warm_up: Vec<RequestId>,
    /// Counted for the verdict.
    pub held_out: Vec<RequestId>,
    /// Whether only the last searched request counts and the others warm the caches.
    pub last_counts: bool,
}

/// Explicitly selected requests to search on; none are left for the evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Only<'a> {
    /// The requests: at least one, ascending, all complete.
    pub requests: &'a [RequestId],
    /// Whether only the last of them counts.
    pub judge_last: bool,
}

/// Returns the requests that the recording did not cut off.
pub fn complete(requests: &[Request]) -> Vec<RequestId> {
    let complete = (0..)
        .map(RequestId)
        .zip(requests)
        .filter(|(_, r)| r.complete);
    complete.map(|(index, _)| index).collect()
}

/// The random stream of a seed for held-out requests; the first stream samples the searched
/// requests.
const HELD_OUT_STREAM: u64 = 1;

impl TrainTestSplit {
    /// Returns the division for explicitly selected requests.
    pub fn only(only: Only<'_>) -> TrainTestSplit {
        TrainTestSplit {
            searched: only.requests.to_vec(),
            warm_up: Vec::new(),
            held_out: Vec::new(),
            last_counts: only.judge_last,
        }
    }

    /// Returns options to replay the searched requests.
    pub fn searched_options(&self) -> ReplayOptions<'static> {
        ReplayOptions {
            requests: Some(self.searched.clone()),
            warm_up_requests: match self.last_counts {
                true => self.searched.len() - 1,
                false => 0,
            },
            ..ReplayOptions::default()
        }
    }

    /// Returns the number of consecutive replays of the searched requests ([`rounds`]).
    pub fn rounds(&self) -> usize {
        match self.last_counts {
            true => 1,
            false => rounds(self.searched.len()),
        }
    }

    /// Returns options to replay the held-out requests after the warm-up requests.
    pub fn held_out_options(&self) -> ReplayOptions<'static> {
        ReplayOptions {
            requests: Some([&self.warm_up[..], &self.held_out].concat()),
            warm_up_requests: self.warm_up.len(),
            ..ReplayOptions::default()
        }
    }

    /// Divides `requests` by `seed`.
    ///
    /// # Errors
    /// [`Error::NoRequests`] or [`Error::TooFewRequests`].
    pub fn of(
        requests: &[Request],
        searched: Searched,
        seed: u64,
    ) -> Result<TrainTestSplit, Error> {
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
        let sampled = sample(&mut random, complete.len(), wanted).into_vec();
        let mut is_sampled = vec![false; complete.len()];
        for index in sampled {
            is_sampled[index] = true;
        }
        let part = |wanted: bool| -> Vec<RequestId> {
            let chosen = complete
                .iter()
                .zip(&is_sampled)
                .filter(|&(_, &sampled)| sampled == wanted);
            chosen.map(|(&request, _)| request).collect()
        };
        let mut warm_up = part(false);
        let held_out = warm_up.split_off(warm_up.len() / 2);
        Ok(TrainTestSplit {
            searched: part(true),
            warm_up,
            held_out,
            last_counts: false,
        })
    }

    /// Returns the division with other held-out requests: a random half of those not in `seen`,
    /// which is ascending. A split found on the requests in `seen` can then be evaluated here too.
    /// If all resamples used the same held-out requests, the differences between requests would be
    /// hidden.
    #[must_use]
    pub fn apart_from(mut self, seen: &[RequestId], seed: u64) -> TrainTestSplit {
        self.held_out
            .retain(|request| seen.binary_search(request).is_err());
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(HELD_OUT_STREAM);
        let half = self.held_out.len().div_ceil(2);
        let mut sampled = sample(&mut random, self.held_out.len(), half).into_vec();
        sampled.sort_unstable();
        let held_out = sampled.into_iter().map(|index| self.held_out[index]);
        self.held_out = held_out.collect();
        self
    }

    /// Returns the requests in which candidates may be counted: all except the held-out ones.
    pub fn training(&self) -> impl Iterator<Item = RequestId> {
        self.searched.iter().chain(&self.warm_up).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_traces::ThreadId;

    fn requests(count: usize) -> Vec<Request> {
        (0..count)
            .map(|i| Request {
                number: None,
                connection: None,
                thread: ThreadId(0),
                complete: i + 1 < count,
            })
            .collect()
    }

    #[test]
    fn every_complete_request_is_in_exactly_one_set() {
        let train_test = TrainTestSplit::of(&requests(31), Searched::Sample(10), 1).unwrap();
        let mut all = [
            train_test.searched.clone(),
            train_test.warm_up.clone(),
            train_test.held_out.clone(),
        ]
        .concat();
        all.sort_unstable();
        assert_eq!(all, (0..30).map(RequestId).collect::<Vec<_>>());
        assert_eq!(
            (
                train_test.searched.len(),
                train_test.warm_up.len(),
                train_test.held_out.len()
            ),
            (10, 10, 10)
        );
    }

    #[test]
    fn the_seed_alone_decides() {
        let of = |seed| TrainTestSplit::of(&requests(101), Searched::Sample(10), seed).unwrap();
        assert_eq!(of(7), of(7));
        assert_ne!(of(7).searched, of(8).searched);
    }

    #[test]
    fn a_resample_is_evaluated_on_a_half_that_neither_search_saw() {
        let of = |seed| TrainTestSplit::of(&requests(101), Searched::Sample(10), seed).unwrap();
        let (first, own) = (of(1), of(2));
        let apart = own.clone().apart_from(&first.searched, 2);
        let unseen = own.held_out.iter().filter(|r| !first.searched.contains(r));
        let unseen: Vec<RequestId> = unseen.copied().collect();
        assert!(
            unseen.len() < own.held_out.len(),
            "the samples must overlap"
        );
        assert_eq!(apart.held_out.len(), unseen.len().div_ceil(2));
        assert!(apart.held_out.is_sorted());
        assert!(
            apart
                .held_out
                .iter()
                .all(|request| unseen.contains(request))
        );
        assert_eq!(
            (&apart.searched, &apart.warm_up),
            (&own.searched, &own.warm_up)
        );
        assert_ne!(
            own.clone().apart_from(&first.searched, 3).held_out,
            apart.held_out
        );
    }

    #[test]
    fn searching_all_leaves_none_held_out() {
        let train_test = TrainTestSplit::of(&requests(5), Searched::All, 1).unwrap();
        assert_eq!(train_test.searched, [0, 1, 2, 3].map(RequestId));
        assert!(train_test.warm_up.is_empty() && train_test.held_out.is_empty());
    }

    #[test]
    fn too_few_requests_are_named_as_such() {
        let said = |count| {
            TrainTestSplit::of(&requests(count), Searched::Sample(3), 1)
                .unwrap_err()
                .to_string()
        };
        assert!(said(1).starts_with("the trace holds no complete request"));
        assert!(said(3).starts_with("cannot search on 3 requests: the trace has 2 complete ones"));
    }
}
