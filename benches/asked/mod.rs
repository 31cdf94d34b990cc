//! What a bench is asked for in the environment: some of its parts, and how often it measures.

#![allow(dead_code)] // each bench is a crate of its own and uses a part of this

use crate::patched::Outcome;

/// The parts of a bench that are wanted: those that `COREHOP_PARTS` names, by default all.
pub fn parts(known: &[&str]) -> Outcome<Vec<String>> {
    let named = std::env::var("COREHOP_PARTS").unwrap_or_else(|_| known.join(","));
    let parts: Vec<String> = named.split(',').map(String::from).collect();
    match parts.iter().find(|part| !known.contains(&part.as_str())) {
        None => Ok(parts),
        Some(other) => {
            let known = known.join(", ");
            Err(format!("COREHOP_PARTS: no part is called {other:?}; name some of {known}").into())
        }
    }
}

/// How often all is measured: as often as `COREHOP_ROUNDS` says, by default so often.
pub fn rounds(usual: usize) -> Outcome<usize> {
    let Ok(wanted) = std::env::var("COREHOP_ROUNDS") else {
        return Ok(usual);
    };
    let rounds = wanted.parse().ok().filter(|&rounds| rounds > 0);
    rounds.ok_or_else(|| format!("COREHOP_ROUNDS={wanted}: not a number of rounds").into())
}
