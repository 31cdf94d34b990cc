//! Events of a recording, for an observer.
//!
//! The observer is called on the recorder's threads while the server waits for them, so it must
//! return quickly.

use crate::control::NoSocket;
use crate::error::Error;
use crate::reading::Reading;
use crate::session::waiting::Waiting;
use crate::tools::Qemu;
use corehop_traces::{EndReason, MAX_OBJECTS, Summary};
use corehop_wire::ring::RequestMarker;
use std::sync::Arc;

/// Receives each event.
pub type Observer = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// An event, in the order of a recording.
#[derive(Debug)]
pub enum Event<'a> {
    /// The QEMU that will run the server was found.
    QemuFound(&'a Qemu),
    /// Reading the server's functions began; it may take seconds.
    ReadingFunctions,
    /// Reading the functions ended or failed.
    FunctionsRead,
    /// Creation of the guest began; it takes longer for a new kernel.
    MakingGuest,
    /// The request marker was resolved.
    MarkerFound(&'a RequestMarker),
    /// The server was started, and recording began.
    Recording,
    /// Progress of the recording, several times a second.
    Progress(&'a Reading),
    /// No request has begun for a while: observations so far, and advice.
    Waiting(&'a Waiting),
    /// Recording ended, and the trace is being completed.
    Over,
    /// The trace is complete under its final name.
    Written {
        /// Summary of the trace.
        summary: &'a Summary,
        /// Why the recording ended.
        reason: &'a EndReason,
    },
    /// A warning; the recording continues.
    Warning(Warning<'a>),
}

/// A problem that does not end a recording.
#[derive(Debug, thiserror::Error)]
pub enum Warning<'a> {
    /// The control socket could not be made.
    #[error(transparent)]
    NoControlSocket(NoSocket),
    /// The functions of a module could not be read.
    #[error("{0}; the trace lacks its functions")]
    NoFunctions(corehop_symbolizer::Error),
    /// The server maps more shared objects than a trace can number.
    #[error(
        "recording: the server maps more than {MAX_OBJECTS} files; pages of the rest count as \
         private to each process"
    )]
    TooManyObjects,
    /// The plugin encountered something that it cannot record.
    #[error("recording: {0}")]
    Plugin(String),
    /// The trace cannot be written; the server continues.
    #[error("recording has stopped, and the server continues: {0}")]
    ServerGoesOn(&'a Error),
}
