//! Progress on standard error, where that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that shows how many of `length` steps are done, and how long the rest will take.
pub fn bar(title: &'static str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {per_sec} {eta}")
        .expect("the template is right");
    let bar = ProgressBar::new(length).with_style(style);
    bar.set_message(title);
    bar
}
