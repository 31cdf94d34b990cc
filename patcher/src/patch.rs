//! From a plan and a binary to a patched copy beside its runtime, or to a refusal.
//!
//! Everything that could make the copy unsafe is looked at before a byte is written. The copy and
//! the runtime are written under temporary names and renamed, so nobody meets half a file; the
//! original is only read.

use crate::compose::{Composed, Hook, compose};
use crate::{Analysis, Error, verify};
use corehop_plans::{Mode, Plan, PlannedFunction};
use std::fs::Permissions;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// More cores than any machine has, and few enough for the runtime's tables.
const MOST_CORES: u32 = 1024;

/// What was written.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Patched {
    /// The patched program.
    pub output: PathBuf,
    /// The runtime it loads, in the same folder.
    pub runtime: PathBuf,
    /// GNU build id of the original.
    pub build_id: String,
    /// Cores of the plan.
    pub cores: u32,
    /// The hooks, in order of the plan.
    pub hooks: Vec<Hook>,
    /// Functions of the plan that lie in other modules, and are not hooked by this file.
    pub elsewhere: usize,
}

/// Writes a copy of `binary` to `output`, with the plan's functions hooked.
///
/// # Errors
/// [`Error::Refused`] with the reason when that would not be safe or not what the plan means;
/// [`Error::Exists`] for an existing output without `force`; [`Error::Read`], [`Error::Input`] and
/// [`Error::Write`] for the files themselves. After any error there is no output.
pub fn patch(binary: &Path, plan: &Plan, output: &Path, force: bool) -> Result<Patched, Error> {
    let refused = |reason: String| Error::Refused {
        path: binary.into(),
        reason,
    };
    let analysis = Analysis::of(binary)?;
    let mode = privileges(binary)?;
    let hooks = choose(&analysis, plan, binary).map_err(refused)?;
    if output.canonicalize().ok() == binary.canonicalize().ok() {
        return Err(refused(
            "the output is the original, which must stay".into(),
        ));
    }
    let runtime = corehop_plans::folder_of(output).join(corehop_runtime::NAME);
    if output.exists() && !force {
        return Err(Error::Exists {
            path: output.into(),
        });
    }
    let composed = compose(&analysis, &hooks, plan.cores).map_err(refused)?;
    check_own_work(&composed, &analysis, output)?;
    let is_new = install_runtime(&runtime, force)?;
    if let Err(error) = write(output, &composed, mode, force) {
        if is_new {
            // Left over, it would only be a stray file: the error that matters is the first.
            let _ = std::fs::remove_file(&runtime);
        }
        return Err(error);
    }
    Ok(Patched {
        output: output.into(),
        runtime,
        build_id: analysis.build_id().unwrap_or_default().into(),
        cores: plan.cores,
        elsewhere: plan.functions.len() - hooks.len(),
        hooks,
    })
}

/// The mode to give the copy; a file that runs with more rights than its user's is refused.
fn privileges(binary: &Path) -> Result<Permissions, Error> {
    let metadata = std::fs::metadata(binary).map_err(|source| Error::Read {
        path: binary.into(),
        source,
    })?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o6000 != 0 {
        return Err(Error::Refused {
            path: binary.into(),
            reason: "set-user-id or set-group-id: the loader would not bring in the runtime, and \
                     the copy would give its rights away; patch a copy without that bit"
                .into(),
        });
    }
    Ok(Permissions::from_mode(mode))
}

/// The plan's functions that lie in this file, all of them safe to hook.
fn choose(analysis: &Analysis, plan: &Plan, binary: &Path) -> Result<Vec<Hook>, String> {
    if let Some(reason) = analysis.refusal() {
        return Err(reason.into());
    }
    if plan.cores > MOST_CORES {
        return Err(format!(
            "the plan has {} cores; {MOST_CORES} is the most",
            plan.cores
        ));
    }
    let own = analysis
        .build_id()
        .ok_or("it has no build id, so no plan can be known to fit it")?;
    let is_own = |f: &&PlannedFunction| f.build_id.eq_ignore_ascii_case(own);
    let name = binary.file_name();
    let resolved = binary.canonicalize().ok();
    let names_it = |f: &&PlannedFunction| {
        let module = Path::new(&f.module);
        module.file_name() == name || resolved.as_deref() == Some(module)
    };
    let mut others = plan.functions.iter().filter(|f| !is_own(f));
    if let Some(other) = others.find(names_it) {
        return Err(format!(
            "the plan was made for build id {}, but this file's is {own}: record and search \
             this build",
            other.build_id
        ));
    }
    let hooks: Vec<Hook> = plan.functions.iter().filter(is_own).map(hook).collect();
    if hooks.is_empty() {
        return Err(format!(
            "the plan has no function of this file (build id {own})"
        ));
    }
    let unsafe_ones = hooks.iter().filter_map(|hook| {
        let (symbol, offset) = (&hook.symbol, hook.offset);
        if let Some(reason) = analysis.unsafe_reason(offset) {
            return Some(format!("{symbol} at {offset:#x}: {reason}"));
        }
        let reason = match hook.mode {
            Mode::Enter => None,
            Mode::Call => analysis.return_reason(offset),
        };
        reason.map(|reason| {
            format!(
                "{symbol} at {offset:#x} in mode \"call\": {reason}; mode \"enter\" is possible"
            )
        })
    });
    let unsafe_ones: Vec<String> = unsafe_ones.collect();
    if unsafe_ones.is_empty() {
        Ok(hooks)
    } else {
        Err(format!("cannot hook {}", unsafe_ones.join("; ")))
    }
}

fn hook(function: &PlannedFunction) -> Hook {
    Hook {
        offset: function.offset,
        symbol: function.symbol.clone(),
        core: function.core,
        mode: function.mode,
    }
}

/// Reads the composed file back before anyone can run it. A finding here is our mistake, which
/// must not reach a server.
fn check_own_work(composed: &Composed, analysis: &Analysis, output: &Path) -> Result<(), Error> {
    let findings = verify::check(composed.to_bytes(), output, Some(&analysis.image.bytes))?;
    match findings.first() {
        None => Ok(()),
        Some(finding) => Err(Error::Refused {
            path: analysis.image.path.clone(),
            reason: format!("its patched copy would break a promise: {finding}"),
        }),
    }
}

/// Puts the runtime in place unless the very same is there; true when it was not there at all.
fn install_runtime(path: &Path, force: bool) -> Result<bool, Error> {
    match std::fs::read(path) {
        Ok(existing) if existing == corehop_runtime::LIBRARY => return Ok(false),
        Ok(_) if !force => return Err(Error::Exists { path: path.into() }),
        _ => {}
    }
    let library = Composed {
        head: corehop_runtime::LIBRARY.into(),
        tail_offset: corehop_runtime::LIBRARY.len() as u64,
        tail: Vec::new(),
    };
    let was_there = path.exists();
    // Another patch may install the same file at the same moment: replacing it changes nothing.
    write(path, &library, Permissions::from_mode(0o755), true)?;
    Ok(!was_there)
}

fn write(path: &Path, file: &Composed, mode: Permissions, force: bool) -> Result<(), Error> {
    let failed = |source| Error::Write {
        path: path.into(),
        source,
    };
    let mut beside =
        tempfile::NamedTempFile::new_in(corehop_plans::folder_of(path)).map_err(failed)?;
    beside.write_all(&file.head).map_err(failed)?;
    if !file.tail.is_empty() {
        beside
            .seek(SeekFrom::Start(file.tail_offset))
            .map_err(failed)?;
        beside.write_all(&file.tail).map_err(failed)?;
    }
    beside.as_file().set_permissions(mode).map_err(failed)?;
    let moved = if force {
        beside.persist(path)
    } else {
        beside.persist_noclobber(path)
    };
    match moved {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Error::Exists { path: path.into() })
        }
        Err(error) => Err(failed(error.error)),
    }
}

impl Composed {
    /// The whole file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        bytes.resize(self.tail_offset as usize, 0);
        bytes.extend(&self.tail);
        bytes
    }
}
