//! All tests of the crate, as one program, which is built sooner than one for each file.

mod any_bytes_will_do;
mod messages;
mod requests_are_chosen_by_number;
mod what_is_written_is_read;
