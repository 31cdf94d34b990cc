//! Stock-Level (2.8): counts recently sold items that are low in stock, read-only.

use super::outcome::Outcome;
use crate::session::{Refusal, Session};
use crate::terminal::Terminal;

/// Number of orders that count as recent (2.8.2.2).
const RECENT_ORDERS: u32 = 20;

/// The terminal's input (2.8.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    warehouse: u32,
    district: u32,
    threshold: u32,
}

impl Input {
    /// Generates the input of 2.8.1.
    pub fn generate(terminal: &mut Terminal) -> Self {
        Input {
            warehouse: terminal.warehouse,
            district: terminal.district,
            threshold: terminal.random.uniform(10..=20),
        }
    }

    /// Executes the profile of 2.8.2.2.
    pub fn execute(&self, session: &mut Session) -> Result<Outcome, Refusal> {
        let (next,): (u32,) = session.one(
            "select d_next_o_id from district where d_w_id = ? and d_id = ?",
            &[self.warehouse.into(), self.district.into()],
        )?;
        let _low: (u32,) = session.one(
            "select count(distinct s_i_id) from order_line, stock
             where ol_w_id = ? and ol_d_id = ? and ol_o_id < ? and ol_o_id >= ?
                 and s_w_id = ? and s_i_id = ol_i_id and s_quantity < ?",
            &[
                self.warehouse.into(),
                self.district.into(),
                next.into(),
                next.saturating_sub(RECENT_ORDERS).into(),
                self.warehouse.into(),
                self.threshold.into(),
            ],
        )?;
        Ok(Outcome::Committed)
    }
}
