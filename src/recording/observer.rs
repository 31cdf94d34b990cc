//! Prints the events of a recording on standard error.

use super::progress::Line;
use super::reading::millions;
use crate::terminal::console;
use crate::terminal::progress::Bar;
use corehop_partitioner::progress::Progress;
use corehop_recorder::{Event, Observer, Options};
use corehop_support::format::number::counted;
use corehop_traces::{EndReason, Summary};
use corehop_wire::ring::RequestMarker;
use indicatif::HumanBytes;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns an observer that prints them, for a recording with these options.
pub fn of(options: &Options) -> Observer {
    let speaker = Speaker {
        output: options.output.clone(),
        chosen: options.of.map(|of| (of, options.seed)),
        bar: Bar::new(),
        line: Mutex::default(),
    };
    Arc::new(move |event| speaker.say(event))
}

struct Speaker {
    output: PathBuf,
    /// The number of requests from which the recorded ones are sampled, and the seed.
    chosen: Option<(u64, u64)>,
    bar: Bar,
    /// The progress line during the recording.
    line: Mutex<Option<Line>>,
}

impl Speaker {
    fn say(&self, event: Event<'_>) {
        let line = || self.line.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::QemuFound(qemu) => {
                console::detail(&format!("QEMU {}, {}", qemu.version, qemu.path.display()))
            }
            Event::ReadingFunctions => self.bar.begin("reading the functions of the server", None),
            Event::FunctionsRead => self.bar.end(),
            Event::MakingGuest => console::detail("making the machine to record"),
            Event::MarkerFound(RequestMarker::At { path, file_offset }) => {
                console::detail(&format!("requests begin at {path}+{file_offset:#x}"));
            }
            Event::MarkerFound(_) => {}
            Event::Recording => *line() = Some(Line::start()),
            Event::Progress(reading) => {
                if let Some(line) = &mut *line() {
                    line.show(reading);
                }
            }
            Event::Waiting(waiting) => {
                if let Some(line) = &*line() {
                    line.above(&waiting.to_string());
                }
            }
            Event::Over => {
                if let Some(line) = line().take() {
                    line.clear();
                }
            }
            Event::Written { summary, reason } => {
                console::say(&written(&self.output, self.chosen, summary, reason));
            }
            Event::Warning(warning) => console::warn(&warning.to_string()),
        }
    }
}

fn written(
    output: &Path,
    chosen: Option<(u64, u64)>,
    summary: &Summary,
    reason: &EndReason,
) -> String {
    let mut why = match reason {
        EndReason::RequestsReached => "as asked",
        EndReason::ServerExited => "until the server ended",
        EndReason::Interrupted => "until interrupted",
        EndReason::Failed(_) => "until it failed",
    }
    .to_owned();
    if let Some((of, seed)) = chosen {
        let _ = write!(why, " of {of}, chosen with seed {seed}");
    }
    format!(
        "{}: {} {why}, {} accesses, {}",
        output.display(),
        counted(summary.requests, "request", "requests"),
        millions(summary.accesses),
        HumanBytes(summary.size_bytes),
    )
}
