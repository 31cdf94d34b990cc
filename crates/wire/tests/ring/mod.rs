//! What is written into the memory is read from it, whatever bytes it holds.

mod any_bytes_will_do;
mod messages;
mod requests_are_chosen_by_number;
mod what_is_written_is_read;
