//! The customer of a Payment or Order-Status transaction: 60 % by last name, else by number.
//!
//! Clauses 2.5.1.2 and 2.6.1.2.

use crate::random::Random;
use crate::session::{Refusal, Session};

/// How a terminal selects a customer of a district.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    ByLastName(String),
    ByNumber(u32),
}

impl Choice {
    /// Generates a random choice.
    pub fn generate(random: &mut Random) -> Self {
        if random.chance(60) {
            Choice::ByLastName(random.last_name())
        } else {
            Choice::ByNumber(random.customer())
        }
    }

    /// Returns the customer's number. Of several customers with the name, it is the middle one by
    /// first name, at position n/2 rounded up (2.5.2.2).
    pub fn number(
        &self,
        session: &mut Session,
        warehouse: u32,
        district: u32,
    ) -> Result<u32, Refusal> {
        let name = match self {
            Choice::ByNumber(number) => return Ok(*number),
            Choice::ByLastName(name) => name,
        };
        let values = [warehouse.into(), district.into(), name.into()];
        let (count,): (u32,) = session.one(
            "select count(*) from customer where c_w_id = ? and c_d_id = ? and c_last = ?",
            &values,
        )?;
        let [warehouse, district, name] = values;
        let (number,) = session.one(
            "select c_id from customer where c_w_id = ? and c_d_id = ? and c_last = ?
             order by c_first, c_id limit ?, 1",
            &[warehouse, district, name, middle(count).into()],
        )?;
        Ok(number)
    }
}

/// Returns the number of rows before position n/2 rounded up, counted from 1.
fn middle(count: u32) -> u32 {
    count.div_ceil(2).max(1) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_position_half_rounded_up() {
        assert_eq!([1, 2, 3, 4, 5].map(middle), [0, 0, 1, 1, 2]);
    }
}
