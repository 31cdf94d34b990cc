//! `corehop report`: the page in a real browser, and the output files.

mod browser;
mod files;
mod page;
mod recorded;
mod sources;
