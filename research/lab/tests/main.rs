//! All tests of the crate as one program, which builds faster than one for each file.

mod a_modelled_kernel_keeps_its_rules;
mod characterize_prints_tables_and_json;
mod cohorts_are_simulated_and_installed;
mod cohorts_equal_naive_ones;
mod cohorts_run_in_turn;
#[path = "../../../simulator/tests/coloured/mod.rs"]
mod coloured;
mod coloured_pages;
#[path = "../../../tests/conforming/mod.rs"]
mod conforming;
#[path = "../../../traces/tests/definitions/mod.rs"]
mod definitions;
mod fleet_starts_its_program;
#[path = "../../../simulator/tests/homes/mod.rs"]
mod homes;
mod kernel_model_is_called_synthetic;
mod kth_calls_are_found_in_a_recording;
mod kth_calls_equal_brute_force;
mod lines_are_classified_as_by_sets;
#[path = "../../../traces/tests/located/mod.rs"]
mod located;
#[path = "../../../tests/machine_trace/mod.rs"]
mod machine_trace;
#[path = "../../../tests/made_once/mod.rs"]
mod made_once;
mod made_up;
mod modelled;
#[path = "../../../simulator/tests/naive/mod.rs"]
mod naive;
#[path = "../../../simulator/tests/numbered/mod.rs"]
mod numbered;
#[path = "../../../simulator/tests/oracle/mod.rs"]
mod oracle;
mod perf_prints_what_is_read;
#[path = "../../../tests/plugin/mod.rs"]
mod plugin;
mod pollute_buffers_equal_the_oracle;
mod pollute_prints_tables_and_json;
mod pollute_with_other_options;
#[path = "../../../simulator/tests/random/mod.rs"]
mod random;
#[path = "../../../simulator/tests/recording/mod.rs"]
mod recording;
#[allow(dead_code)] // The tests of recordings use more of it.
#[path = "../../../tests/record/recording.rs"]
mod recordings;
mod rocs_finds_what_pollutes;
mod samples_of_a_profiler;
mod samples_of_a_trace;
#[path = "../../../tests/schemas/mod.rs"]
mod schemas;
mod schemas_are_strict;
#[path = "../../../partitioner/tests/searching/mod.rs"]
mod searching;
#[path = "../../../tests/server/mod.rs"]
mod server;
mod servers_of_known_classes;
#[path = "../../../simulator/tests/steps/mod.rs"]
mod steps;
mod timing;
#[allow(dead_code, unused_imports)] // The patcher's tests use more of it.
#[path = "../../../patcher/tests/workshop/mod.rs"]
mod workshop;

use std::path::{Path, PathBuf};

/// The program that this crate builds.
const LAB: &str = env!("CARGO_BIN_EXE_corehop-lab");

/// A built program; the others are in the same folder.
const BUILT: &str = LAB;

/// Returns the product's program, which is built along with it.
fn product() -> PathBuf {
    Path::new(LAB).with_file_name("corehop")
}
