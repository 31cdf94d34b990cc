//! What a trace says: which program ran, on which threads, and what each execution referenced.
//!
//! Nothing here knows how any of it is stored. Every other folder uses these types, and this one
//! uses no other folder.

pub(crate) mod address_space;
pub(crate) mod cpu;
pub(crate) mod dependence;
pub(crate) mod error;
pub mod execution;
pub mod function_name;
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
