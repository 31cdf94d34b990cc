//! Reads a plan and refuses one that contradicts itself.
//!
//! Everything a later stage relies on is checked here, once: replay and patch may then index cores
//! and compare build ids without looking again.

use crate::contradiction::Contradiction;
use crate::destination::{By, Destination, KthCall, LAST_CALL, MOST_AFTER};
use crate::error::Error;
use crate::plan::{Mode, Plan, VERSION, VERSION_BY_ARGUMENT};
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
    let invalid = |problem| Error::Invalid {
        path: path.into(),
        problem,
    };
    let syntax = |error: toml::de::Error| Error::Syntax {
        path: path.into(),
        place: error.to_string(),
    };
    let version = version_of(text).map_err(syntax)?;
    if ![VERSION, VERSION_BY_ARGUMENT]
        .map(u64::from)
        .contains(&version)
    {
        return Err(invalid(Contradiction::Version { version }));
    }
    let plan: Plan = toml::from_str(text).map_err(syntax)?;
    check(&plan).map_err(invalid)?;
    Ok(plan)
}

/// Reads the version alone, so that a newer plan is named as such and not as a syntax error.
fn version_of(text: &str) -> Result<u64, toml::de::Error> {
    #[derive(serde::Deserialize)]
    struct VersionOnly {
        version: u64,
    }
    toml::from_str::<VersionOnly>(text).map(|plan| plan.version)
}

/// The rules a plan keeps beyond its types.
pub(crate) fn check(plan: &Plan) -> Result<(), Contradiction> {
    if plan.cores == 0 {
        return Err(Contradiction::NoCores);
    }
    if i64::try_from(plan.seed).is_err() {
        return Err(Contradiction::Seed { seed: plan.seed });
    }
    if let Some(request) = &plan.request {
        let name = format!("request {} in {}", request.symbol, request.module);
        check_place(&name, &request.module, &request.build_id, request.offset)?;
    }
    let mut seen = HashSet::new();
    for function in &plan.functions {
        let name = format!("function {} in {}", function.symbol, function.module);
        if function.mode == Mode::Count {
            return Err(Contradiction::OnlyCounted { name });
        }
        check_destination(&name, function.to, plan)?;
        check_place(&name, &function.module, &function.build_id, function.offset)?;
        if !seen.insert((&function.build_id, function.offset)) {
            return Err(Contradiction::Twice { name });
        }
    }
    Ok(())
}

/// Whether a function of the plan can go there.
fn check_destination(name: &str, to: Destination, plan: &Plan) -> Result<(), Contradiction> {
    let name = || name.to_owned();
    let core = match to {
        Destination::Core(core) | Destination::At(KthCall { core, .. }) => core,
        Destination::By(_) => 0,
    };
    if core >= plan.cores {
        let last = plan.cores - 1;
        let name = name();
        return Err(Contradiction::Core { name, core, last });
    }
    let key = match to {
        Destination::Core(_) => return Ok(()),
        Destination::By(_) => "by",
        Destination::At(_) => "call",
    };
    if plan.version < VERSION_BY_ARGUMENT {
        return Err(Contradiction::TooOld { name: name(), key });
    }
    match to {
        Destination::By(By { after, .. }) if after > MOST_AFTER => Err(Contradiction::After {
            name: name(),
            after,
        }),
        Destination::At(KthCall { call, .. }) if !(1..=LAST_CALL).contains(&call) => {
            Err(Contradiction::Call { name: name(), call })
        }
        Destination::At(_) if plan.request.is_none() => {
            Err(Contradiction::NoRequest { name: name() })
        }
        _ => Ok(()),
    }
}

/// Whether this can be where a function is.
fn check_place(name: &str, module: &str, build_id: &str, offset: u64) -> Result<(), Contradiction> {
    if build_id.is_empty() || !build_id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Contradiction::BuildId {
            name: name.into(),
            build_id: build_id.into(),
            module: module.into(),
        });
    }
    match i64::try_from(offset) {
        Ok(_) => Ok(()),
        Err(_) => Err(Contradiction::Offset {
            name: name.into(),
            offset,
        }),
    }
}
