//! The sources of a chunk's matches: the executions that a later match copies.
//!
//! A source may include executions of other matches, but many matches are not a source. A reader
//! that knows which executions are sources need not keep the others.

use crate::codec::matches::Match;
use std::ops::Range;

/// The executions that a chunk's matches copy.
#[derive(Clone, Default)]
pub struct Sources {
    /// Ascending, with gaps between them.
    ranges: Vec<Range<u32>>,
    /// How many of them end before the last query.
    passed: usize,
}

impl Sources {
    /// Finds the sources of a chunk.
    pub fn find(&mut self, matches: &[Match]) {
        self.passed = 0;
        self.ranges.clear();
        self.ranges.extend(matches.iter().map(Match::source));
        self.ranges.sort_unstable_by_key(|range| range.start);
        self.ranges.dedup_by(|next, range| {
            let meet = next.start <= range.end;
            if meet {
                range.end = range.end.max(next.end);
            }
            meet
        });
    }

    /// Returns whether any of these executions is a source. They must not begin before those of the
    /// previous call.
    pub fn has_some_of(&mut self, executions: Range<u32>) -> bool {
        let rest = &self.ranges[self.passed..];
        let over = |range: &&Range<u32>| range.end <= executions.start;
        self.passed += rest.iter().take_while(over).count();
        let range = self.ranges.get(self.passed);
        range.is_some_and(|range| range.start < executions.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_the_executions_that_any_match_copies() {
        let matched = |place, length, distance| Match {
            place,
            length,
            distance,
        };
        let matches = [matched(20, 5, 20), matched(30, 4, 27), matched(45, 5, 7)];
        let mut sources = Sources::default();
        sources.find(&matches);
        let mut asked = sources.clone();
        let is_source = |execution: &u32| asked.has_some_of(*execution..execution + 1);
        let found: Vec<u32> = (0..60).filter(is_source).collect();
        let expected: Vec<u32> = (0..7).chain(38..43).collect();
        assert_eq!(found, expected);
        assert!(sources.has_some_of(6..20) && !sources.has_some_of(7..38));
    }
}
