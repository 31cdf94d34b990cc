//! Numbers with their units, parsed from user input or a program's output.
//!
//! All options with a size or a time use this, so that they accept the same suffixes. A number
//! without a suffix has the option's default unit. [`mod@printed`] parses numbers of other
//! programs, which may use the format of any country.
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

/// Splits a text into its leading number and the unit after it; `None` if it does not begin with a
/// number.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number = number.parse().ok()?;
    Some((number, unit.trim_start()))
}
