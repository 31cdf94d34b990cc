//! What becomes of a recording that is over: the trace gets its name, or it is said why there is
//! none. Whatever ended it, what came before is worth keeping: it took the user's time. Only a
//! trace without any request is not kept: no later stage can begin with it.

use super::{Arguments, MIB, Over, RAISE_FILE_LIMIT, Transcript, progress};
use crate::console;
use crate::failure::{Exit, Failure};
use crate::traced;
use corehop_measurer::server::printed::{last_lines, read};
use corehop_ring::Memory;
use corehop_traces::{EndReason, Summary, partial_path};
use std::fmt::Write;
use std::io::ErrorKind;
use std::process::ExitStatus;

/// Gives the trace its name, or says why there is none.
pub fn finish_trace(
    arguments: &Arguments,
    memory: &Memory,
    mut transcript: Transcript,
    over: &Over,
) -> Result<(), Failure> {
    let output = &arguments.output;
    let failed = |error: &corehop_traces::Error| {
        let partial = partial_path(output);
        let kept = format!("what was recorded until then is in {}", partial.display());
        match error {
            corehop_traces::Error::Write { source, .. } => {
                let remedy = match source.kind() {
                    ErrorKind::FileTooLarge => RAISE_FILE_LIMIT,
                    _ => "make room or name another place with -o",
                };
                Failure::new(Exit::Output, error).remedy(format!("{remedy}; {kept}"))
            }
            _ => Failure::new(Exit::Output, error).remedy(format!("please report this; {kept}")),
        }
    };
    let reason = match over {
        Over::Failed(error) => return Err(failed(error)),
        Over::Requests => EndReason::RequestsReached,
        Over::Server(_) => EndReason::ServerExited,
        Over::Interrupted => EndReason::Interrupted,
        Over::Memory(bytes) => EndReason::Failed(too_much(*bytes, arguments)),
    };
    let progress = transcript.progress();
    if progress.requests == 0 {
        drop(transcript);
        traced::abandon(output);
        return Err(nothing_recorded(arguments, memory, over));
    }
    let ended = transcript.end();
    let summary = ended.and_then(|()| transcript.into_writer().finish(reason));
    let summary = summary.map_err(|error| failed(&error))?;
    say(arguments, &summary, over);
    match over {
        Over::Requests => Ok(()),
        Over::Server(status) if status.success() => Ok(()),
        Over::Server(status) => {
            let message = format!("the server failed: {status}");
            let remedy = "its own messages say why; the trace holds what came before";
            Err(Failure::new(Exit::Server, message)
                .below(logged(arguments))
                .remedy(remedy))
        }
        Over::Memory(bytes) => Err(memory_failure(*bytes, arguments)),
        _ => Err(Failure::new(
            Exit::Interrupted,
            "interrupted; the trace holds what came before",
        )
        .explained()),
    }
}

fn say(arguments: &Arguments, summary: &Summary, over: &Over) {
    let mut why = match over {
        Over::Requests => "as asked",
        Over::Server(_) => "until the server ended",
        Over::Interrupted => "until interrupted",
        Over::Memory(_) => "until the memory limit",
        Over::Failed(_) => "until it failed",
    }
    .to_owned();
    if let Some(of) = arguments.of {
        let _ = write!(why, " of {of}, chosen with seed {}", arguments.seed);
    }
    console::say(&format!(
        "{}: {} requests {why}, {} accesses, {}",
        arguments.output.display(),
        summary.requests,
        progress::millions(summary.accesses),
        indicatif::HumanBytes(summary.size_bytes),
    ));
}

fn nothing_recorded(arguments: &Arguments, memory: &Memory, over: &Over) -> Failure {
    let ended = |status: &ExitStatus| format!("the server ended ({status})");
    let failure = match over {
        Over::Server(_) if !memory.is_loaded() => {
            let failure = Failure::new(Exit::Missing, "QEMU did not load the plugin");
            return failure.below(logged(arguments)).remedy(
                "QEMU's own message says why; the plugin built with this command is needed, and \
                 for the plugin API of that QEMU (COREHOP_QEMU, COREHOP_QEMU_PLUGIN)",
            );
        }
        Over::Memory(bytes) => return memory_failure(*bytes, arguments),
        Over::Server(status) => Failure::new(
            Exit::Server,
            format!("{} before any request", ended(status)),
        )
        .below(logged(arguments)),
        _ => Failure::new(Exit::Interrupted, "interrupted before any request"),
    };
    failure.remedy(format!(
        "nothing was written; check that the server starts, stays in the foreground and was sent \
         requests, and that they enter --request-at {:?}",
        arguments.request_at
    ))
}

/// The server's last messages, where they have not been seen.
fn logged(arguments: &Arguments) -> Vec<String> {
    let log = arguments.log.as_deref();
    log.map_or(Vec::new(), |log| last_lines(&read(log)))
}

fn too_much(bytes: u64, arguments: &Arguments) -> String {
    format!(
        "server and recorder took {} MiB of memory, more than --memory-limit {}",
        bytes / MIB,
        arguments.memory_limit
    )
}

fn memory_failure(bytes: u64, arguments: &Arguments) -> Failure {
    Failure::new(Exit::Server, too_much(bytes, arguments)).remedy(
        "raise the limit, or let the server reserve less: QEMU keeps flags for every page that is \
         reserved (mariadbd: --innodb-buffer-pool-size=64M --innodb-buffer-pool-size-max=64M)",
    )
}
