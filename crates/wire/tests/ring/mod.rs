//! Tests of the ring: what is written into the memory is read from it, whatever bytes it contains.

mod any_bytes_will_do;
mod messages;
mod requests_are_chosen_by_number;
mod what_is_written_is_read;
