//! A row of a table, and the values that rows of several tables have.

use crate::random::Random;
use mysql::Value;

/// One row, its values in the order of the table's columns.
pub type Row = Vec<Value>;

/// Name, two streets, city, state and zip code, as warehouses, districts and customers have them.
pub fn address(random: &mut Random) -> [Value; 5] {
    [
        random.letters(10..=20).into(),
        random.letters(10..=20).into(),
        random.letters(10..=20).into(),
        random.state().into(),
        random.zip().into(),
    ]
}

/// A DECIMAL(4,4) of so many ten-thousandths.
pub fn ten_thousandths(count: u32) -> Value {
    format!("0.{count:04}").into()
}
