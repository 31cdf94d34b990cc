//! Reads a plan and rejects one that contradicts itself.
//!
//! It checks once everything that later stages rely on. Replay and patch can then index cores and
//! compare build ids without further checks.

use crate::contradiction::Contradiction;
use crate::destination::{By, Destination, KthCall, LAST_CALL, MOST_AFTER};
use crate::error::Error;
use crate::inert::acts;
use crate::plan::{MOST_REASON_BYTES, Mode, Plan, PlannedFunction, VERSION, VERSION_BY_ARGUMENT};
use corehop_support::whole_file;
use std::collections::HashMap;
use std::path::Path;

/// Reads and checks the plan at `path`.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read, or an error of [`parse`].
pub fn read(path: &Path) -> Result<Plan, Error> {
    let text = whole_file::text(path).map_err(|source| Error::Read {
        path: path.into(),
        source,
    })?;
    parse(&text, path)
}

/// Parses and checks the plan in `text`; `path` is only for error messages.
///
/// # Errors
/// [`Error::Syntax`] for text that is not a plan, [`Error::Invalid`] for one that violates a rule.
pub fn parse(text: &str, path: &Path) -> Result<Plan, Error> {
    let invalid = |problem, line| Error::Invalid {
        path: path.into(),
        line,
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
        return Err(invalid(Contradiction::Version { version }, None));
    }
    let plan: Plan = toml::from_str(text).map_err(syntax)?;
    check(&plan).map_err(|(problem, entry)| {
        invalid(problem, entry.and_then(|entry| line_of(text, &entry)))
    })?;
    Ok(plan)
}

/// A part of a plan that a rule concerns.
pub(crate) enum Entry {
    /// An entry of `[[function]]`, by its index.
    Function(usize),
    Request,
    Expected,
}

/// Returns the line, from 1, at which an entry begins.
fn line_of(text: &str, entry: &Entry) -> Option<usize> {
    #[derive(serde::Deserialize)]
    struct Entries {
        #[serde(default)]
        function: Vec<toml::Spanned<toml::Value>>,
        request: Option<toml::Spanned<toml::Value>>,
        expected: Option<toml::Spanned<toml::Value>>,
    }
    let plan: Entries = toml::from_str(text).ok()?;
    let entry = match entry {
        Entry::Function(index) => plan.function.get(*index),
        Entry::Request => plan.request.as_ref(),
        Entry::Expected => plan.expected.as_ref(),
    };
    let before = text.get(..entry?.span().start)?;
    Some(1 + before.matches('\n').count())
}

/// Reads only the version, so that a newer plan is reported as such and not as a syntax error.
fn version_of(text: &str) -> Result<u64, toml::de::Error> {
    #[derive(serde::Deserialize)]
    struct VersionOnly {
        version: u64,
    }
    toml::from_str::<VersionOnly>(text).map(|plan| plan.version)
}

/// Checks the rules of a plan beyond its types; an error has the invalid entry, if there is one.
pub(crate) fn check(plan: &Plan) -> Result<(), (Contradiction, Option<Entry>)> {
    check_whole(plan).map_err(|problem| (problem, None))?;
    check_request(plan).map_err(|problem| (problem, Some(Entry::Request)))?;
    check_expected(plan).map_err(|problem| (problem, Some(Entry::Expected)))?;
    let mut seen = HashMap::new();
    for (index, function) in plan.functions.iter().enumerate() {
        check_function(plan, function)
            .and_then(|()| check_beside(&mut seen, function))
            .map_err(|problem| (problem, Some(Entry::Function(index))))?;
    }
    Ok(())
}

fn check_whole(plan: &Plan) -> Result<(), Contradiction> {
    if plan.cores == 0 {
        return Err(Contradiction::NoCores);
    }
    if i64::try_from(plan.seed).is_err() {
        return Err(Contradiction::Seed { seed: plan.seed });
    }
    let fits = |reason: &String| (1..=MOST_REASON_BYTES).contains(&reason.len());
    let is_reason = |reason: &String| fits(reason) && !reason.contains(acts);
    match plan.carriers_refuse.as_ref().is_none_or(is_reason) {
        true => Ok(()),
        false => Err(Contradiction::Reason),
    }
}

fn check_request(plan: &Plan) -> Result<(), Contradiction> {
    let Some(request) = &plan.request else {
        return Ok(());
    };
    let name = format!("request {} in {}", request.symbol, request.module);
    check_place(&name, &request.module, &request.build_id, request.offset)
}

fn check_expected(plan: &Plan) -> Result<(), Contradiction> {
    match plan.expected.map(|expected| expected.hops_per_request) {
        Some(hops) if !hops.is_finite() || hops < 0.0 => Err(Contradiction::Hops { hops }),
        _ => Ok(()),
    }
}

fn name_of(function: &PlannedFunction) -> String {
    format!("function {} in {}", function.symbol, function.module)
}

fn check_function(plan: &Plan, function: &PlannedFunction) -> Result<(), Contradiction> {
    let name = name_of(function);
    if function.mode == Mode::Count {
        return Err(Contradiction::OnlyCounted { name });
    }
    check_destination(&name, function.to, plan)?;
    check_place(&name, &function.module, &function.build_id, function.offset)
}

/// By function: its earlier entries.
type Seen<'p> = HashMap<(&'p str, u64), Vec<&'p PlannedFunction>>;

/// Whether an entry is compatible with earlier ones of the same function: each is for another call,
/// and all have the same mode.
fn check_beside<'p>(
    seen: &mut Seen<'p>,
    function: &'p PlannedFunction,
) -> Result<(), Contradiction> {
    let place = (function.build_id.as_str(), function.offset);
    let others = seen.entry(place).or_default();
    for other in &*others {
        let name = name_of(function);
        match (function.to, other.to) {
            (Destination::At(own), Destination::At(other)) if own.call == other.call => {
                let call = own.call;
                return Err(Contradiction::CallTwice { name, call });
            }
            (Destination::At(_), Destination::At(_)) if function.mode == other.mode => {}
            (Destination::At(_), Destination::At(_)) => return Err(Contradiction::Modes { name }),
            (Destination::At(_), _) | (_, Destination::At(_)) => {
                return Err(Contradiction::CallsAndAll { name });
            }
            _ => return Err(Contradiction::Twice { name }),
        }
    }
    others.push(function);
    Ok(())
}

/// Whether a function of the plan can have this destination.
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

/// Whether this is a valid location of a function.
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
