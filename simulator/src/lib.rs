//! Multi-core cache simulator: three inclusive levels, LRU everywhere, write-invalidate coherence.
//!
//! Given a trace, a machine and a split of the traced program over cores, it says what every cache
//! of the machine would miss, and why. The model, which the tests hold against a second and naive
//! implementation of these same words:
//!
//! - Each core has an L1I for fetches, an L1D for loads and stores, and an L2 that includes both.
//!   All cores share one L3, which includes every core. A level picks a set by the line number
//!   modulo its number of sets, and replaces the least recently used line of the set.
//! - An access that spans two lines touches both and counts twice.
//! - An L1 hit changes the order of that L1 only. An L1 miss looks the line up in the L2, then in
//!   the L3, then takes it from memory; a hit makes the line that level's most recently used, and
//!   every level above is filled on the way back, the L3 first.
//! - A line that leaves an L2 leaves that core's L1I and L1D. A line that leaves the L3 leaves
//!   every core. A line that leaves an L1 leaves nothing else.
//! - A store, whatever serves it, removes the line from the L1I, L1D and L2 of all other cores. The
//!   storing core keeps it, in its L1I too.
//! - An L2 miss is *cold* when the core never held the line; otherwise what last removed the line
//!   from that L2 is the cause: *coherence* for another core's store, *inclusion* for the L3,
//!   *capacity* (or conflict) for the core itself.
//! - Cycles are the sum over all accesses of the latency of the level that served it, plus the
//!   number of hops times the cost of one. Nothing overlaps: the figure ranks, it does not predict.
//!
//! [`Machine`] says how large and slow each level is. [`replay()`] runs a whole trace through a
//! [`Hierarchy`]; [`Replayer`] does it an execution at a time; [`PrivateCaches`] is one core alone.
//!
//! # Example
//!
//! Two functions whose data falls into the same two-line L2 miss on every call while they share a
//! core; on a core each, they miss once.
//!
//! ```
//! use corehop_simulator::{Machine, Replayer, Split};
//! use corehop_traces::{Access, Execution, Kind};
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
//! let touched = [[load(0), load(1)], [load(2), load(3)]];
//! let misses = |split: Split| {
//!     let mut replayer = Replayer::new(&machine, &split)?;
//!     for call in 0..10 {
//!         let function = call % 2;
//!         replayer.execute(&Execution {
//!             thread: 0,
//!             request: None,
//!             code_block: function,
//!             entry: Some(function),
//!             accesses: &touched[function as usize],
//!         });
//!     }
//!     let replay = replayer.finish();
//!     Ok::<_, corehop_simulator::Error>((replay.counters.l2.misses(), replay.hops))
//! };
//!
//! assert_eq!(misses(Split::default())?, (20, 0));
//! assert_eq!(misses(Split::new([(0, 0), (1, 1)]))?, (4, 9));
//! # Ok::<(), corehop_simulator::Error>(())
//! ```

mod cache;
mod counters;
pub mod detail;
mod error;
mod geometry;
pub mod host;
mod lines;
pub mod machine;
mod policy;
mod replay;
mod sharded;
mod split;
mod tally;
mod watch;
mod world;

pub use counters::{Counters, KindCounters, LevelCounters, MissCauses};
pub use error::Error;
pub use geometry::Geometry;
pub use machine::{Inclusion, Level, Machine, Policy};
pub use replay::{Replay, ReplayOptions, Replayer};
pub use sharded::prepared::Prepared;
pub use sharded::replay::{Setting, replay, replay_all};
pub use split::Split;
pub use tally::Tally;
pub use watch::{CacheLevel, Cause, Watch};
pub use world::World;
