//! A progress bar on standard error, shown only where someone can watch it.

use corehop_partitioner::progress::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Whether a signal asked to stop.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// The exit code of programs that SIGINT ends, as shells have it.
const INTERRUPTED: i32 = 130;

/// One bar per stage, which vanishes when its stage ends. Hidden unless standard error is a
/// terminal.
pub struct Bar {
    current: Mutex<ProgressBar>,
}

impl Bar {
    /// A bar that no stage has begun on.
    pub fn new() -> Self {
        Bar {
            current: Mutex::new(ProgressBar::hidden()),
        }
    }

    /// A bar whose search ends with the best it has at the first Ctrl-C; a second ends the program.
    pub fn stopped_by_signals() -> Result<Self, ctrlc::Error> {
        ctrlc::set_handler(|| {
            if STOPPED.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
        })?;
        Ok(Bar::new())
    }

    fn current(&self) -> ProgressBar {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Progress for Bar {
    fn begin(&self, stage: &str, total: Option<u64>) {
        let (bar, template) = match total {
            Some(total) => (
                ProgressBar::new(total),
                "{msg} {wide_bar} {pos}/{len} {per_sec} {eta} left",
            ),
            None => (ProgressBar::new_spinner(), "{spinner} {msg} {human_pos}"),
        };
        let style = ProgressStyle::with_template(template).expect("a fixed template");
        let bar = bar.with_style(style).with_message(stage.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    fn advance(&self, steps: u64) {
        self.current().inc(steps);
    }

    fn end(&self) {
        self.current().finish_and_clear();
    }

    fn is_stopped(&self) -> bool {
        STOPPED.load(Ordering::Relaxed)
    }
}
