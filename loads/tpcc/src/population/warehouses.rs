//! Rows of WAREHOUSE and DISTRICT (4.3.3.1).

use super::row::{Row, address, ten_thousandths};
use crate::money::Cents;
use crate::population::customers::FIRST_PAYMENT;
use crate::random::Random;
use crate::size::{DISTRICTS, Size};

/// Returns a warehouse; its year-to-date balance is the sum of its districts' (300 000 at scale 1).
pub fn warehouse(random: &mut Random, warehouse: u32, size: Size) -> Row {
    let mut row: Row = vec![warehouse.into(), random.letters(6..=10).into()];
    row.extend(address(random));
    row.push(ten_thousandths(random.uniform(0..=2000)));
    row.push((district_takings(size) * i64::from(DISTRICTS)).into());
    row
}

/// Returns a district, whose next order number follows the initial orders (3 001 at scale 1).
pub fn district(random: &mut Random, warehouse: u32, district: u32, size: Size) -> Row {
    let name = random.letters(6..=10).into();
    let mut row: Row = vec![warehouse.into(), district.into(), name];
    row.extend(address(random));
    row.push(ten_thousandths(random.uniform(0..=2000)));
    row.push(district_takings(size).into());
    row.push((size.customers() + 1).into());
    row
}

/// Returns the sum of the initial payments of a district's customers (30 000 at scale 1).
fn district_takings(size: Size) -> Cents {
    FIRST_PAYMENT * i64::from(size.customers())
}
