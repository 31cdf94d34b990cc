//! Numbers in groups of three digits; changes and shares in percent.

/// Formats a number in groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number of things, such as `1 entry` and `2 entries`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { many }
    )
}

/// Formats a ratio as a change in percent, such as `-3.0 %` for 0.97.
pub fn change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// Formats the change from one number to another in percent; empty if the first is 0.
pub fn change_between(before: u64, after: u64) -> String {
    match before {
        0 => String::new(),
        _ => change(after as f64 / before as f64),
    }
}

/// Formats a part of a whole in percent, with this many decimals; empty if the whole is 0.
pub fn share(part: u64, whole: u64, decimals: usize) -> String {
    match whole {
        0 => String::new(),
        _ => format!("{:.decimals$} %", part as f64 / whole as f64 * 100.0),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn changes_and_shares_are_in_percent() {
        let changes = [(0, 5), (100, 97), (8, 8), (2, 3)].map(|(a, b)| super::change_between(a, b));
        assert_eq!(changes, ["", "-3.0 %", "+0.0 %", "+50.0 %"]);
        assert_eq!(super::share(1, 3, 2), "33.33 %");
        assert_eq!(super::share(1, 0, 1), "");
    }

    #[test]
    fn digits_stand_in_threes() {
        let grouped = [0, 999, 1000, 12_345_678].map(super::grouped);
        assert_eq!(grouped, ["0", "999", "1 000", "12 345 678"]);
    }
}
