//! Order-Status (2.6): looks up a customer's last order, read-only.

use super::customer::Choice;
use super::outcome::Outcome;
use crate::session::{Refusal, Session};
use crate::terminal::Terminal;

/// The terminal's input (2.6.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    warehouse: u32,
    district: u32,
    customer: Choice,
}

impl Input {
    /// Generates the input of 2.6.1.
    pub fn generate(terminal: &mut Terminal) -> Self {
        Input {
            warehouse: terminal.warehouse,
            district: terminal.any_district(),
            customer: Choice::generate(&mut terminal.random),
        }
    }

    /// Executes the profile of 2.6.2.2.
    pub fn execute(&self, session: &mut Session) -> Result<Outcome, Refusal> {
        let (warehouse, district) = (self.warehouse, self.district);
        let number = self.customer.number(session, warehouse, district)?;
        let place = [warehouse.into(), district.into(), number.into()];
        let _shown: (String, String, String, String) = session.one(
            "select c_balance, c_first, c_middle, c_last from customer
             where c_w_id = ? and c_d_id = ? and c_id = ?",
            &place,
        )?;
        let (order, _entered, _carrier): (u32, String, Option<u32>) = session.one(
            "select o_id, o_entry_d, o_carrier_id from orders
             where o_w_id = ? and o_d_id = ? and o_c_id = ? order by o_id desc limit 1",
            &place,
        )?;
        let _lines: Vec<(u32, u32, u32, String, Option<String>)> = session.rows(
            "select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
             where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?",
            &[warehouse.into(), district.into(), order.into()],
        )?;
        Ok(Outcome::Committed)
    }
}
