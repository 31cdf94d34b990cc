//! From a plan and binaries to patched copies next to their runtime, or to a refusal.
//!
//! A plan may contain functions of several files. All of them are patched, or none, since half a
//! plan takes threads to a core and not back. Everything that could make a copy unsafe is checked
//! before a byte is written; the originals are only read.

use super::choose::{Chosen, choose};
use super::privileges::privileges;
use super::verify::check;
use super::write::{Wanted, write};
use crate::analyse::Analysis;
use crate::emit::{Composed, compose};
use crate::{Error, Hook};
use corehop_plan::Plan;
use corehop_support::atomic_file::Output;
use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A written file.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Patched {
    /// The file from which it was made.
    #[serde(serialize_with = "corehop_support::format::path::serialize")]
    pub original: PathBuf,
    /// The patched copy.
    #[serde(serialize_with = "corehop_support::format::path::serialize")]
    pub output: PathBuf,
    /// The runtime it loads, in the same folder.
    #[serde(serialize_with = "corehop_support::format::path::serialize")]
    pub runtime: PathBuf,
    /// GNU build id of the original.
    pub build_id: String,
    /// Whether it is a shared library.
    pub is_library: bool,
    /// Cores of the plan.
    pub cores: u32,
    /// The hooks, in order of the plan, with those of one function next to each other.
    pub hooks: Vec<Hook>,
    /// Number of additionally hooked returns, at which threads return to their previous core.
    pub returns: usize,
}

/// Writes a copy of `binary` to `output`, with hooks of the functions of a plan without other
/// files.
///
/// # Errors
/// [`Error::Refused`] with the reason if that would not be safe or does not fit the plan;
/// [`Error::Output`] for an existing output without `force`, and if no file can be written there;
/// [`Error::Read`] and [`Error::Input`] for the files themselves. After any error there is no
/// output.
pub fn patch(binary: &Path, plan: &Plan, output: &Path, force: bool) -> Result<Patched, Error> {
    let chosen = choose(&[binary.into()], plan)?;
    let files = chosen.files.len();
    if files != 1 {
        return Err(Error::refused(
            binary,
            format!("the plan names functions of {files} files: patch them into one folder"),
        ));
    }
    let mut patched = patch_chosen(&chosen, |_| output.into(), force)?;
    Ok(patched.remove(0))
}

/// Writes a copy of every file of the plan into `folder`, each under the name by which it is
/// loaded. The files are those of `binaries` with the plan's build IDs, and otherwise those at the
/// plan's paths.
///
/// # Errors
/// As [`patch`].
pub fn patch_all(
    binaries: &[PathBuf],
    plan: &Plan,
    folder: &Path,
    force: bool,
) -> Result<Vec<Patched>, Error> {
    let chosen = choose(binaries, plan)?;
    let is_new = !folder.exists();
    if is_new {
        // It contains code that a server loads, so no other user may write there.
        let made = std::fs::DirBuilder::new().mode(0o755).create(folder);
        made.map_err(|source| corehop_support::atomic_file::Error::Write {
            path: folder.into(),
            source,
        })?;
    }
    let patched = patch_chosen(&chosen, |analysis| folder.join(analysis.name()), force);
    if patched.is_err() && is_new {
        // It is empty: the failed attempt has left nothing.
        let _ = std::fs::remove_dir(folder);
    }
    patched
}

fn patch_chosen(
    chosen: &Chosen,
    place: impl Fn(&Analysis) -> PathBuf,
    force: bool,
) -> Result<Vec<Patched>, Error> {
    let (mut outputs, mut patched) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for (index, file) in chosen.files.iter().enumerate() {
        let (analysis, path) = (&file.analysis, &file.analysis.image.path);
        let output = place(analysis);
        if output.canonicalize().ok() == path.canonicalize().ok() {
            let reason = "the output is the original, which must stay";
            return Err(Error::refused(path, reason));
        }
        if !names.insert(output.clone()) {
            let reason = "another file of the plan has the same name";
            return Err(Error::refused(path, reason));
        }
        let appended = analysis.image.appended_bytes();
        if appended > 0 {
            let reason = format!(
                "{appended} bytes are appended to it, which the program may read from its end, and \
                 hooks would come behind them: `corehop run --plan` hooks it in memory"
            );
            return Err(Error::refused(path, reason));
        }
        let place = Output::file_at(&output, force)?;
        let mode = privileges(path)?;
        let contents = compose(analysis, &file.hooks, &chosen.whole(index))
            .map_err(|unfit| Error::refused(path, unfit))?;
        check_own_work(&contents, analysis, &output)?;
        let folder = corehop_support::atomic_file::folder_of(&output);
        let runtime = folder.join(corehop_runtime::NAME);
        if index == 0 {
            let library = corehop_runtime::LIBRARY;
            outputs.extend(Wanted::library(&runtime, library, force)?);
        }
        let build_id = analysis.build_id().unwrap_or_default();
        if analysis.is_library() {
            let arrival = folder.join(corehop_runtime::arrival_name(build_id));
            let library = corehop_runtime::ARRIVAL;
            outputs.extend(Wanted::library(&arrival, library, force)?);
        }
        patched.push(Patched {
            original: path.clone(),
            output,
            runtime,
            build_id: build_id.into(),
            is_library: analysis.is_library(),
            cores: chosen.cores,
            hooks: file.hooks.clone(),
            returns: contents.returns,
        });
        outputs.push(Wanted {
            output: place,
            contents,
            mode,
        });
    }
    write(&outputs)?;
    Ok(patched)
}

/// Reads the composed file back before anyone can run it. A finding here is a bug of corehop, which
/// must not reach a server.
fn check_own_work(composed: &Composed, analysis: &Analysis, output: &Path) -> Result<(), Error> {
    let findings = check(composed.to_bytes(), output, Some(&analysis.image.bytes))?;
    match findings.first() {
        None => Ok(()),
        Some(finding) => Err(Error::Refused {
            path: analysis.image.path.clone(),
            reason: format!("its patched copy would break a promise: {finding}"),
        }),
    }
}
