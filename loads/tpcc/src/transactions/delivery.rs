//! Delivery (2.7): delivers the oldest new order of each of the ten districts.
//!
//! TPC-C queues it and executes it later (2.7.2); here it is executed at once. The number of orders
//! delivered by one database transaction is not specified (2.7); here it is all ten.

use super::outcome::Outcome;
use crate::session::{Refusal, Session};
use crate::size::DISTRICTS;
use crate::terminal::Terminal;
use mysql::Value;

/// The terminal's input (2.7.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    warehouse: u32,
    carrier: u32,
    delivered: Value,
}

impl Input {
    /// Generates the input of 2.7.1.
    pub fn generate(terminal: &mut Terminal) -> Self {
        Input {
            warehouse: terminal.warehouse,
            carrier: terminal.random.uniform(1..=10),
            delivered: terminal.now(),
        }
    }

    /// Executes the profile of 2.7.4.2; a district without new orders is skipped.
    pub fn execute(&self, session: &mut Session) -> Result<Outcome, Refusal> {
        for district in 1..=DISTRICTS {
            let oldest: Option<(u32,)> = session.optional(
                "select no_o_id from new_order where no_w_id = ? and no_d_id = ?
                 order by no_o_id limit 1 for update",
                &[self.warehouse.into(), district.into()],
            )?;
            if let Some((order,)) = oldest {
                self.deliver(session, district, order)?;
            }
        }
        Ok(Outcome::Committed)
    }

    fn deliver(&self, session: &mut Session, district: u32, order: u32) -> Result<(), Refusal> {
        let place = [self.warehouse.into(), district.into(), order.into()];
        session.execute(
            "delete from new_order where no_w_id = ? and no_d_id = ? and no_o_id = ?",
            &place,
        )?;
        // It may be newer than this transaction's snapshot: a locking read sees it anyway.
        let (customer,): (u32,) = session.one(
            "select o_c_id from orders where o_w_id = ? and o_d_id = ? and o_id = ? for update",
            &place,
        )?;
        session.execute(
            "update orders set o_carrier_id = ? where o_w_id = ? and o_d_id = ? and o_id = ?",
            &with(self.carrier.into(), &place),
        )?;
        session.execute(
            "update order_line set ol_delivery_d = ?
             where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?",
            &with(self.delivered.clone(), &place),
        )?;
        let (total,): (String,) = session.one(
            "select sum(ol_amount) from order_line
             where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?",
            &place,
        )?;
        session.execute(
            "update customer set c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1
             where c_w_id = ? and c_d_id = ? and c_id = ?",
            &[
                total.into(),
                self.warehouse.into(),
                district.into(),
                customer.into(),
            ],
        )
    }
}

fn with(first: Value, rest: &[Value; 3]) -> [Value; 4] {
    let [warehouse, district, order] = rest.clone();
    [first, warehouse, district, order]
}
