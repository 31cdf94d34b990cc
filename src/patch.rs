//! `corehop patch`: writes a plan's hops into a copy of a server's binary, or checks such a copy.
//!
//! The work and its promises are the patcher crate's; here they become words for people and for
//! scripts.

use crate::failure::{Exit, Failure};
use clap::Args;
use corehop_patcher::{Analysis, Error, Patched, Verification};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Write a plan's hops into a copy of a binary
///
/// The copy loads corehop's runtime, which is written beside it; keep the two in one folder. How
/// the copy hops is chosen when it starts: COREHOP_BACKEND=affinity (default), carrier, count or
/// off; COREHOP_CPUS=0,2 names the CPU of each plan core; COREHOP_STATS=FILE writes counts as JSON
/// at exit (%p becomes the process id).
#[derive(Args)]
pub struct Arguments {
    /// The program to patch; it is only read
    #[arg(required_unless_present_any = ["verify", "list_unsafe"])]
    binary: Option<PathBuf>,
    /// The plan, as `corehop partition` writes it
    #[arg(long, value_name = "FILE", required_unless_present_any = ["verify", "list_unsafe"])]
    plan: Option<PathBuf>,
    /// Where to write the patched copy
    #[arg(short, long, value_name = "FILE")]
    #[arg(required_unless_present_any = ["verify", "list_unsafe"])]
    output: Option<PathBuf>,
    /// Overwrite an existing output
    #[arg(long)]
    force: bool,
    /// Check every promise made about a patched file instead
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["binary", "plan", "output", "list_unsafe"])]
    verify: Option<PathBuf>,
    /// With --verify: the file it must have been made from
    #[arg(long, value_name = "FILE", requires = "verify")]
    original: Option<PathBuf>,
    /// List the functions of a binary that cannot be patched, and why, instead
    #[arg(long, value_name = "BINARY", conflicts_with_all = ["binary", "plan", "output"])]
    list_unsafe: Option<PathBuf>,
    /// Report as JSON
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
    let parts = (&arguments.binary, &arguments.plan, &arguments.output);
    let (Some(binary), Some(plan), Some(output)) = parts else {
        let missing = "patching needs a binary, --plan and --output";
        return Err(Failure::new(Exit::Usage, missing));
    };
    let plan = corehop_plans::read(plan)?;
    let patched = corehop_patcher::patch(binary, &plan, output, arguments.force)?;
    if arguments.json {
        print_json(&json!(patched))
    } else {
        print_patched(&patched);
        Ok(())
    }
}

fn print_patched(patched: &Patched) {
    let (hooks, cores) = (counted(patched.hooks.len(), "function"), patched.cores);
    println!(
        "{}: {hooks} hooked, for {cores} cores",
        patched.output.display()
    );
    println!("{}: the runtime it loads", patched.runtime.display());
    for hook in &patched.hooks {
        println!(
            "  {:#010x}  core {}  {}",
            hook.offset, hook.core, hook.symbol
        );
    }
    if patched.elsewhere > 0 {
        let elsewhere = counted(patched.elsewhere, "function");
        println!("{elsewhere} of the plan lie in other files, which this one does not hook");
    }
}

fn verify(path: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let result = corehop_patcher::verify(path, arguments.original.as_deref())?;
    let Verification {
        hooks, findings, ..
    } = &result;
    if arguments.json {
        let is_sound = findings.is_empty();
        print_json(
            &json!({"file": path, "sound": is_sound, "hooks": hooks, "findings": findings}),
        )?;
    } else {
        for finding in findings {
            println!("{}: {finding}", path.display());
        }
        if findings.is_empty() {
            let hooks = counted(*hooks, "hook");
            println!("{}: every promise holds ({hooks})", path.display());
        }
    }
    if findings.is_empty() {
        return Ok(());
    }
    let broken = counted(findings.len(), "broken promise");
    Err(
        Failure::new(Exit::Findings, format!("{}: {broken}", path.display()))
            .remedy("do not run it; patch the original again"),
    )
}

fn list_unsafe(path: &Path, as_json: bool) -> Result<(), Failure> {
    let analysis = Analysis::of(path)?;
    let functions = analysis.functions();
    let unsafe_ones: Vec<_> = functions
        .iter()
        .filter_map(|function| Some((function, analysis.entry_reason(function.offset)?)))
        .collect();
    let safe = functions.len() - unsafe_ones.len();
    let share = safe as f64 / functions.len().max(1) as f64;
    if as_json {
        let listed: Vec<_> = unsafe_ones
            .iter()
            .map(|(f, reason)| json!({"offset": f.offset, "symbol": f.symbol, "reason": reason}))
            .collect();
        return print_json(&json!({
            "file": path, "build_id": analysis.build_id(), "functions": functions.len(),
            "safe": safe, "safe_share": share, "unsafe": listed, "refusal": analysis.refusal(),
        }));
    }
    for (function, reason) in &unsafe_ones {
        let symbol = function.symbol.as_deref().unwrap_or("?");
        println!("{:#010x}  {symbol}: {reason}", function.offset);
    }
    let (percent, all) = (share * 100.0, functions.len());
    println!(
        "{}: {safe} of {all} functions can be patched ({percent:.2} %)",
        path.display()
    );
    if let Some(refusal) = analysis.refusal() {
        println!("{}: but none in this file: {refusal}", path.display());
    }
    Ok(())
}

fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    use std::io::Write;
    let written = writeln!(std::io::stdout(), "{value}");
    written.map_err(|error| Failure::new(Exit::Output, format!("standard output: {error}")))
}

fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error {
            Error::Read { .. } | Error::Input { .. } => Exit::Input,
            Error::Refused { .. } => Exit::Refused,
            Error::Exists { .. } | Error::Write { .. } => Exit::Output,
        };
        Failure::new(exit, error)
    }
}
