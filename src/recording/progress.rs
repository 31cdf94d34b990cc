//! The progress of a recording: one line on a terminal, otherwise one every ten seconds. Prints
//! once what the whole recording will cost.

use super::reading::{line, preview};
use crate::terminal::console;
use crate::terminal::heartbeat;
use corehop_recorder::Reading;
use indicatif::{ProgressBar, ProgressStyle};

/// Recording time after which the cost of the rest is estimated.
const PREVIEW_AFTER_SECONDS: f64 = 3.0;

/// The progress line.
pub struct Line {
    bar: ProgressBar,
    /// The state at the first request, for the estimate.
    first: Option<Reading>,
    previewed: bool,
}

impl Line {
    /// Shows the line if standard error is a terminal.
    pub fn start() -> Line {
        let bar = ProgressBar::with_draw_target(None, console::target());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        Line {
            bar,
            first: None,
            previewed: false,
        }
    }

    /// Shows the progress of the recording.
    pub fn show(&mut self, reading: &Reading) {
        let line = line(reading);
        heartbeat::say(line.clone());
        self.bar.set_message(line);
        self.bar.tick();
        if self.previewed || reading.requests_begun == 0 {
            return;
        }
        let first = self.first.get_or_insert_with(|| reading.clone());
        if reading.seconds - first.seconds >= PREVIEW_AFTER_SECONDS
            && let Some(preview) = preview(reading, first)
        {
            self.bar.suspend(|| console::say(&preview));
            self.previewed = true;
        }
    }

    /// Prints text above the line.
    pub fn above(&self, text: &str) {
        self.bar.suspend(|| console::say(text));
    }

    /// Removes the line.
    pub fn clear(&self) {
        heartbeat::end();
        self.bar.finish_and_clear();
    }
}
