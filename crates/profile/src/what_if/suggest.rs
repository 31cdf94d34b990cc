//! Makes what-ifs of the obvious changes, replays each exactly, and ranks them by saved cycles.
//!
//! `candidates` makes them from a profile. Each is replayed alone, so two suggestions may save the
//! same misses.

use super::candidates::{Candidate, candidates};
use super::file::Change;
use super::free::FreeRegions;
use super::outcome::{Side, after_change, known_objects};
use crate::cost::Cost;
use crate::view::By;
use crate::{Profile, profile_with_sharing};
use corehop_simulator::{Error, Machine, Replay, ReplayOptions, Split};
use corehop_traces::Trace;
use rayon::prelude::*;
use std::cmp::Reverse;

/// A change that saves cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What the profile shows about the object.
    pub reason: String,
    /// The change.
    pub change: Change,
    /// The replay with it.
    pub after: Side,
}

/// The changes that save cycles, those first that save most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestions {
    /// The totals as recorded.
    pub replay: Replay,
    /// The totals as recorded, with the causes of misses.
    pub total: Cost,
    /// How many changes were replayed.
    pub tried: usize,
    /// The changes that save cycles.
    pub helpful: Vec<Suggestion>,
}

impl Suggestions {
    /// Returns the cycles that a suggestion saves.
    #[must_use]
    pub fn saved_cycles(&self, suggestion: &Suggestion) -> i64 {
        let before = self.replay.counters.cycles;
        before.cast_signed() - suggestion.after.replay.counters.cycles.cast_signed()
    }
}

/// Tries changes of the objects of `trace` that miss most or that threads share falsely.
///
/// # Errors
/// Those of [`corehop_simulator::replay()`].
pub fn suggest(
    trace: &Trace,
    on: (&Machine, &Split),
    options: &ReplayOptions<'_>,
) -> Result<Suggestions, Error> {
    let profile = profile_with_sharing(trace, on, options, &[By::Object])?;
    suggest_for(trace, on, options, profile)
}

/// Tries changes like [`suggest`], for a profile with the same options: by object, and with sharing
/// if the trace has several threads.
///
/// # Errors
/// Those of [`corehop_simulator::replay()`].
pub fn suggest_for(
    trace: &Trace,
    on: (&Machine, &Split),
    options: &ReplayOptions<'_>,
    profile: Profile,
) -> Result<Suggestions, Error> {
    let objects = known_objects(trace);
    let tried = candidates(&profile, &objects, on.0);
    let free = FreeRegions::of(trace, options)?;
    let replayed = tried.into_par_iter().filter_map(|candidate| {
        let Candidate { reason, change } = candidate;
        let mut free = free.clone();
        let after = after_change(trace, on, options, (&objects, &mut free, &change))?;
        Some(after.map(|after| Suggestion {
            reason,
            change,
            after,
        }))
    });
    let all = replayed.collect::<Result<Vec<Suggestion>, Error>>()?;
    let Profile { replay, total, .. } = profile;
    let mut suggestions = Suggestions {
        replay,
        total,
        tried: all.len(),
        helpful: Vec::new(),
    };
    let mut ranked: Vec<(i64, Suggestion)> = all
        .into_iter()
        .map(|one| (suggestions.saved_cycles(&one), one))
        .filter(|(saved, _)| *saved > 0)
        .collect();
    // A stable sort keeps the order of equal ones.
    ranked.sort_by_key(|(saved, _)| Reverse(*saved));
    suggestions.helpful = ranked.into_iter().map(|(_, one)| one).collect();
    Ok(suggestions)
}
