//! How outputs get their names and modes.

mod no_umask_opens_an_output_to_others;
mod what_is_there_says_how_an_output_goes;
