//! Numbers as people read them.

/// A number in groups of three digits.
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

/// A number of things, such as `1 entry` and `2 entries`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { many }
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn digits_stand_in_threes() {
        let grouped = [0, 999, 1000, 12_345_678].map(super::grouped);
        assert_eq!(grouped, ["0", "999", "1 000", "12 345 678"]);
    }
}
