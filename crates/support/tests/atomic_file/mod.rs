//! Tests of the names and modes of outputs.

mod no_umask_opens_an_output_to_others;
mod what_is_there_says_how_an_output_goes;
