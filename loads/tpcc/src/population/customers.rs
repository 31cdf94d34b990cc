//! Rows of CUSTOMER, and of HISTORY with each customer's first payment (4.3.3.1).

use super::batch;
use super::row::{Row, address, ten_thousandths};
use crate::date;
use crate::error::Error;
use crate::money::Cents;
use crate::random::{self, Random};
use crate::session::Session;
use crate::size::Size;

/// H_AMOUNT of every initial row.
pub const FIRST_PAYMENT: Cents = Cents(1_000);

/// Fills both tables for one district.
pub fn fill(
    session: &mut Session,
    random: &mut Random,
    size: Size,
    warehouse: u32,
    district: u32,
) -> Result<(), Error> {
    let customers =
        (1..=size.customers()).map(|id| customer(random, size, [warehouse, district, id]));
    batch::insert(session, "customer", customers)?;
    let payments = (1..=size.customers()).map(|id| payment(random, [warehouse, district, id]));
    batch::insert(session, "history", payments)
}

/// Returns a customer, identified by warehouse, district and number.
///
/// The first customers of a district have all last names once, so that every name sampled later
/// exists; the names of the others are sampled.
fn customer(random: &mut Random, size: Size, [warehouse, district, id]: [u32; 3]) -> Row {
    let last = if id <= size.last_names() {
        random::last_name(id - 1)
    } else {
        random.last_name()
    };
    let mut row: Row = vec![
        warehouse.into(),
        district.into(),
        id.into(),
        random.letters(8..=16).into(),
        "OE".into(),
        last.into(),
    ];
    row.extend(address(random));
    row.push(random.digits(16..=16).into());
    row.push(date::population());
    row.push(if random.chance(10) { "BC" } else { "GC" }.into());
    row.push(Cents(5_000_000).into());
    row.push(ten_thousandths(random.uniform(0..=5000)));
    row.push((FIRST_PAYMENT * -1).into());
    row.push(FIRST_PAYMENT.into());
    row.push(1_u32.into());
    row.push(0_u32.into());
    row.push(random.letters(300..=500).into());
    row
}

/// Returns the payment of a customer before the first transaction.
fn payment(random: &mut Random, [warehouse, district, customer]: [u32; 3]) -> Row {
    vec![
        customer.into(),
        district.into(),
        warehouse.into(),
        district.into(),
        warehouse.into(),
        date::population(),
        FIRST_PAYMENT.into(),
        random.letters(12..=24).into(),
    ]
}
