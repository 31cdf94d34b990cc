//! `corehop report`: the page in a real browser, and what leaves as files.

mod browser;
mod files;
mod page;
mod recorded;
mod sources;
