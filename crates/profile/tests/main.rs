//! All tests of the crate, as one program, which is built sooner than one for each file.

mod generated;
mod naive;
#[path = "../../../simulator/tests/random/mod.rs"]
mod random;
mod source_lines_have_cachegrinds_counts;
mod valgrind;
mod views_equal_a_naive_attribution;
