//! What a recording tells whoever watches it.
//!
//! The observer is called from the recorder's threads while the server waits for them, so it must
//! return soon.

use crate::control::NoSocket;
use crate::error::Error;
use crate::reading::Reading;
use crate::session::waiting::Waiting;
use crate::tools::Qemu;
use corehop_traces::{EndReason, MAX_OBJECTS, Summary};
use corehop_wire::ring::RequestMarker;
use std::sync::Arc;

/// Hears of each event.
pub type Observer = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// Something that happened, in the order of a recording.
#[derive(Debug)]
pub enum Event<'a> {
    /// This QEMU will run the server.
    QemuFound(&'a Qemu),
    /// The functions of the server are being read, which may take seconds.
    ReadingFunctions,
    /// They have been read, or could not be.
    FunctionsRead,
    /// The machine that is to be recorded is being made, which takes longer for a new kernel.
    MakingGuest,
    /// Requests begin here.
    MarkerFound(&'a RequestMarker),
    /// The server was started, and the recorder reads what it does.
    Recording,
    /// How far the recording has come, several times a second.
    Progress(&'a Reading),
    /// No request has begun for a while: what was seen instead, and what to try.
    Waiting(&'a Waiting),
    /// The recording is over, and the trace is being finished.
    Over,
    /// The trace has its name.
    Written {
        /// What is in it.
        summary: &'a Summary,
        /// What ended the recording.
        reason: &'a EndReason,
    },
    /// Something that the user should know, though the recording goes on.
    Warning(Warning<'a>),
}

/// Something went wrong that does not end a recording.
#[derive(Debug, thiserror::Error)]
pub enum Warning<'a> {
    /// The control socket could not be made.
    #[error(transparent)]
    NoControlSocket(NoSocket),
    /// The functions of a module are not known.
    #[error("{0}; its functions will be missing in the trace")]
    NoFunctions(corehop_symbolizer::Error),
    /// More shared objects than a trace can number.
    #[error(
        "recording: the server maps more than {MAX_OBJECTS} files; pages of the rest count as \
         private to each process"
    )]
    TooManyObjects,
    /// The plugin met something that it cannot record.
    #[error("recording: {0}")]
    Plugin(String),
    /// The trace cannot be written, and the server is left to run.
    #[error("recording has stopped, and the server continues: {0}")]
    ServerGoesOn(&'a Error),
}
