//! All tests of the crate, as one program, which is built sooner than one for each file.

mod decoded;
mod formats_hold_every_cost;
mod generated;
mod naive;
mod naive_layout;
mod naive_sharing;
#[path = "../../../simulator/tests/oracle/paging.rs"]
mod paging;
mod plain;
#[path = "../../../simulator/tests/random/mod.rs"]
mod random;
mod sharing_equals_a_naive_attribution;
mod source_lines_have_cachegrinds_counts;
mod threads_have_the_cores_that_a_trace_tells;
mod valgrind;
mod views_equal_a_naive_attribution;
mod walks_equal_a_naive_attribution;
mod what_ifs_equal_a_naive_layout;
