//! The timed replay: the connections of a trace on cores with clocks.
//!
//! A replay without clocks keeps the recorded order and counts misses. This one recomputes the
//! order: each connection's requests run as soon as its thread has a core. The core model computes
//! the cost of every reference, the machine file defines the cost of a hop, and a
//! [scheduler](SCHEDULERS) decides where threads run. It therefore yields throughput, latency and
//! queue lengths, and the evictions between connections that alternate on a core. The rules are in
//! `docs/reference/timed.md`; the tests compare it with a second implementation of them.
//!
//! To add a scheduler, implement [`Scheduler`] and describe it by an [`Entry`].
//!
//! [`Streams`] holds the references of a trace's connections and is created once. [`simulate`] runs
//! it in one [`Setting`], [`simulate_all`] in several at once.

#![forbid(unsafe_code)]

mod engine;
mod error;
mod load;
mod outcome;
mod schedulers;
mod setting;
mod simulate;
mod streams;

pub use crate::prefetchers::registry::{PREFETCHERS, PrefetcherName};
pub use error::Error;
pub use load::Load;
pub use outcome::{CoreOutcome, Outcome, PrefetchCounters};
pub use schedulers::choice::{Choice, NotAScheduler};
pub use schedulers::entry::{Argument, Entry, Setup, Standing};
pub use schedulers::queues::{Queues, Waiting};
pub use schedulers::registry::SCHEDULERS;
pub use schedulers::scheduler::{Move, Scheduler, Thread};
pub use setting::{MOST_CONNECTIONS, QUANTUM_CYCLES, Setting};
pub use simulate::{simulate, simulate_all};
pub use streams::annotate::{Annotate, Unknown};
pub use streams::connections::{Needs, Streams};
