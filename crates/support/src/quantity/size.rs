//! Sizes: `4096`, `512K`, `2G`, `1.5GiB`, in powers of 1024.

use super::number_and_unit;
use std::fmt::{Display, Formatter};

const KIB: f64 = 1024.0;

/// More bytes than any valid size.
const MOST_BYTES: f64 = (1u64 << 60) as f64;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

/// The text is not a size.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoSize {
    /// There is no number, or the unit is unknown.
    #[error("'{0}' is not a size: use MiB, or a number with K, M, G, or T, such as 512M or 2G")]
    Unit(String),
    /// The number is zero.
    #[error("'{0}' is no size: it must be above 0, such as 512M or 2G")]
    Zero(String),
    /// The unit may mean powers of 1000 or of 1024.
    #[error("'{0}' can mean powers of 1000 or 1024: write {1} or {1}iB for powers of 1024")]
    Ambiguous(String, char),
}

impl Size {
    /// Returns the number of bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// Returns the number of MiB, rounded up.
    #[must_use]
    pub fn mebibytes(self) -> u64 {
        self.0.div_ceil(1 << 20)
    }
}

/// In the format that [`mebibytes`] parses: with the largest unit that gives a whole number; MiB
/// have no unit.
impl Display for Size {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes.is_multiple_of(1 << 20) => write!(formatter, "{}", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => write!(formatter, "{}K", bytes >> 10),
            bytes => write!(formatter, "{bytes}B"),
        }
    }
}

/// Parses a size; a number without a unit is in MiB.
///
/// # Errors
/// [`NoSize`] if the number is zero, negative, too large, or missing, or if the unit is unknown.
pub fn mebibytes(text: &str) -> Result<Size, NoSize> {
    let none = || NoSize::Unit(text.into());
    let (number, unit) = number_and_unit(text).ok_or_else(none)?;
    let factor = match unit {
        "" => KIB * KIB,
        "B" => 1.0,
        _ => {
            let (letter, rest) = unit.split_at_checked(1).ok_or_else(none)?;
            let power = match letter {
                "k" | "K" => 1,
                "m" | "M" => 2,
                "g" | "G" => 3,
                "t" | "T" => 4,
                _ => return Err(none()),
            };
            match rest {
                "" | "i" | "iB" | "ib" => KIB.powi(power),
                "B" | "b" => {
                    let letter = letter.to_ascii_uppercase().chars().next().unwrap_or('M');
                    return Err(NoSize::Ambiguous(text.into(), letter));
                }
                _ => return Err(none()),
            }
        }
    };
    match number * factor {
        0.0 => Err(NoSize::Zero(text.into())),
        bytes if (0.0..MOST_BYTES).contains(&bytes) => Ok(Size(bytes.ceil() as u64)),
        _ => Err(none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_or_is_in_mebibytes() {
        for (text, bytes) in [
            ("4096", 4 << 30),
            ("1B", 1),
            ("512K", 512 << 10),
            ("64k", 64 << 10),
            ("3M", 3 << 20),
            ("3 MiB", 3 << 20),
            ("2G", 2 << 30),
            ("1.5g", 3 << 29),
            ("2Gi", 2 << 30),
            ("1T", 1 << 40),
        ] {
            let read = mebibytes(text).unwrap();
            assert_eq!(read.bytes(), bytes, "{text}");
            assert_eq!(mebibytes(&read.to_string()), Ok(read), "{text}");
        }
        for text in [
            "", "G", "-1", "1X", "1,5G", "1e3", "2G2", "2Gx", "9999999T", "2é",
        ] {
            assert_eq!(mebibytes(text), Err(NoSize::Unit(text.into())), "{text}");
        }
        assert_eq!(mebibytes("0M"), Err(NoSize::Zero("0M".into())));
        assert_eq!(mebibytes("2GB"), Err(NoSize::Ambiguous("2GB".into(), 'G')));
        assert_eq!(mebibytes("1K").unwrap().mebibytes(), 1);
    }
}
