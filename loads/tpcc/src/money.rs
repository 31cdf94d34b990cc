//! Amounts of money in cents, because sums of binary fractions differ from those of DECIMAL
//! columns.

use mysql::prelude::FromValue;
use mysql::{FromValueError, Value};
use std::fmt;
use std::ops::Mul;

/// An amount, in cents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub i64);

impl fmt::Display for Cents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let cents = self.0.unsigned_abs();
        write!(formatter, "{sign}{}.{:02}", cents / 100, cents % 100)
    }
}

impl Cents {
    /// Parses a DECIMAL(n,2) column in the server's format.
    fn parse(text: &str) -> Option<Cents> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let (whole, fraction) = digits.split_once('.')?;
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if fraction.len() != 2 || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let cents: i64 = format!("{whole}{fraction}").parse().ok()?;
        Some(Cents(sign * cents))
    }
}

impl TryFrom<Value> for Cents {
    type Error = FromValueError;

    fn try_from(value: Value) -> Result<Cents, FromValueError> {
        match &value {
            Value::Bytes(bytes) => str::from_utf8(bytes).ok().and_then(Cents::parse),
            _ => None,
        }
        .ok_or(FromValueError(value))
    }
}

impl FromValue for Cents {
    type Intermediate = Cents;
}

impl Mul<i64> for Cents {
    type Output = Cents;

    fn mul(self, count: i64) -> Cents {
        Cents(self.0 * count)
    }
}

impl From<Cents> for Value {
    /// Converts to a quoted decimal, which MariaDB converts exactly.
    fn from(amount: Cents) -> Value {
        Value::from(amount.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_amount_reads_back_as_it_was_written(cents in -1_000_000_000_i64..1_000_000_000) {
            prop_assert_eq!(Cents::parse(&Cents(cents).to_string()), Some(Cents(cents)));
        }
    }

    #[test]
    fn what_is_no_amount_is_not_read() {
        for text in ["", "1", "1.5", "1.555", "x.00", "1.+5", "--1.00"] {
            assert_eq!(Cents::parse(text), None, "{text}");
        }
    }
}
