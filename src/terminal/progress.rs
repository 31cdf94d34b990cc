//! A progress bar on a standard error that is a terminal; otherwise `heartbeat` prints lines.
//!
//! Stages of the same name share one bar, which continues at its last position. With --verbose,
//! every stage also prints a line with its duration.

use crate::terminal::console;
use crate::terminal::heartbeat;
use crate::terminal::interrupt;
use corehop_partitioner::progress::Progress;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One bar per stage, which disappears when its stage ends. Hidden unless standard error is a
/// terminal.
pub struct Bar {
    current: Mutex<ProgressBar>,
}

impl Default for Bar {
    fn default() -> Bar {
        Bar {
            current: Mutex::new(ProgressBar::hidden()),
        }
    }
}

impl Bar {
    /// Returns a bar without a stage.
    pub fn new() -> Bar {
        Bar::default()
    }

    fn current(&self) -> ProgressBar {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Runs work that may take a second, with a spinner next to its name.
pub fn during<T>(stage: &str, work: impl FnOnce() -> T) -> T {
    let bar = Bar::new();
    bar.begin(stage, None);
    let result = work();
    bar.end();
    result
}

impl Progress for Bar {
    fn begin(&self, stage: &str, total: Option<u64>) {
        let (done, total) = heartbeat::begin(stage, total);
        let template = match total {
            Some(_) => "{msg} {wide_bar} {pos}/{len}{pace}",
            None => "{spinner} {msg} {human_pos}",
        };
        let pace = |_: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&heartbeat::pace());
        };
        let style = ProgressStyle::with_template(template).expect("a fixed template");
        let bar = ProgressBar::with_draw_target(total, console::target())
            .with_style(style.with_key("pace", pace))
            .with_position(done)
            .with_message(stage.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    fn advance(&self, steps: u64) {
        heartbeat::advance(steps);
        self.current().inc(steps);
    }

    fn end(&self) {
        heartbeat::end();
        let bar = self.current();
        bar.finish_and_clear();
        let seconds = bar.elapsed().as_secs_f64();
        console::detail(&format!("{}: {seconds:.1} s", bar.message()));
    }

    fn is_stopped(&self) -> bool {
        interrupt::ends_search()
    }
}
