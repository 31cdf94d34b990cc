//! All tests of the commands in one program, which builds faster than one program per file.
//!
//! The tests of `corehop record` are another program, which is built in parallel.

mod background;
mod by_argument;
mod calibrate;
mod candidates;
mod circles;
mod configuration;
mod conforming;
mod copied;
#[path = "../traces/tests/definitions/mod.rs"]
mod definitions;
mod diff;
mod doctor;
mod entered_once;
mod explain;
mod export;
mod figures;
mod functions;
mod hostile_folder;
mod import;
mod inert;
mod info_and_check;
mod info_kernel_visits;
mod info_system_calls;
mod interactive;
mod interrupting;
mod journey;
mod kinds_of_plan;
mod machine_trace;
mod made_once;
mod manual;
mod measure;
mod measure_posted;
mod memcached;
mod modes;
mod optimize;
mod optimize_posted;
mod optimize_race;
mod other_machines;
mod outputs;
mod packaging;
mod partition;
mod patch;
mod physical_addresses;
mod plugin;
mod processes;
mod profile;
mod progress;
mod replay;
mod replay_posted;
mod report;
mod run;
mod sample;
mod schema;
mod schemas;
mod screen;
mod second_oracle;
mod server;
mod taken;
mod timed_replay;
#[allow(clippy::all, clippy::too_many_lines, clippy::undocumented_unsafe_blocks)]
#[allow(unused, unreachable_pub, missing_docs)]
#[rustfmt::skip]
#[path = "../traces/src/format/trace_capnp.rs"]
mod trace_capnp;
mod transparent;
mod truth;
mod tutorial;
mod what_if;

/// A built program; the others are in the same folder.
const BUILT: &str = env!("CARGO_BIN_EXE_corehop");
