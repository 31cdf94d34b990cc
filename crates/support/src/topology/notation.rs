//! Parses the kernel's formats of CPU sets and sizes: `0-3,8`, `00000001,ffffffff`, `48K`.

use std::collections::BTreeSet;
use std::fmt::Write;

/// A set of CPU numbers.
pub type CpuNumbers = BTreeSet<usize>;

/// Larger CPU numbers are considered invalid: Linux has at most 8192 CPUs.
const CPUS_MAXIMUM: usize = 1 << 16;

/// Parses a list such as `0-3,8`; empty text is an empty list. `None` if it is invalid.
pub fn list(text: &str) -> Option<CpuNumbers> {
    let text = text.trim();
    let mut cpus = CpuNumbers::new();
    if text.is_empty() {
        return Some(cpus);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last] = [number(first)?, number(last)?];
        if first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

fn number(text: &str) -> Option<usize> {
    let number = decimal(text)?;
    usize::try_from(number)
        .ok()
        .filter(|&cpu| cpu < CPUS_MAXIMUM)
}

/// Parses only digits: `parse` also accepts a sign.
pub fn decimal(text: &str) -> Option<u64> {
    let has_digits_alone = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| has_digits_alone)
}

/// Parses a mask such as `00000001,ffffffff`, whose last bit is CPU 0. `None` if it is invalid.
pub fn mask(text: &str) -> Option<CpuNumbers> {
    let digits: Vec<u8> = text.trim().bytes().filter(|&byte| byte != b',').collect();
    if digits.is_empty() || digits.len() > CPUS_MAXIMUM / 4 {
        return None;
    }
    let mut cpus = CpuNumbers::new();
    for (index, &digit) in digits.iter().rev().enumerate() {
        let bits = char::from(digit).to_digit(16)?;
        let is_set = |bit: &usize| bits >> bit & 1 != 0;
        cpus.extend((0..4).filter(is_set).map(|bit| 4 * index + bit));
    }
    Some(cpus)
}

/// A size in the kernel's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// With a unit, as in `48K` or `2M`.
    Bytes(u64),
    /// Only a number.
    WithoutUnit(u64),
}

/// Parses a size such as `48K`, `2M` or `1G`. `None` if it is invalid.
pub fn size(text: &str) -> Option<Size> {
    let text = text.trim();
    let shift = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        _ => return decimal(text).map(Size::WithoutUnit),
    };
    let number = decimal(&text[..text.len() - 1])?;
    number.checked_mul(1 << shift).map(Size::Bytes)
}

/// Formats CPUs as the kernel lists them, `0-3,8`.
pub fn ranges(cpus: impl IntoIterator<Item = usize>) -> String {
    let cpus: CpuNumbers = cpus.into_iter().collect();
    let mut text = String::new();
    let mut cpus = cpus.into_iter().peekable();
    while let Some(first) = cpus.next() {
        let mut last = first;
        while let Some(next) = cpus.next_if(|&next| next == last + 1) {
            last = next;
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match first == last {
            true => write!(text, "{comma}{first}"),
            false => write!(text, "{comma}{first}-{last}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cpus(numbers: &[usize]) -> Option<CpuNumbers> {
        Some(numbers.iter().copied().collect())
    }

    #[test]
    fn lists_have_numbers_and_ranges() {
        assert_eq!(list("0-2,8\n"), cpus(&[0, 1, 2, 8]));
        assert_eq!(list("65-66,128"), cpus(&[65, 66, 128]));
        assert_eq!(list("\n"), cpus(&[]));
        for odd in ["x", "3-1", "1,", "-1", "+1", "1-2-3", "0-4294967295", "0 1"] {
            assert_eq!(list(odd), None, "{odd}");
        }
    }

    #[test]
    fn masks_have_the_first_cpu_last() {
        assert_eq!(mask("00000001,80000005\n"), cpus(&[0, 2, 31, 32]));
        assert_eq!(mask("ff"), cpus(&[0, 1, 2, 3, 4, 5, 6, 7]));
        assert_eq!(mask("00000000,00000000"), cpus(&[]));
        for odd in ["", ",", "0x3", "g", "-1"] {
            assert_eq!(mask(odd), None, "{odd}");
        }
    }

    #[test]
    fn sizes_have_a_unit_or_none() {
        assert_eq!(size("48K\n"), Some(Size::Bytes(48 << 10)));
        assert_eq!(size("2M"), Some(Size::Bytes(2 << 20)));
        assert_eq!(size("1g"), Some(Size::Bytes(1 << 30)));
        assert_eq!(size("32768"), Some(Size::WithoutUnit(32_768)));
        for odd in [
            "",
            "K",
            "48KB",
            "-1K",
            "99999999999999999999K",
            "é",
            "17179869184G",
        ] {
            assert_eq!(size(odd), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn what_is_listed_is_read_back(
            numbers in prop::collection::btree_set(0..9000usize, 0..40),
        ) {
            prop_assert_eq!(list(&ranges(numbers.clone())), Some(numbers));
        }

        #[test]
        fn no_text_is_too_odd(text in "[0-9a-fxKMG,.: -]{0,40}|.{0,20}") {
            let _ = (list(&text), mask(&text), size(&text));
        }
    }
}
