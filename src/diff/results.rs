//! The JSON of other commands: which command printed it, and its headline figures.
//!
//! Each command has a type that names what is compared, and ignores the rest. Keys that only one
//! command prints tell which it was.

mod headline;
mod measured;
mod predicted;

use super::side::{Kind, Side};
use crate::failure::{Exit, Failure};
use headline::Headline;
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use std::path::Path;

/// Reads what some command printed.
pub fn read(text: &str, path: &Path) -> Result<(Side, Kind), Failure> {
    let keys: Keys = parsed(text, path, "JSON")?;
    let known = OUTPUTS.iter().find(|output| (output.is_it)(&keys));
    let Some(output) = known else {
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
    is_it: fn(&Keys) -> bool,
    read: fn(&str, &Path) -> Result<Side, Failure>,
}

const OUTPUTS: [Output; 8] = [
    Output {
        kind: Kind {
            word: "optimize",
            phrase: "a result of `corehop optimize`",
        },
        is_it: |keys| keys.tried && keys.chosen_by,
        read: side::<measured::Optimized>,
    },
    Output {
        kind: Kind {
            word: "measure",
            phrase: "a result of `corehop measure`",
        },
        is_it: |keys| keys.rounds && keys.resolution_percent,
        read: side::<measured::Measured>,
    },
    Output {
        kind: Kind {
            word: "partition",
            phrase: "a result of `corehop partition`",
        },
        is_it: |keys| keys.strategy && keys.splits_evaluated,
        read: side::<predicted::Partitioned>,
    },
    Output {
        kind: Kind {
            word: "partition-sweep",
            phrase: "a result of `corehop partition --sweep`",
        },
        is_it: |keys| keys.rows && keys.objective,
        read: side::<predicted::Swept>,
    },
    Output {
        kind: Kind {
            word: "partition-by-argument",
            phrase: "a result of `corehop partition --by-argument`",
        },
        is_it: |keys| keys.replays && keys.objects,
        read: side::<predicted::ByArgument>,
    },
    Output {
        kind: Kind {
            word: "report",
            phrase: "a result of `corehop report`",
        },
        is_it: |keys| keys.pictured && keys.movers,
        read: side::<predicted::Explained>,
    },
    Output {
        kind: Kind {
            word: "explain",
            phrase: "a result of `corehop explain`",
        },
        is_it: |keys| keys.movers && !keys.pictured,
        read: side::<predicted::Explained>,
    },
    Output {
        kind: Kind {
            word: "replay",
            phrase: "a result of `corehop replay`",
        },
        is_it: |keys| keys.placement && keys.counters,
        read: side::<predicted::Replayed>,
    },
];

/// The keys that tell.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)]
struct Keys {
    #[serde(deserialize_with = "is_there")]
    chosen_by: bool,
    #[serde(deserialize_with = "is_there")]
    counters: bool,
    #[serde(deserialize_with = "is_there")]
    movers: bool,
    #[serde(deserialize_with = "is_there")]
    objective: bool,
    #[serde(deserialize_with = "is_there")]
    objects: bool,
    #[serde(deserialize_with = "is_there")]
    pictured: bool,
    #[serde(deserialize_with = "is_there")]
    placement: bool,
    #[serde(deserialize_with = "is_there")]
    replays: bool,
    #[serde(deserialize_with = "is_there")]
    resolution_percent: bool,
    #[serde(deserialize_with = "is_there")]
    rounds: bool,
    #[serde(deserialize_with = "is_there")]
    rows: bool,
    #[serde(deserialize_with = "is_there")]
    splits_evaluated: bool,
    #[serde(deserialize_with = "is_there")]
    strategy: bool,
    #[serde(deserialize_with = "is_there")]
    tried: bool,
}

/// A key is there, whatever its value is.
fn is_there<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(value).map(|_| true)
}

fn side<T: Headline + for<'de> serde::Deserialize<'de>>(
    text: &str,
    path: &Path,
) -> Result<Side, Failure> {
    parsed::<T>(text, path, "what that command prints").map(Headline::side)
}

/// The text as `T`; `what` says what it is not where it cannot be that.
fn parsed<T: for<'de> serde::Deserialize<'de>>(
    text: &str,
    path: &Path,
    what: &str,
) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("{}: not {what}: {error}", path.display());
        Failure::new(Exit::Input, message)
            .remedy("print it again with --json, and keep standard output alone")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_even_if_it_is_null() {
        let keys: Keys = serde_json::from_str(r#"{"tried": [], "chosen_by": null}"#).unwrap();
        assert!(keys.tried && keys.chosen_by && !keys.rounds);
    }

    #[test]
    fn no_two_outputs_are_known_by_the_same_keys() {
        let words: std::collections::BTreeSet<_> = OUTPUTS.iter().map(|of| of.kind.word).collect();
        assert_eq!(words.len(), OUTPUTS.len());
    }
}
