//! Reads the JSON of other commands: detects which command printed it, and reads its headline
//! figures.
//!
//! Each command has a type with the compared keys; other keys are ignored. Keys that only one
//! command prints identify the command.

mod headline;
mod measured;
mod predicted;

use super::side::{Kind, Side};
use crate::failure::{Exit, Failure};
use headline::Headline;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the output of a command.
pub fn read(text: &str, path: &Path) -> Result<(Side, Kind), Failure> {
    let keys: Keys = parsed(text, path, "JSON")?;
    let Some(output) = meant(&keys) else {
        let message = format!("{}: no command prints these keys", path.display());
        let phrases: Vec<&str> = OUTPUTS.iter().map(|of| of.kind.word).collect();
        let remedy = format!(
            "name what one of these commands printed with --json: {}",
            phrases.join(", ")
        );
        return Err(Failure::new(Exit::Input, message).remedy(remedy));
    };
    Ok(((output.read)(text, path)?, output.kind))
}

/// A command's output.
struct Output {
    kind: Kind,
    /// Keys that identify it.
    has: &'static [&'static str],
    read: fn(&str, &Path) -> Result<Side, Failure>,
}

/// The first entry that has all its keys matches. The order matters: a report also has the keys of
/// an explanation.
const OUTPUTS: [Output; 8] = [
    Output {
        kind: Kind {
            word: "optimize",
            phrase: "a result of `corehop optimize`",
        },
        has: &["tried", "chosen_by"],
        read: side::<measured::Optimized>,
    },
    Output {
        kind: Kind {
            word: "measure",
            phrase: "a result of `corehop measure`",
        },
        has: &["rounds", "resolution_percent"],
        read: side::<measured::Measured>,
    },
    Output {
        kind: Kind {
            word: "partition",
            phrase: "a result of `corehop partition`",
        },
        has: &["strategy", "splits_evaluated"],
        read: side::<predicted::Partitioned>,
    },
    Output {
        kind: Kind {
            word: "partition-sweep",
            phrase: "a result of `corehop partition --sweep`",
        },
        has: &["rows", "objective"],
        read: side::<predicted::Swept>,
    },
    Output {
        kind: Kind {
            word: "partition-by-argument",
            phrase: "a result of `corehop partition --by-argument`",
        },
        has: &["replays", "objects"],
        read: side::<predicted::ByArgument>,
    },
    Output {
        kind: Kind {
            word: "report",
            phrase: "a result of `corehop report`",
        },
        has: &["pictured", "movers"],
        read: side::<predicted::Explained>,
    },
    Output {
        kind: Kind {
            word: "explain",
            phrase: "a result of `corehop explain`",
        },
        has: &["movers"],
        read: side::<predicted::Explained>,
    },
    Output {
        kind: Kind {
            word: "replay",
            phrase: "a result of `corehop replay`",
        },
        has: &["placement", "counters"],
        read: side::<predicted::Replayed>,
    },
];

/// The keys of an object, without their values.
type Keys = BTreeMap<String, IgnoredAny>;

fn meant(keys: &Keys) -> Option<&'static Output> {
    let has_all = |output: &&Output| output.has.iter().all(|key| keys.contains_key(*key));
    OUTPUTS.iter().find(has_all)
}

fn side<T: Headline + for<'de> serde::Deserialize<'de>>(
    text: &str,
    path: &Path,
) -> Result<Side, Failure> {
    parsed::<T>(text, path, "what that command prints").map(Headline::side)
}

/// Parses the text as `T`; `what` names the expected format in the failure.
fn parsed<T: for<'de> serde::Deserialize<'de>>(
    text: &str,
    path: &Path,
    what: &str,
) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("{}: not {what}: {error}", path.display());
        Failure::new(Exit::Input, message)
            .remedy("print it again with --json, and redirect standard output only")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_even_if_it_is_null() {
        let keys: Keys = serde_json::from_str(r#"{"tried": [], "chosen_by": null}"#).unwrap();
        assert_eq!(meant(&keys).unwrap().kind.word, "optimize");
        assert!(!keys.contains_key("rounds"));
    }

    #[test]
    fn no_two_outputs_are_known_by_the_same_keys() {
        let words: std::collections::BTreeSet<_> = OUTPUTS.iter().map(|of| of.kind.word).collect();
        assert_eq!(words.len(), OUTPUTS.len());
    }
}
