//! All tests of the crate, as one program, which is built sooner than one for each file.

mod random_traces_come_back;
mod records_of_dynamorio_are_read;
#[path = "../../traces/tests/streams/mod.rs"]
mod streams;
mod text_of_lackey_is_read;
