//! All prefetchers, by their names on the command line.

use crate::hierarchy::Insertion;
use std::fmt::{Debug, Display, Formatter};

/// A prefetcher. To add one, add a file next to this one, a name here, and its type in
/// [`crate::timing::simulate`] and [`crate::Replayer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrefetcherName {
    /// No prefetches.
    #[default]
    None,
    /// Prefetches the line after one that is used for the first time.
    NextLine,
    /// The same, but lines are inserted in the middle of the order of replacement.
    NextLineMid,
    /// Prefetches the next line of an instruction with a constant stride.
    Stride,
}

/// All prefetchers, in the order in which they are listed.
pub static PREFETCHERS: &[PrefetcherName] = &[
    PrefetcherName::None,
    PrefetcherName::NextLine,
    PrefetcherName::NextLineMid,
    PrefetcherName::Stride,
];

impl PrefetcherName {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PrefetcherName::None => "none",
            PrefetcherName::NextLine => "next-line",
            PrefetcherName::NextLineMid => "next-line-mid",
            PrefetcherName::Stride => "stride",
        }
    }

    /// Returns a one-line description.
    pub fn summary(self) -> &'static str {
        match self {
            PrefetcherName::None => "Fetch lines only when they are accessed",
            PrefetcherName::NextLine => {
                "Prefetch the next line when the L2 misses, or first serves a prefetched line"
            }
            PrefetcherName::NextLineMid => {
                "As next-line, but replace prefetched lines before the newer half of the others"
            }
            PrefetcherName::Stride => {
                "Prefetch the next miss of an instruction whose misses have a constant stride"
            }
        }
    }

    /// Returns how soon an L2 replaces its prefetched lines.
    pub(crate) fn insertion(self) -> Insertion {
        match self {
            PrefetcherName::NextLineMid => Insertion::Middle,
            _ => Insertion::Newest,
        }
    }

    /// Returns whether it needs the instruction of each reference.
    pub(crate) fn needs_instructions(self) -> bool {
        self == PrefetcherName::Stride
    }
}

impl Display for PrefetcherName {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        to.write_str(self.name())
    }
}
