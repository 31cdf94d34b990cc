//! What the user sees while recording: one line on a terminal, nothing elsewhere.

use super::transcript::Progress;
use crate::voice;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

/// The line.
pub struct Line {
    bar: ProgressBar,
}

impl Line {
    /// Shows the line when standard error is a terminal.
    pub fn start() -> Line {
        let bar = ProgressBar::with_draw_target(None, voice::target());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        Line { bar }
    }

    /// Shows how far the recording has come.
    pub fn show(&self, progress: &Progress, resident_bytes: u64) {
        let server = HumanBytes(resident_bytes);
        self.bar.set_message(match progress.requests {
            0 => format!("waiting for the first request, server {server}"),
            requests => format!(
                "{requests} requests, {} loads and stores, server {server}",
                millions(progress.data_accesses)
            ),
        });
        self.bar.tick();
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// `12.3 M`.
pub fn millions(count: u64) -> String {
    format!("{:.1} M", count as f64 / 1e6)
}
