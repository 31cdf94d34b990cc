//! Reads a plan and refuses one that contradicts itself.
//!
//! Everything a later stage relies on is checked here, once: replay and patch may then index cores
//! and compare build ids without looking again.

use crate::error::Error;
use crate::plan::{Mode, Plan, VERSION};
use std::collections::HashSet;
use std::path::Path;

/// Reads and checks the plan at `path`.
///
/// # Errors
/// [`Error::Read`] when the file cannot be read, else what [`parse`] says.
pub fn read(path: &Path) -> Result<Plan, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.into(),
        source,
    })?;
    parse(&text, path)
}

/// Checks the plan in `text`; `path` only names it in errors.
///
/// # Errors
/// [`Error::Syntax`] for text that is not a plan, [`Error::Invalid`] for one that breaks a rule.
pub fn parse(text: &str, path: &Path) -> Result<Plan, Error> {
    let invalid = |problem: String| Error::Invalid {
        path: path.into(),
        problem,
    };
    let version = version_of(text).map_err(|place| Error::Syntax {
        path: path.into(),
        place,
    })?;
    if version != u64::from(VERSION) {
        return Err(invalid(format!(
            "plan version {version}, but this corehop reads version {VERSION}: \
             use the corehop that wrote it, or search again"
        )));
    }
    let plan: Plan = toml::from_str(text).map_err(|error| Error::Syntax {
        path: path.into(),
        place: error.to_string(),
    })?;
    check(&plan).map_err(invalid)?;
    Ok(plan)
}

/// Reads the version alone, so that a newer plan is named as such and not as a syntax error.
fn version_of(text: &str) -> Result<u64, String> {
    #[derive(serde::Deserialize)]
    struct VersionOnly {
        version: u64,
    }
    toml::from_str::<VersionOnly>(text)
        .map(|plan| plan.version)
        .map_err(|error| error.to_string())
}

/// The rules a plan keeps beyond its types.
pub(crate) fn check(plan: &Plan) -> Result<(), String> {
    if plan.cores == 0 {
        return Err("cores = 0: a plan needs at least one core".into());
    }
    if i64::try_from(plan.seed).is_err() {
        return Err(format!(
            "seed {}: TOML integers end at {}",
            plan.seed,
            i64::MAX
        ));
    }
    if let Some(request) = &plan.request {
        let name = format!("request {} in {}", request.symbol, request.module);
        check_place(&name, &request.module, &request.build_id, request.offset)?;
    }
    let mut seen = HashSet::new();
    for function in &plan.functions {
        let name = format!("function {} in {}", function.symbol, function.module);
        if function.mode == Mode::Count {
            return Err(format!(
                "{name}: mode \"count\" moves nobody: name the function in [request] instead"
            ));
        }
        if function.core >= plan.cores {
            let (core, last) = (function.core, plan.cores - 1);
            return Err(format!(
                "{name}: core {core}, but cores run from 0 to {last}"
            ));
        }
        check_place(&name, &function.module, &function.build_id, function.offset)?;
        if !seen.insert((&function.build_id, function.offset)) {
            return Err(format!("{name}: listed twice: keep one of the entries"));
        }
    }
    Ok(())
}

/// Whether this can be where a function is.
fn check_place(name: &str, module: &str, build_id: &str, offset: u64) -> Result<(), String> {
    if build_id.is_empty() || !build_id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!(
            "{name}: build_id '{build_id}' is not hexadecimal: copy it from `file {module}`"
        ));
    }
    match i64::try_from(offset) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("{name}: offset {offset:#x} is not a file's")),
    }
}
