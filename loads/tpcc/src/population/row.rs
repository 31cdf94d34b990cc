//! A row of a table, and values shared by several tables.

use crate::random::Random;
use mysql::Value;

/// One row, its values in the order of the table's columns.
pub type Row = Vec<Value>;

/// Returns name, two streets, city, state and zip code, for warehouses, districts and customers.
pub fn address(random: &mut Random) -> [Value; 5] {
    [
        random.letters(10..=20).into(),
        random.letters(10..=20).into(),
        random.letters(10..=20).into(),
        random.state().into(),
        random.zip().into(),
    ]
}

/// Returns a DECIMAL(4,4) of `count` ten-thousandths.
pub fn ten_thousandths(count: u32) -> Value {
    format!("0.{count:04}").into()
}
