//! Programs that walk along circular paths through lines, as traces, simulated with time.
//!
//! Both benchmarks of theses (`benches/accesstest`, `benches/messages`) are such programs. A
//! request is a few phases; a phase is one function that walks once around a path. A step loads the
//! position of the next one, so steps are dependent. The trace records these dependences, and the
//! core model `window` follows them. Nothing here depends on this machine: the same arguments give
//! the same counts everywhere.

#![allow(dead_code, unused_imports)] // each bench and test uses a part of this

mod path;
mod recorded;

pub use path::{LINE_BYTES, Step, once, zipf};
pub use recorded::{Phase, record};

use corehop_simulator::core_model::{AddressSources, Window};
use corehop_simulator::timing::{Error, Needs, Outcome, Setting, Streams};
use corehop_simulator::{Machine, Split};
use corehop_traces::Trace;

/// Cores are at most a few steps apart, so that lines change owner realistically.
pub const QUANTUM_CYCLES: u64 = 20;

/// Returns the connections' streams of a trace, with the dependences of steps.
pub fn streams(trace: &Trace, split: &Split) -> Result<Streams, Error> {
    let sources = &mut AddressSources::new(trace);
    Streams::annotated(
        (trace, trace.executions()),
        &[split],
        sources,
        Needs::default(),
    )
}

/// Returns a setting with connections that never think, on cores without prefetching.
pub fn setting<'a>(
    machine: &'a Machine,
    split: &'a Split,
    (scheduler, cores): (&str, u32),
    connections: usize,
    (warm_up, requests): (u64, u64),
) -> Setting<'a> {
    Setting {
        cores,
        repeat_connections: true,
        split: Some(split),
        scheduler: scheduler.parse().expect("the name of a scheduler"),
        quantum_cycles: QUANTUM_CYCLES,
        warm_up,
        ..Setting::closed_loop(machine, connections, requests)
    }
}

/// Simulates with cores of the model `window`.
pub fn simulate(streams: &Streams, setting: &Setting<'_>) -> Result<Outcome, Error> {
    corehop_simulator::timing::simulate(streams, setting, Window::new)
}
