//! `corehop record` on real servers, under real QEMU, read back with the trace's own reader.
//!
//! These tests need `qemu-x86_64`, `redis-server`, a C compiler and the symbolizer, and fail
//! without them: a recorder that was never run on a server is not tested.

mod address_spaces;
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
mod imports;
mod in_the_way;
mod known_accesses;
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
mod system_calls;
mod translation;
mod uncarried;
#[path = "../../patcher/tests/workshop/written.rs"]
mod written;

/// A program that was built; the others lie next to it.
const BUILT: &str = env!("CARGO_BIN_EXE_corehop");
