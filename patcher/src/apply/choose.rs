//! Which files and functions a plan contains, or why they cannot be hooked.
//!
//! The plan identifies its files by build ID. A path in it is only a hint, and a file that the user
//! passes takes precedence.

use crate::analyse::{Analysis, Refusal, sites};
use crate::elf::{PlannedModule, Whole};
use crate::emit::number;
use crate::hook::{goes_on, together};
use crate::{Error, Hook, Unhookable};
use corehop_plan::{Destination, KthCall, Mode, Plan, PlannedFunction, Request};
use std::path::{Path, PathBuf};

/// More cores than any machine has, and few enough for the runtime's tables.
const MOST_CORES: u32 = 1024;

/// The files of a plan, in the plan's order.
pub(super) struct Chosen {
    pub cores: u32,
    pub files: Vec<ChosenFile>,
    /// Number of the hook that counts requests, across all files, plus one; 0 without one.
    request: u32,
    carriers_refuse: Option<String>,
}

/// One file, and its hooks in order of the plan, with those of one function next to each other.
pub(super) struct ChosenFile {
    pub analysis: Analysis,
    pub hooks: Vec<Hook>,
}

impl Chosen {
    /// The description of the whole plan in file number `own`.
    pub fn whole(&self, own: usize) -> Whole {
        let module = |file: &ChosenFile| PlannedModule {
            name: file.analysis.name(),
            build_id: file.analysis.build_id().unwrap_or_default().into(),
            hooks: file.hooks.len() as u32,
        };
        let hooks = self.files.iter().flat_map(|file| &file.hooks);
        Whole {
            cores: self.cores,
            calls: hooks.clone().filter(|hook| hook.mode == Mode::Call).count() as u32,
            arguments: hooks.filter(|hook| by_argument(hook)).count() as u32,
            request: self.request,
            plan: self.checksum(),
            carriers_refuse: self.carriers_refuse.clone(),
            modules: self.files.iter().map(module).collect(),
            own: own as u32,
        }
    }

    /// CRC-32C of everything that the runtime does.
    fn checksum(&self) -> u32 {
        let mut sum = crc32c::crc32c(&self.cores.to_le_bytes());
        for file in &self.files {
            let id = file.analysis.build_id().unwrap_or_default();
            sum = crc32c::crc32c_append(sum, id.as_bytes());
            for hook in &file.hooks {
                sum = crc32c::crc32c_append(sum, &hook.offset.to_le_bytes());
                let (core_or_after, argument, call) = match hook.to {
                    Destination::Core(core) => (core, 0, 0),
                    Destination::By(by) => (by.after, by.argument.number(), 0),
                    Destination::At(KthCall { core, call }) => (core, 0, call as u8),
                };
                sum = crc32c::crc32c_append(sum, &core_or_after.to_le_bytes());
                sum = crc32c::crc32c_append(sum, &[number(hook.mode), argument, call]);
            }
        }
        crc32c::crc32c_append(sum, &self.request.to_le_bytes())
    }
}

fn by_argument(hook: &Hook) -> bool {
    matches!(hook.to, Destination::By(_) | Destination::At(_))
}

/// Finds the plan's files, among `binaries` or at the plan's paths, and checks every function.
///
/// # Errors
/// [`Error::Read`] and [`Error::Input`] for a file, [`Error::Refused`] for a file that differs from
/// the plan or cannot be patched safely.
pub(super) fn choose(binaries: &[PathBuf], plan: &Plan) -> Result<Chosen, Error> {
    let mut given = Vec::new();
    for path in binaries {
        let analysis = Analysis::of(path)?;
        has_part(&analysis, plan).map_err(|reason| Error::refused(path, reason))?;
        given.push(analysis);
    }
    let mut files = Vec::<ChosenFile>::new();
    for function in &plan.functions {
        let id = &function.build_id;
        let is_it = |analysis: &Analysis| analysis.build_id().is_some_and(|own| same(own, id));
        if files.iter().any(|file| is_it(&file.analysis)) {
            continue;
        }
        let analysis = match given.iter().position(is_it) {
            Some(index) => given.swap_remove(index),
            None => found(function)?,
        };
        let hooks = hooks(&analysis, plan)?;
        files.push(ChosenFile { analysis, hooks });
    }
    let request = plan.request.as_ref();
    let request = request.and_then(|request| counting(request, &mut files));
    let at_call = |function: &&PlannedFunction| matches!(function.to, Destination::At(_));
    if let (None, Some(function)) = (request, plan.functions.iter().find(at_call)) {
        let path = Path::new(&function.module);
        return Err(Error::refused(
            path,
            NotMeant::NoRequests(function.symbol.clone()),
        ));
    }
    Ok(Chosen {
        cores: plan.cores,
        request: request.map_or(0, |number| number + 1),
        carriers_refuse: plan.carriers_refuse.clone(),
        files,
    })
}

/// The number of the hook that counts requests. It is added if the plan has no other hook at that
/// entry. `None` if the entry is in none of the plan's files or cannot be hooked: no file is
/// changed only for the count, and no plan is refused for it.
fn counting(request: &Request, files: &mut [ChosenFile]) -> Option<u32> {
    let is_its = |file: &ChosenFile| {
        let own = file.analysis.build_id();
        own.is_some_and(|own| same(own, &request.build_id))
    };
    let file = files.iter().position(is_its)?;
    let before: usize = files[..file].iter().map(|file| file.hooks.len()).sum();
    let ChosenFile { analysis, hooks } = &mut files[file];
    let hooked = hooks.iter().position(|hook| hook.offset == request.offset);
    let index = hooked.or_else(|| {
        let mut with_it = hooks.clone();
        with_it.push(Hook {
            offset: request.offset,
            symbol: request.symbol.clone(),
            to: Destination::Core(0),
            mode: Mode::Count,
        });
        let is_safe = analysis.entry_reason(request.offset).is_none();
        if !is_safe || sites(analysis, &with_it).is_err() {
            return None;
        }
        *hooks = with_it;
        Some(hooks.len() - 1)
    });
    index.map(|index| (before + index) as u32)
}

fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// The file at the plan's path, if it is the right one.
fn found(function: &PlannedFunction) -> Result<Analysis, Error> {
    let path = Path::new(&function.module);
    let analysis = Analysis::of(path)?;
    match analysis.build_id() {
        Some(own) if same(own, &function.build_id) => Ok(analysis),
        own => Err(Error::refused(
            path,
            NotMeant::other_build(&function.build_id, own),
        )),
    }
}

/// Why a file is not the plan's.
#[derive(Debug, thiserror::Error)]
enum NotMeant {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("it has no build id, so a plan cannot be matched to it")]
    NoBuildId,
    #[error(
        "the plan was made for build id {planned}, but this file's is {own}: record and search \
         this build"
    )]
    OtherBuild { planned: String, own: String },
    #[error(
        "the plan counts calls of {0} from where a request begins, but the function under \
         [request] is in none of the plan's files or cannot be hooked: name another there"
    )]
    NoRequests(String),
    #[error("the plan has no function of this file (build id {0})")]
    NoFunction(String),
}

impl NotMeant {
    fn other_build(planned: &str, own: Option<&str>) -> NotMeant {
        NotMeant::OtherBuild {
            planned: planned.into(),
            own: own.unwrap_or("missing").into(),
        }
    }
}

/// Whether the plan has functions in a file that the user passed.
fn has_part(analysis: &Analysis, plan: &Plan) -> Result<(), NotMeant> {
    if let Some(reason) = analysis.refusal() {
        return Err(reason.into());
    }
    let own = analysis.build_id().ok_or(NotMeant::NoBuildId)?;
    let path = &analysis.image.path;
    let resolved = path.canonicalize().ok();
    let names_it = |f: &&PlannedFunction| {
        let module = Path::new(&f.module);
        let is_resolved = |file: &Path| resolved.as_deref() == Some(file);
        module.file_name() == path.file_name()
            || is_resolved(module)
            || module.canonicalize().is_ok_and(|file| is_resolved(&file))
    };
    if plan.functions.iter().any(|f| same(&f.build_id, own)) {
        return Ok(());
    }
    match plan.functions.iter().find(names_it) {
        Some(other) => Err(NotMeant::other_build(&other.build_id, Some(own))),
        None => Err(NotMeant::NoFunction(own.into())),
    }
}

/// The plan's functions that lie in this file, all of them safe to hook.
fn hooks(analysis: &Analysis, plan: &Plan) -> Result<Vec<Hook>, Error> {
    let path = &analysis.image.path;
    if let Some(reason) = analysis.refusal() {
        return Err(Error::refused(path, reason));
    }
    if plan.cores > MOST_CORES {
        let cores = plan.cores;
        let reason = format!("the plan has {cores} cores; {MOST_CORES} is the most");
        return Err(Error::refused(path, reason));
    }
    let own = analysis.build_id().unwrap_or_default();
    let is_own = |f: &&PlannedFunction| same(&f.build_id, own);
    let hooks = plan.functions.iter().filter(is_own).map(hook);
    let hooks = together(hooks.collect());
    let entered = (0..hooks.len()).filter(|&index| !goes_on(&hooks, index));
    let functions = entered.filter_map(|index| unhookable(analysis, &hooks[index]));
    let functions: Vec<Unhookable> = functions.collect();
    match functions.is_empty() {
        true => Ok(hooks),
        false => Err(Error::Unhookable {
            path: path.clone(),
            functions,
        }),
    }
}

fn unhookable(analysis: &Analysis, hook: &Hook) -> Option<Unhookable> {
    let because = |mode, reason| Unhookable {
        symbol: hook.symbol.clone(),
        offset: hook.offset,
        mode,
        reason,
    };
    if let Some(reason) = analysis.entry_reason(hook.offset) {
        return Some(because(Mode::Enter, reason));
    }
    let reason = match hook.mode {
        Mode::Enter | Mode::Count => None,
        Mode::Call => analysis.return_reason(hook.offset),
    };
    reason.map(|reason| because(Mode::Call, reason))
}

fn hook(function: &PlannedFunction) -> Hook {
    Hook {
        offset: function.offset,
        symbol: function.symbol.clone(),
        to: function.to,
        mode: function.mode,
    }
}
