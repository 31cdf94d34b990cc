//! What is known of a program that carriers cannot carry, from its file and its libraries.

use super::finding::{Check, Finding};
use crate::carriers;
use crate::failure::Failure;
use corehop_patcher::Imports;
use corehop_support::processes::find;
use std::ffi::OsStr;

const CARRIED: Check = Check {
    name: "program",
    serves: "carrier, auto",
};

/// Looks at this program; nothing of it runs.
pub fn look(program: &OsStr) -> Result<Vec<Finding>, Failure> {
    let program = find(program)?;
    Imports::of(&program)?;
    let known = carriers::of_program(&program);
    if known.is_empty() {
        let shown = program.display();
        return Ok(vec![
            CARRIED.ok(format!("{shown} imports nothing that carriers refuse")),
        ]);
    }
    let remedy = "record it: `corehop partition` then says whether it does";
    let warn = |known: &carriers::Known| CARRIED.warn(known.said(), remedy);
    Ok(known.iter().map(warn).collect())
}
