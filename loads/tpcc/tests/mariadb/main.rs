//! `corehop-tpcc` on real MariaDB servers, each in its own temporary folder.

mod a_seed_names_the_whole_run;
mod connections_are_pinned;
mod server;
mod the_tables_stay_consistent;
mod what_cannot_work_says_why;
