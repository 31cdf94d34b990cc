//! The end of a recording: renames the trace, or reports why there is none. Whatever ended the
//! recording, the data before is kept: recording it took the user's time. Only a trace without any
//! request is removed: no later stage can use it.

use crate::error::Error;
use crate::events::{Event, Observer};
use crate::options::Options;
use crate::session::Over;
use crate::trace_file;
use crate::transcript::Transcript;
use corehop_traces::{EndReason, partial_path};
use corehop_wire::ring::Memory;

/// Renames the finished trace, or reports why there is none.
pub fn finish_trace(
    options: &Options,
    qemu_version: &str,
    memory: &Memory,
    mut transcript: Transcript,
    over: &Over,
    observer: &Observer,
) -> Result<(), Error> {
    if transcript.progress().requests == 0 {
        drop(transcript);
        trace_file::abandon(&options.output);
        return Err(nothing_recorded(options, qemu_version, memory, over));
    }
    let reason = match over {
        Over::Requests => EndReason::RequestsReached,
        Over::Server(_) => EndReason::ServerExited,
        Over::Interrupted => EndReason::Interrupted,
        Over::Load(status) => EndReason::Failed(Error::LoadFailed { status: *status }.to_string()),
        Over::Machine => EndReason::Failed(Error::GuestFailed.to_string()),
        Over::Memory(bytes) => EndReason::Failed(memory_limit(*bytes, options).to_string()),
    };
    let ended = transcript.end();
    let written = ended.and_then(|()| transcript.into_writer().finish(reason.clone()));
    let summary = written.map_err(|source| unwritten(source, options))?;
    observer(Event::Written {
        summary: &summary,
        reason: &reason,
    });
    match over {
        Over::Requests => Ok(()),
        Over::Server(status) if status.success() => Ok(()),
        Over::Server(status) => Err(Error::ServerFailed {
            status: *status,
            qemu: qemu_version.into(),
        }),
        Over::Load(status) => Err(Error::LoadFailed { status: *status }),
        Over::Machine => Err(Error::GuestFailed),
        Over::Memory(bytes) => Err(memory_limit(*bytes, options)),
        Over::Interrupted => Err(Error::Interrupted),
    }
}

/// Returns the error for a failed write of the trace.
pub fn unwritten(source: corehop_traces::Error, options: &Options) -> Error {
    Error::Write {
        source,
        partial: partial_path(&options.output),
    }
}

fn nothing_recorded(options: &Options, qemu_version: &str, memory: &Memory, over: &Over) -> Error {
    let request_at = options.request_at.clone();
    match over {
        Over::Server(_) | Over::Machine if !memory.is_loaded() => Error::PluginNotLoaded,
        Over::Load(status) if !status.success() => Error::LoadFailed { status: *status },
        Over::Machine => Error::GuestFailed,
        Over::Memory(bytes) => memory_limit(*bytes, options),
        Over::Server(status) | Over::Load(status) => Error::ServerEndedEarly {
            status: *status,
            request_at,
            qemu: qemu_version.into(),
        },
        Over::Requests | Over::Interrupted => Error::InterruptedEarly { request_at },
    }
}

fn memory_limit(bytes: u64, options: &Options) -> Error {
    Error::MemoryLimit {
        bytes,
        limit: options.memory_limit,
    }
}
