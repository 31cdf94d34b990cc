//! `corehop patch`: patches a plan's hops into a copy of a server's binary, or verifies such a
//! copy.
//!
//! The crate `corehop-patcher` does the work; this file prints the result as text and as JSON.

use crate::failure::{Exit, Failure};
use crate::options::streams;
use crate::plan_to_hook::plan_to_hook;
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::during;
use crate::terminal::shell::quoted;
use clap::Args;
use corehop_patcher::{Analysis, Error, Function, Patched, Unhookable, Verification};
use corehop_plan::Mode;
use corehop_plan::Plan;
use corehop_support::format::number::counted;
use corehop_support::format::path::lossy;
use corehop_symbolizer::demangled;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Write the hops of a plan into copies of the server's binaries
///
/// A plan can name functions of a program and of its libraries. corehop writes a patched copy of
/// each file, or none if one of them cannot be patched. The originals do not change.
///
/// The copies load corehop's runtime, a file in the same folder. If you move the copies, move all
/// files of the folder.
///
/// The patched program reads environment variables when it starts. COREHOP_BACKEND=auto (default),
/// affinity, carrier, count, or off selects how threads hop. COREHOP_CPUS=0,2 sets the CPU of each
/// core of the plan. COREHOP_STATS=FILE writes counts as JSON at exit; %p in the name is the
/// process id. With COREHOP_CONTROL=FILE, `echo off >FILE` stops all hops of the running program.
/// docs/reference/environment.md lists all variables.
#[derive(Args)]
#[command(after_help = "\
Example: corehop patch --plan split.toml /usr/sbin/mariadbd -o mariadbd.hop
         corehop patch --verify mariadbd.hop --original /usr/sbin/mariadbd
         corehop patch --list-unsafe /usr/sbin/mariadbd")]
pub struct Arguments {
    /// Programs and libraries to patch
    ///
    /// Default: the files at the paths in the plan.
    binaries: Vec<PathBuf>,
    /// Plan that `corehop partition` wrote
    #[arg(long, value_name = "FILE", required_unless_present_any = ["verify", "list_unsafe"])]
    plan: Option<PathBuf>,
    /// File for the patched copy; for a plan with several files, the folder for all copies
    #[arg(short, long, value_name = "FILE", visible_alias = "out")]
    #[arg(required_unless_present_any = ["verify", "list_unsafe"])]
    output: Option<PathBuf>,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
    /// Instead of patching, check a patched file: its hooks, and that everything else is unchanged
    ///
    /// Exit code 1 if something is wrong.
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["binaries", "plan", "output", "list_unsafe"])]
    verify: Option<PathBuf>,
    /// With --verify: original of the patched file, to compare with
    #[arg(long, value_name = "FILE", requires = "verify")]
    original: Option<PathBuf>,
    /// Instead of patching, list the functions of a binary that cannot be patched, with the reasons
    ///
    /// The list includes functions that can be patched, but not as delegated calls (mode "call").
    #[arg(long, value_name = "BINARY", conflicts_with_all = ["binaries", "plan", "output"])]
    list_unsafe: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.verify {
        return verify(path, arguments);
    }
    if let Some(path) = &arguments.list_unsafe {
        return list_unsafe(path, arguments.json);
    }
    let (Some(plan), Some(output)) = (&arguments.plan, &arguments.output) else {
        let missing = "patching needs --plan and --output";
        return Err(Failure::new(Exit::Usage, missing).explained());
    };
    streams::keep([&**plan], output)?;
    let plan = plan_to_hook(plan)?;
    let at_its_path = PathBuf::from(&plan.functions[0].module);
    let files = during("analysing and patching", || {
        patch(&plan, &at_its_path, output, arguments)
    });
    if let (Err(Error::Unhookable { path, functions }), true) = (&files, arguments.json) {
        let functions: Vec<_> = functions.iter().map(unhookable_as_json).collect();
        console::print(&Lines::of_json(
            &json!({"file": lossy(path), "unhookable": functions}),
        ))?;
    }
    let files = files?;
    let command = command(&files);
    if arguments.json {
        let first = &files[0];
        let (cores, runtime) = (first.cores, lossy(&first.runtime));
        let object =
            json!({"cores": cores, "runtime": runtime, "files": files, "command": command});
        console::print(&Lines::of_json(&object))
    } else {
        console::print(&patched(&files, &command))
    }
}

/// Patches one file under the given name, or several files into the folder of that name. `first` is
/// the file of the plan's first function.
fn patch(
    plan: &Plan,
    first: &Path,
    output: &Path,
    arguments: &Arguments,
) -> Result<Vec<Patched>, Error> {
    let (binaries, force) = (&arguments.binaries, arguments.force);
    let modules: BTreeSet<&str> = plan.functions.iter().map(|f| f.build_id.as_str()).collect();
    let is_folder = output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder || modules.len() > 1 || binaries.len() > 1 {
        return corehop_patcher::patch_all(binaries, plan, output, force);
    }
    let binary = binaries.first().map_or(first, PathBuf::as_path);
    Ok(vec![corehop_patcher::patch(binary, plan, output, force)?])
}

/// Returns how to start the patched program. The loader must find patched libraries before others.
/// An unpatched program must preload the patched libraries and the runtime, which comes first.
fn command(files: &[Patched]) -> String {
    let absolute = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        lossy(&path)
    };
    let libraries = files.iter().filter(|file| file.is_library);
    let Some(program) = files.iter().find(|file| !file.is_library) else {
        let libraries = libraries.map(|file| absolute(&file.output));
        let preloaded = [absolute(&files[0].runtime)].into_iter().chain(libraries);
        let preloaded = preloaded.collect::<Vec<_>>().join(":");
        return format!("LD_PRELOAD={} PROGRAM", quoted(&preloaded));
    };
    let path = quoted(&absolute(&program.output));
    if libraries.count() == 0 {
        return path;
    }
    let folder = absolute(corehop_support::atomic_file::folder_of(&program.output));
    format!("LD_LIBRARY_PATH={} {path}", quoted(&folder))
}

fn patched(files: &[Patched], command: &str) -> Lines {
    let mut text = Lines::new();
    for file in files {
        // Several calls of one function may be hooked, one after the other.
        let functions = file.hooks.chunk_by(|one, next| one.offset == next.offset);
        let functions = functions.count() as u64;
        let (hooks, cores) = (counted(functions, "function", "functions"), file.cores);
        let returns = match file.returns {
            0 => String::new(),
            count => format!(
                " at their entries and at {}",
                counted(count as u64, "return", "returns")
            ),
        };
        line!(
            text,
            "{}: {hooks} hooked{returns}, for {cores} cores",
            file.output.display()
        );
        for hook in &file.hooks {
            let (core, back) = match hook.mode {
                Mode::Enter => (hook.to.to_string(), ""),
                Mode::Call => (hook.to.to_string(), ", and back when it returns"),
                Mode::Count => ("counted".into(), ""),
            };
            let (at, name) = (hook.offset, demangled(&hook.symbol));
            line!(text, "  {at:#010x}  {core}  {name}{back}");
        }
    }
    line!(text, "{}: the runtime", files[0].runtime.display());
    line!(text, "to run it: {command}");
    for file in files.iter().filter(|file| file.is_library) {
        line!(
            text,
            "  a program that loads {} by its path must be given the patched one's",
            file.original.display()
        );
    }
    text
}

fn verify(path: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let result = during("checking", || {
        corehop_patcher::verify(path, arguments.original.as_deref())
    })?;
    let Verification {
        hooks, findings, ..
    } = &result;
    if arguments.json {
        let is_sound = findings.is_empty();
        let object =
            json!({"file": lossy(path), "sound": is_sound, "hooks": hooks, "findings": findings});
        console::print(&Lines::of_json(&object))?;
    } else {
        let mut text = Lines::new();
        for finding in findings {
            line!(text, "{}: {finding}", path.display());
        }
        if findings.is_empty() {
            let hooks = counted(*hooks as u64, "hook", "hooks");
            line!(text, "{}: every promise holds ({hooks})", path.display());
        }
        console::print(&text)?;
    }
    if findings.is_empty() {
        return Ok(());
    }
    let broken = counted(findings.len() as u64, "broken promise", "broken promises");
    Err(
        Failure::new(Exit::Findings, format!("{}: {broken}", path.display()))
            .remedy("do not run it; patch the original again"),
    )
}

fn list_unsafe(path: &Path, as_json: bool) -> Result<(), Failure> {
    let analysis = during("analysing", || Analysis::of(path))?;
    let (mut unsafe_ones, mut one_way) = (Vec::new(), Vec::new());
    for function in analysis.functions() {
        if let Some(reason) = analysis.entry_reason(function.offset) {
            unsafe_ones.push((function, reason));
        } else if let Some(reason) = analysis.return_reason(function.offset) {
            one_way.push((function, reason));
        }
    }
    let all = analysis.functions().len();
    let safe = all - unsafe_ones.len();
    let two_way = safe - one_way.len();
    let share = |count: usize| count as f64 / all.max(1) as f64;
    if as_json {
        let listed = |listed: &[(&Function, String)]| -> Vec<_> {
            let listed = listed.iter();
            listed
                .map(|(f, why)| json!({"offset": f.offset, "symbol": f.symbol, "reason": why}))
                .collect()
        };
        let refusal = analysis.refusal().map(|refusal| refusal.to_string());
        return console::print(&Lines::of_json(&json!({
            "file": lossy(path), "build_id": analysis.build_id(), "functions": all,
            "safe": safe, "safe_share": share(safe), "unsafe": listed(&unsafe_ones),
            "call_safe": two_way, "call_safe_share": share(two_way),
            "call_unsafe": listed(&one_way), "refusal": refusal,
        })));
    }
    let mut text = Lines::new();
    for (listed, mode) in [(&unsafe_ones, ""), (&one_way, "in mode \"call\": ")] {
        for (function, reason) in listed {
            let name = function.symbol.as_deref().map_or("?".into(), demangled);
            line!(text, "{:#010x}  {name}: {mode}{reason}", function.offset);
        }
    }
    let (name, percent) = (path.display(), |count| share(count) * 100.0);
    line!(
        text,
        "{name}: {safe} of {all} functions can be patched ({:.2} %), {two_way} in mode \"call\" \
         ({:.2} %)",
        percent(safe),
        percent(two_way)
    );
    if let Some(refusal) = analysis.refusal() {
        line!(text, "{name}: but none in this file: {refusal}");
    }
    console::print(&text)
}

fn unhookable_as_json(function: &Unhookable) -> Value {
    let Unhookable {
        symbol,
        offset,
        mode,
        reason,
    } = function;
    json!({"symbol": symbol, "offset": offset, "mode": mode, "reason": reason})
}

/// Maximum number of functions of a refused plan to name.
const NAMED: usize = 10;

/// Returns the lines below a refusal of several functions.
fn below(functions: &[Unhookable]) -> Vec<String> {
    if functions.len() < 2 {
        return Vec::new();
    }
    let named = functions.iter().take(NAMED).map(ToString::to_string);
    let more = match functions.len().saturating_sub(NAMED) {
        0 => None,
        more => Some(format!("and {more} more")),
    };
    named.chain(more).collect()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Read { .. } => {
                Failure::new(Exit::Input, error).remedy("name a file that exists and can be read")
            }
            Error::Input { .. } => Failure::new(Exit::Input, error).explained(),
            Error::Refused { .. } => Failure::new(Exit::Refused, error).explained(),
            Error::Unhookable { ref functions, .. } => {
                let below = below(functions);
                let failure = Failure::new(Exit::Refused, error).below(below);
                failure.remedy(
                    "take what cannot be hooked out of the plan; `corehop patch --json` lists all \
                     of it",
                )
            }
            Error::Output(error) => error.into(),
        }
    }
}
