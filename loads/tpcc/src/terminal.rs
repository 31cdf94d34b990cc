//! State of one connection: its home warehouse, its random stream, its deck and its clock.
//!
//! TPC-C's terminal (2.8.1.1, 4.2.2) without the screen and its user.

use crate::date;
use crate::deck::Deck;
use crate::random::Random;
use crate::size::{DISTRICTS, Size};
use crate::transactions::Kind;
use mysql::Value;

/// A source of transactions.
pub struct Terminal {
    pub random: Random,
    pub size: Size,
    /// The fixed warehouse of this terminal (2.4.1.1).
    pub warehouse: u32,
    /// The fixed district of its Stock-Level transactions (2.8.1.1).
    pub district: u32,
    deck: Deck,
    seconds: u64,
}

impl Terminal {
    /// Returns the terminal of a connection; terminals are distributed over warehouses, then over
    /// districts.
    pub fn new(seed: u64, connection: u32, size: Size) -> Self {
        Terminal {
            random: Random::for_run(seed, connection, size),
            size,
            warehouse: connection % size.warehouses + 1,
            district: connection / size.warehouses % DISTRICTS + 1,
            deck: Deck::default(),
            seconds: 0,
        }
    }

    /// Returns the type of the next transaction.
    pub fn next_kind(&mut self) -> Kind {
        self.deck.draw(&mut self.random)
    }

    /// Advances the clock, before the input of a transaction is generated.
    pub fn pass_a_second(&mut self) {
        self.seconds += 1;
    }

    /// Returns the date and time of the transaction: one second after that of the previous one.
    pub fn now(&self) -> Value {
        date::at(self.seconds)
    }

    /// Returns a random district, uniformly.
    pub fn any_district(&mut self) -> u32 {
        self.random.uniform(1..=DISTRICTS)
    }

    /// Returns a warehouse other than the terminal's, or the same one if there is no other.
    pub fn other_warehouse(&mut self) -> u32 {
        if self.size.warehouses == 1 {
            return self.warehouse;
        }
        let drawn = self.random.uniform(1..=self.size.warehouses - 1);
        drawn + u32::from(drawn >= self.warehouse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn another_warehouse_is_never_the_own(
            seed: u64, connection in 0_u32..20, warehouses in 2_u32..9
        ) {
            let size = Size { warehouses, scale: 100 };
            let mut terminal = Terminal::new(seed, connection, size);
            for _ in 0..20 {
                let other = terminal.other_warehouse();
                prop_assert!((1..=warehouses).contains(&other));
                prop_assert_ne!(other, terminal.warehouse);
            }
        }
    }
}
