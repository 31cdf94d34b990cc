//! Which executions of a block are repeated later.
//!
//! A repeat may go on through executions that are themselves repeats, but not all of those are
//! repeated again: a reader that knows which need not keep the others.

use crate::codec::repeats::Repeat;
use std::ops::Range;

/// The executions that a block's repeats repeat.
#[derive(Clone, Default)]
pub struct Sources {
    /// Ascending, and apart from each other.
    ranges: Vec<Range<u32>>,
    /// How many of them end before what was asked for last.
    passed: usize,
}

impl Sources {
    /// Finds those of a block.
    pub fn find(&mut self, repeats: &[Repeat]) {
        self.passed = 0;
        self.ranges.clear();
        self.ranges.extend(repeats.iter().map(Repeat::source));
        self.ranges.sort_unstable_by_key(|range| range.start);
        self.ranges.dedup_by(|next, range| {
            let meet = next.start <= range.end;
            if meet {
                range.end = range.end.max(next.end);
            }
            meet
        });
    }

    /// Whether any of these executions is repeated. They begin no earlier than those asked for
    /// before.
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
    fn the_sources_are_the_executions_that_any_repeat_repeats() {
        let repeat = |place, length, distance| Repeat {
            place,
            length,
            distance,
        };
        let repeats = [repeat(20, 5, 20), repeat(30, 4, 27), repeat(45, 5, 7)];
        let mut sources = Sources::default();
        sources.find(&repeats);
        let mut asked = sources.clone();
        let repeated = |execution: &u32| asked.has_some_of(*execution..execution + 1);
        let found: Vec<u32> = (0..60).filter(repeated).collect();
        let expected: Vec<u32> = (0..7).chain(38..43).collect();
        assert_eq!(found, expected);
        assert!(sources.has_some_of(6..20) && !sources.has_some_of(7..38));
    }
}
