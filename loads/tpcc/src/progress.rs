//! Progress on standard error, if it is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar of `length` steps, with the remaining time.
pub fn bar(title: &'static str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {per_sec} {eta}")
        .expect("the template is right");
    let bar = ProgressBar::new(length).with_style(style);
    bar.set_message(title);
    bar
}
