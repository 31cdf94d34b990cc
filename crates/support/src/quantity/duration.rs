//! Times: `90`, `250ms`, `1.5s`, `10m`, `2h`.

use super::number_and_unit;
use std::time::Duration;

/// More than any wait; the limit prevents an overflow when the time is added to a clock.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// The text is not a time.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{0}' is not a time: use seconds, or a number with ms, s, m, or h, such as 250ms or 10m")]
pub struct NoDuration(String);

/// Parses a time; a number without a unit is in seconds.
///
/// # Errors
/// [`NoDuration`] if the number is negative, too large, or missing, or if the unit is unknown.
pub fn seconds(text: &str) -> Result<Duration, NoDuration> {
    let read = || {
        let (number, unit) = number_and_unit(text)?;
        let seconds = match unit {
            "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "us" => 1e-6,
            "ms" => 1e-3,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return None,
        };
        let time = Duration::try_from_secs_f64(number * seconds).ok()?;
        (time < LONGEST).then_some(time)
    };
    read().ok_or_else(|| NoDuration(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        for (text, milliseconds) in [
            ("0", 0),
            ("600", 600_000),
            ("0.1", 100),
            (".5", 500),
            ("250ms", 250),
            ("250 ms", 250),
            ("1.5s", 1500),
            (" 10m ", 600_000),
            ("2h", 7_200_000),
            ("5000us", 5),
        ] {
            let expected = Duration::from_millis(milliseconds);
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "s",
            "-1",
            "1d",
            "1,5",
            "1.2.3",
            "1e3",
            "nan",
            "inf",
            "9e99h",
            "1m30s",
            "5M",
            "9999999999",
        ] {
            assert_eq!(seconds(text), Err(NoDuration(text.into())), "{text}");
        }
        assert!(seconds(&"9".repeat(400)).is_err());
    }
}
