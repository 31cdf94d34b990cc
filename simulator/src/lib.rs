//! Multi-core cache simulator: private or shared L1s and L2s, an optional L3, write-invalidate
//! coherence, and a cause for every miss.
//!
//! Its input is a trace, a machine and a split of the traced program over cores. It computes the
//! misses of every cache and their causes, by the rules of `docs/reference/model.md`. The tests
//! compare it with a second, naive implementation of the same rules.
//!
//! Each folder uses only the folders listed before it, and all use `ids.rs`. [`machine`] describes
//! machines; `report` holds the results of a replay; `hierarchy` holds the caches; `threads`
//! computes where threads run; `translation` has TLBs and page tables; `prefetchers` predict lines,
//! and `branches` where threads continue.
//! `sequential` replays a trace access by access, and [`detail`] is built on it. `filters` removes
//! what need not be simulated, and `parallel` replays the rest on all host threads. `bounds`
//! computes the misses of one core alone and a lower bound on them. [`core_model`] computes cycles
//! from the level that served each reference, [`timing`] replays connections on cores with such
//! clocks, and [`queueing`] predicts throughput by formulas.
//!
//! [`Machine`] holds the size and latency of each level. [`replay()`] runs a whole trace through
//! its caches; [`Replayer`] runs one execution at a time, and an [`Observer`] can follow it. Both
//! are built on [`Hierarchy`], the caches.
//!
//! # Example
//!
//! Two functions whose data maps to the same two-line L2 miss on every call while they share a
//! core. On separate cores, each line misses only once.
//!
//! ```
//! use corehop_simulator::{CoreId, Machine, Replayer, Split};
//! use corehop_traces::{Access, Execution, FunctionId, Kind, ThreadId};
//!
//! let machine = Machine::from_toml(
//!     r#"
//!     name = "tiny"
//!     cores = 2
//!     line_size_bytes = 64
//!     memory_latency_cycles = 200
//!     hop_cost_cycles = 100
//!     l1i = { size_bytes = 64, ways = 1, latency_cycles = 4 }
//!     l1d = { size_bytes = 64, ways = 1, latency_cycles = 4 }
//!     l2 = { size_bytes = 128, ways = 2, latency_cycles = 12 }
//!     l3 = { size_bytes = 1024, ways = 4, latency_cycles = 40 }
//!     "#,
//!     "tiny.toml".as_ref(),
//! )?;
//!
//! // Functions 0 and 1, entered alternately, each read two lines that only they use.
//! let load = |line: u64| Access { address: line * 64, pc: 0, size_bytes: 8, kind: Kind::Load };
//! let referenced = [[load(0), load(1)], [load(2), load(3)]];
//! let misses = |split: Split| {
//!     let mut replayer = Replayer::new(&machine, &split)?;
//!     for call in 0..10 {
//!         let function = FunctionId(call % 2);
//!         replayer.execute(&Execution {
//!             thread: ThreadId(0),
//!             stamp: 0,
//!             request: None,
//!             number: call.into(),
//!             code_block: function.0,
//!             template: 0,
//!             entry: Some(function),
//!             accesses: &referenced[function.index()],
//!         });
//!     }
//!     let replay = replayer.finish();
//!     Ok::<_, corehop_simulator::Error>((replay.counters.l2.misses(), replay.hops))
//! };
//!
//! assert_eq!(misses(Split::default())?, (20, 0));
//! let own_cores = [(FunctionId(0), CoreId(0)), (FunctionId(1), CoreId(1))];
//! assert_eq!(misses(Split::new(own_cores))?, (4, 9));
//! # Ok::<(), corehop_simulator::Error>(())
//! ```

#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as corehop_simulator;

mod bounds;
pub mod branches;
pub mod core_model;
pub mod detail;
mod error;
mod filters;
mod hierarchy;
mod ids;
pub mod machine;
mod objects;
mod options;
mod parallel;
mod prefetchers;
pub mod queueing;
mod report;
mod sequential;
mod threads;
pub mod timing;
mod translation;

pub use bounds::lower_bound::{LANES, LowerBound};
pub use bounds::private_replay::{Occurrence, PrivateReplay};
pub use error::Error;
pub use hierarchy::geometry::Geometry;
pub use hierarchy::lines::Lines;
pub use hierarchy::page_map::{PAGE_BYTES, PageMap};
pub use hierarchy::{Hierarchy, Insertion};
pub use ids::{CoreId, LineId};
pub use machine::calibrated;
pub use machine::host;
pub use machine::{Core, Distance, IdleHop, ImpossibleMachine, Inclusion, Level, Machine, Policy};
pub use machine::{PageSize, Tlb, TlbUse, Topology, Translation, WalkCache, WalkStart};
pub use objects::{ByArgument, ObjectTable, Objects, calls_of};
pub use options::ReplayOptions;
pub use parallel::prepared::Prepared;
pub use parallel::replay::{Setting, replay, replay_all, replay_watched};
pub use parallel::watch::Watch;
pub use report::counters::{Counters, KindCounters, LevelCounters, MissCauses};
pub use report::observer::{CacheLevel, Cause, Observer, Translated};
pub use report::replay::Replay;
pub use report::tally::Tally;
pub use report::tlb_counters::{TlbCounters, TlbUseCounters};
pub use sequential::Replayer;
pub use threads::placed_thread::{CameBy, PlacedThread};
pub use threads::split::Split;
pub use translation::PageSizes;
