//! All tests of the crate, as one program, which is built sooner than one for each file.

mod lines_are_classified_as_by_sets;
mod made_up;
mod samples_of_a_profiler;
mod samples_of_a_trace;
mod servers_of_known_classes;
