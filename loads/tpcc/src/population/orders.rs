//! Rows of ORDER, ORDER-LINE and NEW-ORDER (4.3.3.1): one order for every customer of a district.

use super::batch;
use super::row::Row;
use crate::date;
use crate::error::Error;
use crate::money::Cents;
use crate::random::Random;
use crate::session::Session;
use crate::size::Size;
use mysql::Value;

/// Fills the three tables for one district. The last orders (900 at scale 1) are undelivered.
pub fn fill(
    session: &mut Session,
    random: &mut Random,
    size: Size,
    warehouse: u32,
    district: u32,
) -> Result<(), Error> {
    let mut customers: Vec<u32> = (1..=size.customers()).collect();
    random.shuffle(&mut customers);
    let first_new = size.customers() - size.new_orders() + 1;
    let (mut orders, mut lines, mut new_orders) = (Vec::new(), Vec::new(), Vec::new());
    for (order, customer) in (1..).zip(customers) {
        let is_new = order >= first_new;
        let place = [warehouse, district, order];
        let line_count = random.uniform(5..=15);
        orders.push(order_row(random, place, customer, is_new, line_count));
        for number in 1..=line_count {
            let item = random.uniform(1..=size.items());
            lines.push(line_row(random, place, number, item, is_new));
        }
        if is_new {
            new_orders.push(place.map(Value::from).to_vec());
        }
    }
    batch::insert(session, "orders", orders)?;
    batch::insert(session, "order_line", lines)?;
    batch::insert(session, "new_order", new_orders)
}

fn order_row(
    random: &mut Random,
    place: [u32; 3],
    customer: u32,
    is_new: bool,
    line_count: u32,
) -> Row {
    let carrier = random.uniform(1..=10);
    let mut row = place.map(Value::from).to_vec();
    row.push(customer.into());
    row.push(date::population());
    row.push((!is_new).then_some(carrier).into());
    row.push(line_count.into());
    row.push(1_u32.into());
    row
}

/// Returns an order line; delivered ones are free, others cost up to 9999.99.
fn line_row(random: &mut Random, place: [u32; 3], number: u32, item: u32, is_new: bool) -> Row {
    let amount = if is_new {
        Cents(random.uniform(1..=999_999).into())
    } else {
        Cents(0)
    };
    let mut row = place.map(Value::from).to_vec();
    row.push(number.into());
    row.push(item.into());
    row.push(place[0].into());
    row.push(if is_new {
        Value::NULL
    } else {
        date::population()
    });
    row.push(5_u32.into());
    row.push(amount.into());
    row.push(random.letters(24..=24).into());
    row
}
