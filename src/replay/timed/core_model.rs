//! The core models that a timed replay can have, by their names on the command line.

use clap::ValueEnum;
use corehop_simulator::Split;
use corehop_simulator::core_model::{AddressSources, InOrder, Interval, Window};
use corehop_simulator::timing::{
    Error, Outcome, PrefetcherName, Setting, Streams, Unknown, simulate_all,
};
use corehop_traces::{Tell, Trace};

/// What references and instructions cost.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModelName {
    /// Each reference the latency of what served it, one after the other; instructions nothing
    InOrder,
    /// Instructions a base rate, and misses their latencies, those of loads at once where they fit
    /// the reorder window and do not depend on each other
    Interval,
    /// Instructions a base rate until the reorder window is full of what a load holds up, hits in
    /// an L1 too
    Window,
}

impl ModelName {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ModelName::InOrder => "in-order",
            ModelName::Interval => "interval",
            ModelName::Window => "window",
        }
    }

    /// What the connections of a trace do, with what this model and this prefetcher ask of it.
    pub fn streams(
        self,
        trace: &Trace,
        splits: &[&Split],
        prefetcher: PrefetcherName,
        tell: Tell<'_>,
    ) -> Result<Streams, Error> {
        let of = (trace, trace.executions().telling(tell));
        match self {
            ModelName::InOrder => Streams::annotated(of, splits, &mut Unknown, prefetcher),
            ModelName::Interval | ModelName::Window => {
                let sources = &mut AddressSources::new(trace);
                Streams::annotated(of, splits, sources, prefetcher)
            }
        }
    }

    /// Simulates all settings.
    pub fn simulate(
        self,
        streams: &Streams,
        settings: &[Setting<'_>],
        tell: Tell<'_>,
    ) -> Result<Vec<Outcome>, Error> {
        match self {
            ModelName::InOrder => simulate_all(streams, settings, InOrder::new, tell),
            ModelName::Interval => simulate_all(streams, settings, Interval::new, tell),
            ModelName::Window => simulate_all(streams, settings, Window::new, tell),
        }
    }
}
