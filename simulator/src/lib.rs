//! Multi-core cache simulator: private or shared L1s and L2s, perhaps an L3, write-invalidate
//! coherence, and a cause for every miss.
//!
//! Given a trace, a machine and a split of the traced program over cores, it says what every cache
//! of the machine would miss, and why, by the rules of `docs/reference/model.md`. The tests hold it
//! against a second and naive implementation of the same words.
//!
//! Each folder uses only folders that come before it, and all use `ids.rs`: [`machine`] says what a
//! machine is; `report`, what a replay tells; `hierarchy` holds the caches; `threads` says where
//! threads run; `translation` has TLBs and page tables; `sequential` replays a trace access by
//! access, and [`detail`] stands on it; `filters` leaves out what need not be simulated, `parallel`
//! replays the rest on all host threads, and `bounds` computes what one core misses alone, and what
//! it misses at least.
//! [`core_model`] turns what served each reference into cycles, [`timing`] replays connections on
//! cores with such clocks, and [`queueing`] predicts throughput by formulas.
//!
//! [`Machine`] says how large and slow each level is. [`replay()`] runs a whole trace through its
//! caches, [`Replayer`] an execution at a time, which an [`Observer`] can follow. Both stand on
//! [`Hierarchy`], the caches themselves.
//!
//! # Example
//!
//! Two functions whose data falls into the same two-line L2 miss on every call while they share a
//! core; on a core each, they miss once.
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
//! // Functions 0 and 1, entered in turn, each read two lines of their own.
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
pub mod queueing;
mod report;
mod sequential;
mod threads;
pub mod timing;
mod translation;

pub use bounds::lower_bound::{LANES, LowerBound};
pub use bounds::private_replay::{Occurrence, PrivateReplay};
pub use error::Error;
pub use hierarchy::Hierarchy;
pub use hierarchy::geometry::Geometry;
pub use hierarchy::lines::Lines;
pub use hierarchy::page_map::{PAGE_BYTES, PageMap};
pub use ids::{CoreId, LineId};
pub use machine::calibrated;
pub use machine::host;
pub use machine::{Core, Distance, ImpossibleMachine, Inclusion, Level, Machine, Policy, Topology};
pub use machine::{PageSize, Tlb, TlbUse, Translation, WalkCache, WalkStart};
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
