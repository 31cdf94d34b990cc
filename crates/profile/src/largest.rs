//! The largest causes of misses: which memory misses a level, and why.
//!
//! An object often misses for several reasons, and each has its own remedy. So a cause is a pair of
//! an object and a reason. Rejected: objects only, which leave the remedy open.

use crate::Profile;
use crate::cost::Level;
use crate::view::{By, Place};
use std::cmp::Reverse;

/// Misses of one object for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargestCause {
    /// The object; for fetches, the code of its file.
    pub place: Place,
    /// The reason, as in [`crate::Causes::named`].
    pub reason: &'static str,
    /// The misses.
    pub misses: u64,
}

impl Profile {
    /// Returns up to `most` causes of misses of `level`, the largest first and equal ones by name.
    /// It needs the view by object.
    #[must_use]
    pub fn largest_causes(&self, level: Level, most: usize) -> Vec<LargestCause> {
        let views = self.views.iter().filter(|view| view.by == By::Object);
        let rows = views.flat_map(|view| &view.rows);
        let mut causes: Vec<LargestCause> = rows
            .flat_map(|row| {
                let named = row.cost.causes(level).named().into_iter();
                let missed = named.filter(|&(_, misses)| misses > 0);
                missed.map(|(reason, misses)| LargestCause {
                    place: row.place.clone(),
                    reason,
                    misses,
                })
            })
            .collect();
        causes.sort_by(|one, other| {
            let order = |of: &LargestCause| (Reverse(of.misses), of.reason);
            (order(one), &one.place).cmp(&(order(other), &other.place))
        });
        causes.truncate(most);
        causes
    }
}
