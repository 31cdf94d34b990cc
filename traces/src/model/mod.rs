//! The data model of a trace: the program, its threads, and the accesses of each execution.
//!
//! Nothing here depends on how a trace is stored. All other folders use these types; this folder
//! uses no other folder.

pub(crate) mod address_space;
pub(crate) mod cpu;
pub(crate) mod dependence;
pub(crate) mod error;
pub mod execution;
pub mod function_name;
pub(crate) mod heap_event;
pub(crate) mod ids;
pub(crate) mod lasting_call;
pub(crate) mod limits;
pub(crate) mod locator;
pub(crate) mod malformed;
pub(crate) mod page;
pub(crate) mod pointer;
pub mod program;
pub(crate) mod recording;
pub(crate) mod reference;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod system_call;
pub(crate) mod thread;
