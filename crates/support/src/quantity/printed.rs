//! Numbers as programs print them: with a decimal point or comma, and possibly with separators of
//! thousands.
//!
//! `1,234` means 1234 to some and 1.234 to others, so it is rejected. A number with one point is
//! parsed as programs print it in the locale C: `1.234` has decimals.

use std::fmt::{Display, Formatter};

/// Separators of thousands that are never decimal marks: spaces of several widths, apostrophes, and
/// the underscore of programming languages.
const SEPARATORS: [char; 7] = [' ', '\u{a0}', '\u{2009}', '\u{202f}', '\'', '\u{2019}', '_'];

/// Why a text is not a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoNumber {
    /// It may be either of two numbers.
    Ambiguous {
        /// The text.
        text: String,
        /// The number, if the mark separates thousands.
        thousands: String,
        /// The number, if the mark precedes decimals.
        decimals: String,
    },
    /// It is not a number.
    None(String),
}

impl std::error::Error for NoNumber {}

impl Display for NoNumber {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            NoNumber::Ambiguous {
                text,
                thousands,
                decimals,
            } => write!(formatter, "{text:?} may be {thousands} or {decimals}"),
            NoNumber::None(text) => write!(formatter, "{text:?} is not a number"),
        }
    }
}

/// Parses a number.
///
/// # Errors
/// [`NoNumber`] if the text is not a number, or is ambiguous.
pub fn number(text: &str) -> Result<f64, NoNumber> {
    // A mark that ends a sentence or separates columns is not part of the number.
    let trimmed = text.trim().trim_end_matches([',', '.']);
    let none = || NoNumber::None(text.into());
    let is_plain = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
    let as_programs_do = |plain: &str| match plain.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(none()),
    };
    let points = trimmed.matches('.').count();
    if trimmed.chars().all(is_plain) && points < 2 {
        return as_programs_do(trimmed);
    }
    let (sign, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let marks: Vec<char> = digits
        .chars()
        .filter(|mark| !mark.is_ascii_digit())
        .collect();
    let is_mark = |mark: &char| matches!(mark, ',' | '.') || SEPARATORS.contains(mark);
    if !marks.iter().all(is_mark) {
        return Err(none());
    }
    let last = *marks.last().ok_or_else(none)?;
    let is_decimal = matches!(last, ',' | '.') && marks.iter().filter(|m| **m == last).count() == 1;
    let (whole, decimals) = match digits.rsplit_once(last) {
        Some((whole, decimals)) if is_decimal => (whole, Some(decimals)),
        _ => (digits, None),
    };
    let separator = marks[0];
    let has_separators = whole.contains(separator);
    let whole = match has_separators {
        true => grouped(whole, separator).ok_or_else(none)?,
        false => whole.to_owned(),
    };
    let Some(decimals) = decimals else {
        return as_programs_do(&format!("{sign}{whole}"));
    };
    let may_be_thousands = last == ',' && !has_separators && grouped(digits, ',').is_some();
    if may_be_thousands {
        return Err(NoNumber::Ambiguous {
            text: text.into(),
            thousands: format!("{sign}{whole}{decimals}"),
            decimals: format!("{sign}{whole}.{decimals}"),
        });
    }
    match decimals.is_empty() {
        true => Err(none()),
        false => as_programs_do(&format!("{sign}{whole}.{decimals}")),
    }
}

/// Returns the digits, if they are in groups of three.
fn grouped(text: &str, separator: char) -> Option<String> {
    let mut groups = text.split(separator);
    let first = groups.next()?;
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let begins = (1..=3).contains(&first.len()) && are_digits(first) && !first.starts_with('0');
    let follows = groups.all(|group| group.len() == 3 && are_digits(group));
    (begins && follows).then(|| text.split(separator).collect())
}

/// Returns the longer number that the text between `start` and `end` is part of, if any. A digit,
/// or a mark and a digit, precedes it, or a separator of thousands and three digits follow.
#[must_use]
pub fn cut_from(text: &str, start: usize, end: usize) -> Option<&str> {
    let is_mark = |letter: char| {
        matches!(letter, ',' | '.') || (letter != ' ' && SEPARATORS.contains(&letter))
    };
    let is_of_number = |letter: char| letter.is_ascii_digit() || is_mark(letter);
    let (before, behind) = (text.get(..start)?, text.get(end..)?);
    let begins_within = before
        .trim_end_matches(is_mark)
        .ends_with(|last: char| last.is_ascii_digit());
    let goes_on = behind.chars().next().is_some_and(|mark| {
        let group = &behind[mark.len_utf8()..];
        let digits = group.bytes().take_while(u8::is_ascii_digit).count();
        mark.is_ascii_digit() || (mark != '.' && is_mark(mark) && digits == 3)
    });
    if !begins_within && !goes_on {
        return None;
    }
    let first = before.trim_end_matches(is_of_number).len();
    let last = end + behind.len() - behind.trim_start_matches(is_of_number).len();
    let whole = &text[first..last];
    Some(whole.trim_matches(is_mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_the_customs_of_any_country() {
        for (text, expected) in [
            ("0", 0.0),
            ("12.5", 12.5),
            ("12.5,", 12.5),
            ("5.", 5.0),
            (" 12.5 ", 12.5),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("-1.5E-1", -0.15),
            ("1.234", 1.234),
            ("1,234.5", 1234.5),
            ("12,345.678", 12_345.678),
            ("1,234,567", 1_234_567.0),
            ("1,234,567.89", 1_234_567.89),
            ("1.234,5", 1234.5),
            ("1.234.567", 1_234_567.0),
            ("1.234.567,8", 1_234_567.8),
            ("12,5", 12.5),
            ("0,123", 0.123),
            ("1234,567", 1234.567),
            ("12,3456", 12.3456),
            ("1 234 567", 1_234_567.0),
            ("1\u{202f}234,567", 1234.567),
            ("1'234.5", 1234.5),
            ("1_000", 1000.0),
            ("-1,234.5", -1234.5),
        ] {
            assert_eq!(number(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_may_be_two_numbers_is_refused_with_both() {
        for (text, thousands, decimals) in [
            ("1,234", "1234", "1.234"),
            ("-123,456", "-123456", "-123.456"),
        ] {
            let refused = number(text).unwrap_err();
            let expected = NoNumber::Ambiguous {
                text: text.into(),
                thousands: thousands.into(),
                decimals: decimals.into(),
            };
            assert_eq!(refused, expected);
        }
        assert_eq!(
            number("1,234").unwrap_err().to_string(),
            "\"1,234\" may be 1234 or 1.234"
        );
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            ".",
            "..",
            ",",
            "1.2.3",
            "1,2,3",
            "1,23,456",
            "12.3k",
            "1.234,5.6",
            "0,123,456",
            "1.5 ms",
            "1 23",
            "nan",
            "inf",
            "1e999",
            "--1",
            "1,234e3",
            "1'2,3",
            "1.234'567",
        ] {
            assert_eq!(number(text), Err(NoNumber::None(text.into())), "{text}");
        }
    }

    #[test]
    fn a_number_is_not_cut_out_of_a_longer_one() {
        for (text, cut, whole) in [
            ("rate 1,234.5 a second", "234.5", Some("1,234.5")),
            ("rate 1.234,5, more", "5", Some("1.234,5")),
            ("rate 1,234.", "1", Some("1,234")),
            ("rate 1'234", "1", Some("1'234")),
            ("rate 1234", "34", Some("1234")),
            ("rate 12.5", "12.5", None),
            ("rate 12.5", "12", None),
            ("rate 12.5, 13", "12.5", None),
            ("rate 12, 345", "12", None),
            ("rate=12.5", "12.5", None),
            ("12.5", "12.5", None),
        ] {
            let start = text.find(cut).unwrap();
            assert_eq!(
                cut_from(text, start, start + cut.len()),
                whole,
                "{text} {cut}"
            );
        }
    }
}
