//! The core models that a timed replay can have, by their names on the command line.

use clap::ValueEnum;
use corehop_simulator::Split;
use corehop_simulator::core_model::{AddressSources, InOrder, Interval, Window};
use corehop_simulator::timing::{Error, Needs, Outcome, Setting, Streams, Unknown, simulate_all};
use corehop_traces::{Tell, Trace};

/// What accesses and instructions cost.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModelName {
    /// Each access takes the latency of the level that serves it, one after the other; instructions
    /// take no time
    InOrder,
    /// Instructions run at a base rate; a miss stalls the core for its latency, and independent
    /// loads within the reorder window overlap
    Interval,
    /// Instructions run at a base rate until the reorder window is full; a load, even an L1 hit,
    /// costs the latency that later instructions do not hide
    Window,
}

impl ModelName {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ModelName::InOrder => "in-order",
            ModelName::Interval => "interval",
            ModelName::Window => "window",
        }
    }

    /// Returns the streams of a trace's connections, with the annotations that this model and these
    /// predictors need.
    pub fn streams(
        self,
        trace: &Trace,
        splits: &[&Split],
        needs: Needs,
        tell: Tell<'_>,
    ) -> Result<Streams, Error> {
        let of = (trace, trace.executions().telling(tell));
        match self {
            ModelName::InOrder => Streams::annotated(of, splits, &mut Unknown, needs),
            ModelName::Interval | ModelName::Window => {
                let sources = &mut AddressSources::new(trace);
                Streams::annotated(of, splits, sources, needs)
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
