//! Programs that walk along circular paths through lines, as traces, simulated with clocks.
//!
//! Both benchmarks of theses (`benches/accesstest`, `benches/messages`) are such programs: a
//! request is a few phases, a phase one function that goes once around a path. A step loads where
//! the next one is, so no step begins before the one before it is done; the trace says so of its
//! code, and the core model `window` goes by it. Nothing here depends on this machine: the same
//! arguments give the same counts everywhere.

#![allow(dead_code, unused_imports)] // each bench and test uses a part of this

mod path;
mod recorded;

pub use path::{LINE_BYTES, Step, once, zipf};
pub use recorded::{Phase, record};

use corehop_simulator::core_model::{AddressSources, Window};
use corehop_simulator::timing::{Error, Load, Outcome, PrefetcherName, Setting, Streams};
use corehop_simulator::{Machine, Split};
use corehop_traces::Trace;

/// Cores are never further apart than a few steps, so that lines change owner as they would.
pub const QUANTUM_CYCLES: u64 = 20;

/// What the connections of a trace do, with what steps wait for.
pub fn streams(trace: &Trace, split: &Split) -> Result<Streams, Error> {
    let sources = &mut AddressSources::new(trace);
    Streams::annotated(
        (trace, trace.executions()),
        &[split],
        sources,
        PrefetcherName::None,
    )
}

/// Connections that never think, on cores that bring nothing before it is asked for.
pub fn setting<'a>(
    machine: &'a Machine,
    split: &'a Split,
    (scheduler, cores): (&str, u32),
    connections: usize,
    (warm_up, requests): (u64, u64),
) -> Setting<'a> {
    Setting {
        machine,
        cores,
        connections,
        repeat_connections: true,
        split: Some(split),
        scheduler: scheduler.parse().expect("the name of a scheduler"),
        prefetcher: PrefetcherName::None,
        load: Load::Closed {
            think_cycles: 0,
            exponential: false,
        },
        seed: 1,
        quantum_cycles: QUANTUM_CYCLES,
        warm_up,
        requests,
    }
}

/// Simulates it with cores of the model `window`.
pub fn simulate(streams: &Streams, setting: &Setting<'_>) -> Result<Outcome, Error> {
    corehop_simulator::timing::simulate(streams, setting, Window::new)
}
