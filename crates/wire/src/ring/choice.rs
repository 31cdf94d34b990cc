//! Selects the requests to record, by number, as their marks arrive.
//!
//! Every mark of the server is counted and gives its request a number, from 1. Recorded are either
//! the first requests up to a limit, or those on a list that the recorder made before the server
//! started. The list counts only requests that may be selected: those of a pause are not on it, or
//! a long pause would use it up. No lock is used. A request *pends* from before its mark is counted
//! until it has ended or is found not to be selected. So if nothing is pending and nothing is left
//! to select, all is recorded.

use crate::ring::header::Counts;
use crate::ring::memory::Memory;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server stays instrumented between selected requests that are closer than this. Two switches
/// make it translate its code twice. That costs as much as callbacks that write nothing cost 500
/// requests of mariadbd or 2000 of redis-server (docs/guide/recording.md).
const NEAR_REQUESTS: u64 = 1000;

/// One declined request, in the upper half of `open`.
const DECLINED: u64 = 1 << 32;

/// A counted request mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of the request among all that the server serves, from 1.
    pub number: u64,
    /// Whether the request is to be recorded. If so, it pends until [`Memory::decline`] or
    /// [`Memory::count_end`].
    pub chosen: bool,
}

/// Progress of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Marks seen, of requests recorded or not.
    pub seen: u64,
    /// Requests chosen so far.
    pub chosen: u64,
    /// Chosen requests that have ended.
    pub ended: u64,
}

impl Memory {
    fn counts(&self) -> &Counts {
        &self.header().counts
    }

    /// Counts a request mark; the result includes whether its request is to be recorded.
    pub fn count_mark(&self) -> Mark {
        let counts = self.counts();
        counts.open.fetch_add(1, Ordering::SeqCst);
        // One counter decides, so that each listed place is met once, however threads race.
        let is_paused = self.is_paused();
        let (counter, other) = match is_paused {
            true => (&counts.skipped, &counts.eligible),
            false => (&counts.eligible, &counts.skipped),
        };
        let place = counter.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        let number = place.wrapping_add(other.load(Ordering::SeqCst));
        let chosen = !is_paused && (self.is_listed(place) || self.take_declined());
        if !chosen {
            self.settle();
        }
        Mark { number, chosen }
    }

    /// Declines a selected request that cannot be recorded from its beginning: the next one
    /// replaces it.
    pub fn decline(&self) {
        self.counts().open.fetch_add(DECLINED - 1, Ordering::SeqCst);
    }

    /// Counts the end of a selected request, by another mark or with its thread.
    pub fn count_end(&self) {
        self.counts().ended.fetch_add(1, Ordering::SeqCst);
        self.settle();
    }

    /// Ends recording with the last selected request.
    ///
    /// Whether all numbers are met is checked while this request pends. If they are, their requests
    /// pended before, so all have settled once nothing is open. If it were checked afterwards, the
    /// last request might have just begun.
    fn settle(&self) {
        loop {
            let all_met = self.all_met();
            let before = self.counts().open.fetch_sub(1, Ordering::SeqCst);
            let open = before.wrapping_sub(1);
            if open == 0 && all_met {
                return self.stop();
            }
            if open > 0 || all_met || !self.all_met() {
                return;
            }
            // The last number was met in between, by a thread that may have settled before this
            // one.
            self.counts().open.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Returns whether each number to be recorded was met. Once true, it stays true.
    fn all_met(&self) -> bool {
        let counts = self.counts();
        match self.listed().last() {
            Some(last) => counts.eligible.load(Ordering::SeqCst) >= last.load(Ordering::Relaxed),
            None => counts.taken.load(Ordering::SeqCst) >= self.settings().request_limit,
        }
    }

    /// Returns the number of marks seen.
    pub(crate) fn seen(&self) -> u64 {
        let counts = self.counts();
        let [eligible, skipped] =
            [&counts.eligible, &counts.skipped].map(|of| of.load(Ordering::SeqCst));
        eligible.wrapping_add(skipped)
    }

    fn has_declined(&self) -> bool {
        self.counts().open.load(Ordering::SeqCst) >= DECLINED
    }

    fn is_listed(&self, number: u64) -> bool {
        let listed = self.listed();
        if listed.is_empty() {
            let taken = self.counts().taken.fetch_add(1, Ordering::SeqCst);
            return taken < self.settings().request_limit;
        }
        let place = place_of(listed, number);
        let is = listed
            .get(place)
            .is_some_and(|listed| listed.load(Ordering::Relaxed) == number);
        self.counts()
            .taken
            .fetch_add(u64::from(is), Ordering::SeqCst);
        is
    }

    fn take_declined(&self) -> bool {
        let fewer = |open: u64| open.checked_sub(DECLINED);
        let open = &self.counts().open;
        open.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer)
            .is_ok()
    }

    /// Returns true once every request to be recorded has been selected.
    pub fn is_exhausted(&self) -> bool {
        self.all_met() && !self.has_declined()
    }

    /// Returns how many requests from now the next selected one is, at least 1; `None` if there
    /// currently is none.
    pub fn distance_to_next(&self) -> Option<u64> {
        let counts = self.counts();
        if self.is_paused() || self.is_stopped() || self.is_exhausted() {
            return None;
        }
        let listed = self.listed();
        if listed.is_empty() || self.has_declined() {
            return Some(1);
        }
        let seen = counts.eligible.load(Ordering::SeqCst);
        let next = listed.get(place_of(listed, seen.saturating_add(1)))?;
        // A number that the server has overwritten is arbitrary.
        let distance = next.load(Ordering::Relaxed).saturating_sub(seen);
        Some(distance.max(1))
    }

    /// Returns whether the next selected request is so close that the server stays instrumented.
    pub fn is_next_near(&self) -> bool {
        self.distance_to_next()
            .is_some_and(|next| next < NEAR_REQUESTS)
    }

    /// Returns the progress of the requests.
    pub fn requests(&self) -> Requests {
        let counts = self.counts();
        let most = match self.listed().len() as u64 {
            0 => self.settings().request_limit,
            listed => listed,
        };
        Requests {
            seen: self.seen(),
            chosen: counts.taken.load(Ordering::SeqCst).min(most),
            ended: counts.ended.load(Ordering::SeqCst),
        }
    }

    /// Pauses or resumes the selection of requests; requests that have begun are recorded to their
    /// end.
    pub fn set_paused(&self, paused: bool) {
        self.counts().paused.set(paused, Ordering::SeqCst);
    }

    /// Returns whether the selection is paused.
    pub fn is_paused(&self) -> bool {
        self.counts().paused.is_set()
    }

    /// Sets the ascending numbers of the requests to record; [`Settings`] contains their count.
    /// Must be called before the plugin starts.
    ///
    /// [`Settings`]: crate::ring::Settings
    pub fn set_listed(&self, numbers: &[u64]) {
        assert_eq!(numbers.len(), self.listed().len());
        assert!(numbers.is_sorted_by(|earlier, later| earlier < later));
        for (place, &number) in self.listed().iter().zip(numbers) {
            place.store(number, Ordering::Relaxed);
        }
    }
}

/// Returns how many listed numbers are smaller.
fn place_of(listed: &[AtomicU64], number: u64) -> usize {
    listed.partition_point(|listed| listed.load(Ordering::Relaxed) < number)
}
