//! Reports which calls of a program the backend `carrier` does not support, from the program's file
//! and libraries.

use super::finding::{Check, Finding};
use crate::failure::Failure;
use crate::options::carriers;
use corehop_patcher::Imports;
use corehop_support::processes::find;
use std::ffi::OsStr;

const CARRIED: Check = Check {
    name: "program",
    serves: "carrier, auto",
};

/// Checks this program without running it.
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
