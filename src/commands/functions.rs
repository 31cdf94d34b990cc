//! `corehop functions`: lists the functions that every request entered exactly once, for
//! `--request-at`.
//!
//! In a stripped server, nobody knows which function every request enters. With `--request-at
//! syscalls`, each request begins with a read and lasts until the next read after an answer. A
//! function that was entered exactly once in each of these spans marks the start of requests as
//! well as the read does. The earliest function omits least. If the C library's function that sends
//! the answer was entered once too, its position shows where the answer is sent. Functions after it
//! run after the answer.

use crate::bundled;
use crate::failure::{Exit, Failure};
use crate::options::scope::share;
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_partitioner::candidates::{Called, CandidateRule, Candidates};
use corehop_partitioner::requests::complete;
use corehop_support::format::name::shortened;
use corehop_support::format::number::{counted, grouped};
use corehop_traces::{FunctionId, Trace};
use serde_json::{Value, json};
use std::path::PathBuf;

/// List the functions that every request enters exactly once, as values for --request-at
///
/// Use it for a server whose request function you do not know. First record the server with
/// --request-at syscalls. Then record it again with the first listed function that can be hooked.
///
/// For the first recording, send one request at a time on each connection. Commands that a client
/// pipelines, without waiting for answers, count as one request.
#[derive(Args)]
#[command(after_help = "\
Example: corehop record -o cut.trace --request-at syscalls --requests 100 -- memcached -u root
Then:    corehop functions cut.trace
Then:    corehop record -o bank.trace --request-at /usr/bin/memcached+0x19c10 -- memcached -u root

Exit code 1 if no function was entered once in enough requests. With --json the list is then
empty.")]
pub struct Arguments {
    /// Trace that was recorded with `--request-at syscalls`
    trace: PathBuf,
    /// Minimum share of the requests, from 0 to 1, that enter the function exactly once
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    min_share: f64,
    /// Maximum number of functions to list, the earliest first
    #[arg(long, value_name = "FUNCTIONS", default_value_t = 20)]
    top: usize,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// The C library's functions that send an answer.
const SENDING: [&str; 9] = [
    "send",
    "sendfile",
    "sendfile64",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "splice",
    "write",
    "writev",
];

/// A function that was entered once.
struct Entered {
    function: FunctionId,
    called: Called,
    unpatchable: Option<String>,
}

struct Listing<'a> {
    trace: &'a Trace,
    trace_name: &'a str,
    counted: &'a Candidates,
    min_share: f64,
    /// Sorted by position.
    entered: Vec<Entered>,
    top: usize,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (trace, trace_name) = bundled::open_or_bundled(Some(&arguments.trace))?;
    let requests = complete(trace.requests());
    if requests.is_empty() {
        let failure = Failure::from(corehop_partitioner::Error::NoRequests);
        return Err(failure.of_trace(&trace_name));
    }
    corehop_partitioner::Error::needs_functions(&trace)
        .map_err(|error| Failure::from(error).of_trace(&trace_name))?;
    let rule = CandidateRule {
        max_calls: 1,
        min_share: arguments.min_share,
        ..CandidateRule::default()
    };
    let counted = Candidates::of(&trace, &requests, &rule, &Bar::new())?;
    let listing = Listing {
        trace: &trace,
        trace_name: &trace_name,
        min_share: arguments.min_share,
        entered: entered(&counted),
        counted: &counted,
        top: arguments.top,
    };
    match arguments.json {
        true => console::print(&Lines::of_json(&listing.as_json())),
        false if listing.entered.is_empty() => Err(listing.refusal()),
        false => console::print(&listing.as_text()),
    }
}

/// Returns the functions in the order of their positions, hookable or not.
fn entered(counted: &Candidates) -> Vec<Entered> {
    let chosen = counted.chosen.iter().map(|of| Entered {
        function: of.function,
        called: of.called,
        unpatchable: None,
    });
    let others = counted.unpatchable.iter().map(|of| Entered {
        function: of.function,
        called: of.called,
        unpatchable: Some(of.reason.clone()),
    });
    let mut entered: Vec<Entered> = chosen.chain(others).collect();
    entered.sort_by(|a, b| {
        let positions = a.called.position.total_cmp(&b.called.position);
        positions.then(a.function.cmp(&b.function))
    });
    entered
}

impl Listing<'_> {
    /// Returns the value of `--request-at` for the function. It does not depend on the working
    /// directory.
    fn request_at(&self, of: FunctionId) -> String {
        let function = &self.trace.functions()[of.index()];
        let module = &self.trace.modules()[function.module as usize].path;
        format!("{module}+{:#x}", function.offset)
    }

    /// Returns whether the function sends data.
    fn sends(&self, of: FunctionId) -> bool {
        let function = &self.trace.functions()[of.index()];
        let module = &self.trace.modules()[function.module as usize].path;
        let is_libc = module.rsplit('/').next() == Some("libc.so.6");
        let name = function.name.trim_start_matches('_');
        is_libc && SENDING.contains(&name)
    }

    fn refusal(&self) -> Failure {
        let message = format!(
            "{}: no function was entered once in {} % of {}",
            self.trace_name,
            self.min_share * 100.0,
            counted(self.counted.requests as u64, "request", "requests")
        );
        Failure::new(Exit::Findings, message).remedy(
            "lower --min-share; or record again with one request at a time on each connection, \
             and all of one kind; where requests get no answer, name their function by \
             --request-at",
        )
    }

    fn as_text(&self) -> Lines {
        let mut text = Lines::new();
        line!(
            text,
            "{}: {}, as `{}` cuts them, of {} accesses on average",
            self.trace_name,
            counted(self.counted.requests as u64, "request", "requests"),
            self.trace.header().request_at,
            grouped(self.counted.accesses_per_request as u64)
        );
        line!(
            text,
            "entered once in {}: {}",
            match self.min_share {
                1.0 => "each".to_owned(),
                share => format!("{} % of them", share * 100.0),
            },
            counted(self.entered.len() as u64, "function", "functions")
        );
        line!(text);
        line!(text, "{:>9}{:>7}  for --request-at", "position", "hooks");
        for of in self.entered.iter().take(self.top) {
            let function = &self.trace.functions()[of.function.index()];
            let hooks = match of.unpatchable {
                Some(_) => "no",
                None => "yes",
            };
            line!(
                text,
                "{:>9}{hooks:>7}  {}  {}",
                grouped(of.called.position as u64),
                self.request_at(of.function),
                shortened(&function.name)
            );
            if self.sends(of.function) {
                line!(text, "{:16}  after the answer, which that one sends:", "");
            }
        }
        text
    }

    fn as_json(&self) -> Value {
        let function = |of: &Entered| {
            let function = &self.trace.functions()[of.function.index()];
            json!({
                "request_at": self.request_at(of.function),
                "name": function.name,
                "symbol": function.symbol,
                "module": self.trace.modules()[function.module as usize].path,
                "offset": function.offset,
                "share": of.called.share,
                "position": of.called.position,
                "sends": self.sends(of.function),
                "unpatchable": of.unpatchable,
            })
        };
        let functions = self.entered.iter().take(self.top).map(function);
        json!({
            "trace": self.trace_name,
            "request_at": self.trace.header().request_at,
            "requests": self.counted.requests,
            "accesses_per_request": self.counted.accesses_per_request,
            "min_share": self.min_share,
            "entered_once": self.entered.len(),
            "functions": functions.collect::<Vec<_>>(),
        })
    }
}
