//! The timed replay on one host core: eight connections on four simulated cores.
//!
//! It uses the given trace, or the bundled sample of four connections, each of them twice. The
//! sample is the same on every machine and needs no recording. Streams are in memory before the
//! clock starts. Memory is the growth of a separate process's peak per access of the trace;
//! repeated content is in memory once.

use crate::Outcome;
use corehop_simulator::core_model::{CoreModel, InOrder, Interval};
use corehop_simulator::timing::{self as timed, Choice, Streams};
use corehop_simulator::{Machine, Split};
use corehop_traces::Trace;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Instant;

const CONNECTIONS: usize = 8;
const CORES: u32 = 4;
const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/traces/samples/mariadb-tpcc-4.trace"
);
const MACHINE: &str = "xeon-e5-2620-v4";

/// Extent of the simulation.
#[derive(Clone, Copy)]
pub struct Effort {
    pub repeats: usize,
    /// Requests to count; `None` for as many as the connections have.
    pub requests: Option<u64>,
}

/// Returns millions of accesses per second, over one run of each scheduler.
pub fn rate<M: CoreModel>(
    streams: &Streams,
    (machine, split): (&Machine, Option<&Split>),
    effort: Effort,
    core: impl Fn(&Machine) -> M,
) -> Outcome<f64> {
    let schedulers = ["free", "split"]
        .iter()
        .take(1 + usize::from(split.is_some()));
    let schedulers = schedulers.map(|name| name.parse());
    let schedulers: Vec<Choice> = schedulers.collect::<Result<_, _>>()?;
    let requests = effort.requests;
    let requests = requests.unwrap_or_else(|| streams.requests(CONNECTIONS));
    let setting = |&scheduler| timed::Setting {
        cores: CORES,
        repeat_connections: true,
        split,
        scheduler,
        warm_up: 0,
        ..timed::Setting::closed_loop(machine, CONNECTIONS, requests)
    };
    let mut rates = Vec::new();
    for _ in 0..effort.repeats {
        let begun = Instant::now();
        let mut accesses = 0;
        for scheduler in &schedulers {
            let outcome = timed::simulate(streams, &setting(scheduler), &core)?;
            accesses += outcome.counters().accesses();
        }
        rates.push(accesses as f64 / begun.elapsed().as_secs_f64() / 1e6);
    }
    Ok(crate::median(rates))
}

/// Returns the figures of the sample.
pub fn of_sample(effort: Effort) -> Outcome<Map<String, Value>> {
    let (streams, machine) = sample()?;
    let of = (&machine, None);
    let rates = [
        (
            "connections_maccess_per_s",
            rate(&streams, of, effort, InOrder::new)?,
        ),
        (
            "connections_interval_maccess_per_s",
            rate(&streams, of, effort, Interval::new)?,
        ),
    ];
    Ok(rates
        .map(|(key, rate)| (key.to_owned(), json!(rate)))
        .into_iter()
        .collect())
}

/// Replays the sample once. Returns the number of accesses in the trace.
pub fn replay_sample() -> Outcome<u64> {
    let (streams, machine) = sample()?;
    let once = Effort {
        repeats: 1,
        requests: None,
    };
    rate(&streams, (&machine, None), once, InOrder::new)?;
    Ok(streams.references(streams.connections()))
}

fn sample() -> Outcome<(Streams, Machine)> {
    let trace = Trace::open(Path::new(SAMPLE))?;
    Ok((Streams::new(&trace, &[])?, Machine::named_or_path(MACHINE)?))
}
