//! All tests of the crate as one program, which builds faster than one per file.

mod a_copy_holds_the_same_executions;
mod a_function_begins_at_every_code_block;
mod a_trace_reads_back_as_it_was_written;
mod a_writer_refuses_what_no_trace_can_hold;
mod callers;
mod calls_end_where_their_functions_return;
mod chunks_play_the_references_of_a_trace;
mod convert;
mod damage_is_found_and_told;
mod definitions;
mod heap_events_read_back_and_are_copied;
mod located;
mod no_bytes_make_a_reader_panic;
mod random_streams_read_back_equal;
mod streams;
mod stripped_chunks_play_what_caches_can_tell;
mod system_calls_read_back_in_their_places;
mod the_generated_schema_is_current;
mod the_order_of_all_threads_is_proven;
