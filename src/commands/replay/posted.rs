//! `corehop replay --system-calls`: computes what asynchronous system calls would save, on another
//! core or in batches.
//!
//! The same calls are replayed synchronously, and then in each requested way. The option has the
//! form of `corehop run --system-calls`, which makes the calls of a server asynchronous.

mod told;

use super::at_fault::about;
use super::other_options::{Opened, OtherOptions};
use crate::failure::{Exit, Failure};
use crate::terminal::console;
use crate::terminal::line::Lines;
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_partitioner::progress::Progress;
use corehop_simulator::detail::{Mode, Posting, SystemCalls};
use corehop_simulator::{CoreId, Machine};
use corehop_support::format::system_call::is_made_by;
use corehop_traces::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;
use told::{Report, Way};

/// The options of a replay with posted calls.
#[derive(Args)]
#[command(next_help_heading = "System calls")]
pub struct PostedArguments {
    /// Make these system calls asynchronously, and report the saved misses; can be repeated
    ///
    /// The calls are names separated by commas, or `all`. `read,write@1` makes them on core 1.
    /// `read,write@batch` makes them in batches on the cores of their threads. `all@batch:1` makes
    /// all calls in batches on core 1.
    ///
    /// The trace must contain the kernel (`record --system`).
    #[arg(
        long,
        value_name = "CALLS@WHERE",
        value_parser = asked,
        conflicts_with_all = ["timed", "detail", "baseline", "tlb"]
    )]
    pub system_calls: Vec<Asked>,
    /// Number of calls in a batch, or several numbers, such as 1,8,64
    #[arg(
        long,
        value_name = "CALLS",
        value_delimiter = ',',
        default_value = "64",
        requires = "system_calls",
        hide_short_help = true
    )]
    batch: Vec<NonZeroUsize>,
}

/// Calls, and where to make them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    text: String,
    /// `None` for all.
    calls: Option<Vec<String>>,
    in_batches: bool,
    core: Option<CoreId>,
}

fn asked(text: &str) -> Result<Asked, String> {
    let Some((calls, place)) = text.split_once('@') else {
        return Err("missing @WHERE, e.g. read,write@1 or all@batch".into());
    };
    let core = |text: &str| {
        let core = text.parse().map(CoreId);
        core.map_err(|_| format!("'{place}' is not a core's number, batch, or batch:CORE"))
    };
    let (in_batches, core) = match (place, place.strip_prefix("batch:")) {
        ("yield", _) => return Err("yield does not change what caches miss".into()),
        ("batch", _) => (true, None),
        (_, Some(number)) => (true, Some(core(number)?)),
        (number, None) => (false, Some(core(number)?)),
    };
    let names = calls.split(',').map(str::to_owned);
    let names: Vec<String> = names.collect();
    if names.iter().any(String::is_empty) {
        return Err("missing the calls, e.g. read,write@1 or all@batch".into());
    }
    Ok(Asked {
        text: text.into(),
        calls: (calls != "all").then_some(names),
        in_batches,
        core,
    })
}

/// Replays every way and prints the results.
pub fn run(arguments: &PostedArguments, others: &OtherOptions<'_>) -> Result<(), Failure> {
    let machine = Machine::named_or_path(others.machine)?;
    let Opened { trace, split, .. } = others.open(&machine)?;
    with_kernel(&trace, others.trace)?;
    let bar = Bar::new();
    let progress = |executions| bar.advance(executions);
    let options = others.of_requests(&trace, &progress);
    let failed = |error| about(Some(others.trace), error);
    let executions = Some(options.executions(&trace));
    bar.begin("code blocks searched for system calls", executions);
    let calls = SystemCalls::of(&trace, &options).map_err(failed)?;
    let made = calls.made();
    let mut ways = vec![(None, Posting::default())];
    for asked in &arguments.system_calls {
        for posting in asked.postings(&made, &arguments.batch, others.trace)? {
            ways.push((Some(asked), posting));
        }
    }
    let mut told = Vec::new();
    for (asked, posting) in ways {
        let name = asked.map_or("in place", |asked| &asked.text);
        bar.begin("code blocks replayed", executions);
        let posted = calls.replay_posted(&trace, (&machine, &split), &options, &posting);
        told.push(Way {
            name: name.into(),
            batch: posting.batch.map(NonZeroUsize::get),
            posted: posted.map_err(failed)?,
        });
    }
    bar.end();
    let report = Report {
        trace_name: others.trace,
        trace: &trace,
        machine: &machine,
        made,
        ways: told,
    };
    match others.json {
        true => console::print(&Lines::of_json(&told::value(&report))),
        false => console::print(&told::text(&report)),
    }
}

impl Asked {
    fn postings(
        &self,
        made: &BTreeMap<String, u64>,
        batches: &[NonZeroUsize],
        trace: &Path,
    ) -> Result<Vec<Posting>, Failure> {
        let is_asked = |name: &str| {
            let calls = self.calls.as_ref();
            calls.is_none_or(|calls| {
                let mut calls = calls.iter();
                calls.any(|call| is_made_by(name, call))
            })
        };
        let calls = made.keys().filter(|name| is_asked(name));
        let calls: BTreeSet<String> = calls.cloned().collect();
        if calls.is_empty() {
            let names: Vec<&str> = made.keys().map(String::as_str).collect();
            let message = format!("{}: the trace has none of {}", trace.display(), self.text);
            let remedy = match names.is_empty() {
                true => "record a server that makes system calls with known names".to_owned(),
                false => format!("name some of {}", names.join(", ")),
            };
            return Err(Failure::new(Exit::Input, message).remedy(remedy));
        }
        let posting = |batch| Posting {
            calls: calls.clone(),
            core: self.core,
            batch,
        };
        Ok(match self.in_batches {
            true => batches.iter().copied().map(Some).map(posting).collect(),
            false => vec![posting(None)],
        })
    }
}

fn with_kernel(trace: &Trace, path: &Path) -> Result<(), Failure> {
    if Mode::Kernel.is_in(trace) {
        return Ok(());
    }
    let message = format!("{}: the trace does not contain the kernel", path.display());
    let remedy = "record the server with --system, or add a kernel by `corehop-lab kernel-model`";
    Err(Failure::new(Exit::Input, message).remedy(remedy))
}

#[cfg(test)]
mod tests {
    use super::{Asked, asked};
    use corehop_simulator::CoreId;

    #[test]
    fn calls_and_places_are_told() {
        let of = |text| {
            let Asked {
                calls,
                in_batches,
                core,
                ..
            } = asked(text).unwrap();
            (calls.map(|calls| calls.join("+")), in_batches, core)
        };
        assert_eq!(of("read@1"), (Some("read".into()), false, Some(CoreId(1))));
        assert_eq!(of("all@batch"), (None, true, None));
        let expected = (Some("read+write".into()), true, Some(CoreId(3)));
        assert_eq!(of("read,write@batch:3"), expected);
        for wrong in [
            "read",
            "@1",
            "read,@1",
            "read@",
            "read@x",
            "read@batch:",
            "read@yield",
        ] {
            asked(wrong).unwrap_err();
        }
    }
}
