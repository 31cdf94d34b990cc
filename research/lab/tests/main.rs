//! All tests of the crate, as one program, which is built sooner than one for each file.

mod characterize_prints_tables_and_json;
#[path = "../../../tests/conforming/mod.rs"]
mod conforming;
#[path = "../../../traces/tests/definitions/mod.rs"]
mod definitions;
mod fleet_starts_its_program;
mod lines_are_classified_as_by_sets;
mod made_up;
mod samples_of_a_profiler;
mod samples_of_a_trace;
#[path = "../../../tests/server/mod.rs"]
mod server;
mod servers_of_known_classes;

use std::path::{Path, PathBuf};

/// The program that this crate builds.
const LAB: &str = env!("CARGO_BIN_EXE_corehop-lab");

/// A program that was built; the others lie next to it.
const BUILT: &str = LAB;

/// The product's, which is built with it.
fn product() -> PathBuf {
    Path::new(LAB).with_file_name("corehop")
}
