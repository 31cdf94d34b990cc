//! Numbers with their units, read from what a user typed or a program printed.
//!
//! Options that take a size or a time all read it here, so that each takes the same suffixes. A
//! number without a suffix has the unit that the option names. [`mod@printed`] reads numbers of
//! other programs, which may follow the customs of any country.
//!
//! ```
//! use corehop_support::quantity::{duration, size};
//! use std::time::Duration;
//!
//! assert_eq!(size::mebibytes("4096").unwrap().bytes(), 4 << 30);
//! assert_eq!(size::mebibytes("1.5G").unwrap().bytes(), 3 << 29);
//! assert_eq!(duration::seconds("600").unwrap(), Duration::from_secs(600));
//! assert_eq!(duration::seconds("250ms").unwrap(), Duration::from_millis(250));
//! ```

#![forbid(unsafe_code)]

pub mod duration;
pub mod printed;
pub mod size;

/// The number that a text begins with, and the unit behind it without spaces; `None` where it
/// begins with no number.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number = number.parse().ok()?;
    Some((number, unit.trim_start()))
}
