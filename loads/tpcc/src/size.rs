//! Numbers of rows: the cardinalities of clauses 1.2.1 and 4.3.3.1, divided by a scale factor.
//!
//! TPC-C fixes all numbers per warehouse, but a recording needs a database that fits a small buffer
//! pool and loads in seconds. Districts per warehouse and lines per order are not scaled, so that a
//! transaction does as much work as at full size.

use clap::Args;

/// Districts of every warehouse (1.2.1), not scaled.
pub const DISTRICTS: u32 = 10;

/// Number of warehouses, and the factor by which everything else is smaller than TPC-C's.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of warehouses
    #[arg(long, value_name = "W", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub warehouses: u32,
    /// Factor by which items, customers and orders are fewer than in TPC-C
    #[arg(long, value_name = "S", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub scale: u32,
}

impl Size {
    /// Returns the number of items, and of stock rows per warehouse (100 000 at scale 1).
    pub fn items(self) -> u32 {
        100_000 / self.scale
    }

    /// Returns the number of customers, and of initial orders, per district (3 000 at scale 1).
    pub fn customers(self) -> u32 {
        3_000 / self.scale
    }

    /// Returns the number of distinct last names (1 000 at scale 1), so that about 3 customers of a
    /// district share one.
    pub fn last_names(self) -> u32 {
        1_000 / self.scale
    }

    /// Returns the number of initially undelivered orders per district (900 at scale 1).
    pub fn new_orders(self) -> u32 {
        900 / self.scale
    }

    /// Returns NURand's A for a range with A = `full` in TPC-C: the same share of the range stays
    /// hot.
    ///
    /// A is one less than a power of two (2.1.6). So A + 1 is divided by the largest power of two
    /// up to the scale factor.
    pub fn skew(self, full: u32) -> u32 {
        ((full + 1) >> self.scale.ilog2()).max(2) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(scale: u32) -> Size {
        Size {
            warehouses: 1,
            scale,
        }
    }

    #[test]
    fn at_scale_one_the_numbers_are_the_standards() {
        let full = size(1);
        assert_eq!(
            [
                full.items(),
                full.customers(),
                full.last_names(),
                full.new_orders()
            ],
            [100_000, 3_000, 1_000, 900]
        );
        assert_eq!([255, 1023, 8191].map(|a| full.skew(a)), [255, 1023, 8191]);
    }

    proptest! {
        #[test]
        fn every_scale_leaves_a_database_that_works(scale in 1_u32..=100) {
            let size = size(scale);
            prop_assert!(size.new_orders() < size.customers());
            prop_assert!(size.last_names() >= 10 && size.last_names() < size.customers());
            for a in [255, 1023, 8191] {
                prop_assert!((size.skew(a) + 1).is_power_of_two());
            }
        }
    }
}
