//! Rows of ITEM and STOCK (4.3.3.1).

use super::row::Row;
use crate::money::Cents;
use crate::random::Random;
use crate::size::DISTRICTS;

/// Returns an item.
pub fn item(random: &mut Random, item: u32) -> Row {
    vec![
        item.into(),
        random.uniform(1..=10_000).into(),
        random.letters(14..=24).into(),
        Cents(random.uniform(100..=10_000).into()).into(),
        random.data().into(),
    ]
}

/// Returns a warehouse's stock of an item.
pub fn stock(random: &mut Random, warehouse: u32, item: u32) -> Row {
    let mut row: Row = vec![
        warehouse.into(),
        item.into(),
        random.uniform(10..=100).into(),
    ];
    row.extend((0..DISTRICTS).map(|_| random.letters(24..=24).into()));
    row.extend([0_u32; 3].map(Into::into));
    row.push(random.data().into());
    row
}
