//! The timed replay: the connections of a trace on cores with clocks.
//!
//! A replay without clocks takes what threads did in the order in which it was recorded, and tells
//! misses. This one puts the order anew: each connection's requests run as soon as its thread has a
//! core, every reference costs what the core model says, every hop what the machine says, and a
//! [scheduler](SCHEDULERS) decides where threads run. So it tells throughput, latency and queues,
//! and what connections that take turns on a core evict of each other. The rules are in
//! `docs/reference/timed.md`; the tests hold it against a second implementation of them.
//!
//! Who has another scheduler implements [`Scheduler`] and describes it by an [`Entry`].
//!
//! [`Streams`] is what the connections of a trace do, made once; [`simulate`] runs it in one
//! [`Setting`], [`simulate_all`] in several at once.

#![forbid(unsafe_code)]

mod engine;
mod error;
mod load;
mod outcome;
mod prefetchers;
mod schedulers;
mod setting;
mod simulate;
mod streams;

pub use error::Error;
pub use load::Load;
pub use outcome::{CoreOutcome, Outcome, PrefetchCounters};
pub use prefetchers::registry::{PREFETCHERS, PrefetcherName};
pub use schedulers::choice::{Choice, NotAScheduler};
pub use schedulers::entry::{Argument, Entry, Setup, Standing};
pub use schedulers::queues::{Queues, Waiting};
pub use schedulers::registry::SCHEDULERS;
pub use schedulers::scheduler::{Move, Scheduler, Thread};
pub use setting::{MOST_CONNECTIONS, QUANTUM_CYCLES, Setting};
pub use simulate::{simulate, simulate_all};
pub use streams::annotate::{Annotate, Unknown};
pub use streams::connections::Streams;
