//! Options of a bench from the environment: its parts and the number of rounds.

#![allow(dead_code)] // each bench is a separate crate and uses a part of this

use crate::patched::Outcome;

/// Returns the requested parts of a bench: those in `COREHOP_PARTS`, by default all.
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

/// Returns the number of rounds: `COREHOP_ROUNDS`, by default `usual`.
pub fn rounds(usual: usize) -> Outcome<usize> {
    let Ok(wanted) = std::env::var("COREHOP_ROUNDS") else {
        return Ok(usual);
    };
    let rounds = wanted.parse().ok().filter(|&rounds| rounds > 0);
    rounds.ok_or_else(|| format!("COREHOP_ROUNDS={wanted}: not a number of rounds").into())
}
