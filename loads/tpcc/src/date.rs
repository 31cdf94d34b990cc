//! Dates from a counter: with a clock, as in TPC-C, two runs would differ.

use mysql::Value;

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
const DAYS_PER_MONTH: u64 = 28;

/// Returns the date of all rows of the initial population: counter 0.
pub fn population() -> Value {
    at(0)
}

/// Returns the date and time of the `second`-th second after the population.
///
/// Every month has 28 days, so that no calendar is needed and every date exists.
pub fn at(second: u64) -> Value {
    let day = second / SECONDS_PER_DAY;
    let month = day / DAYS_PER_MONTH;
    let text = format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        2000 + month / 12,
        month % 12 + 1,
        day % DAYS_PER_MONTH + 1,
        second / 3600 % 24,
        second / 60 % 60,
        second % 60
    );
    Value::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_seconds_sort_after_earlier_ones() {
        let dates: Vec<String> = [0, 1, 59, 60, 3600, 86_399, 86_400, 2_419_199, 2_419_200]
            .iter()
            .map(|&second| at(second).as_sql(false))
            .collect();
        assert!(dates.is_sorted());
        assert_eq!(dates[0], "'2000-01-01 00:00:00'");
        assert_eq!(dates[8], "'2000-02-01 00:00:00'");
    }
}
