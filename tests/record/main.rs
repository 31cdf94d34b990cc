//! Records real servers with `corehop record` under real QEMU, and reads the traces.
//!
//! These tests need `qemu-x86_64`, `redis-server`, a C compiler, and the symbolizer, and fail
//! without them, because a recorder must be tested on a server.

mod address_spaces;
mod annotate;
mod arguments;
mod choosing;
mod coming_and_going;
#[path = "../conforming/mod.rs"]
mod conforming;
mod connections;
mod control;
mod datagrams;
mod delegated;
mod dependences;
mod elision;
mod endings;
mod executed;
mod forks_and_libraries;
mod going_back;
mod handlers;
mod heap;
mod imports;
mod in_the_way;
mod known_accesses;
mod members;
mod needs_guest;
mod needs_postgres;
mod no_ops;
mod open_calls;
#[path = "../plugin/mod.rs"]
mod plugin;
mod profile;
mod qemu10;
mod recording;
mod redis;
mod refusals;
mod sharing;
mod system_calls;
mod translation;
mod uncarried;
mod what_if;
#[path = "../../patcher/tests/workshop/written.rs"]
mod written;

/// A built program; the others are in the same folder.
const BUILT: &str = env!("CARGO_BIN_EXE_corehop");
