//! New-Order (2.4): enters an order of 5 to 15 lines, read-write; the main part of the load.

use super::outcome::Outcome;
use crate::money::Cents;
use crate::session::{Refusal, Session};
use crate::terminal::Terminal;
use mysql::Value;

/// The terminal's input (2.4.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    warehouse: u32,
    district: u32,
    customer: u32,
    entered: Value,
    lines: Vec<Line>,
}

/// One item of the order.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    item: u32,
    supplier: u32,
    quantity: u32,
}

impl Input {
    /// Generates the input of 2.4.1.
    pub fn generate(terminal: &mut Terminal) -> Self {
        let district = terminal.any_district();
        let customer = terminal.random.customer();
        let line_count = terminal.random.uniform(5..=15);
        // 1 % request an item that does not exist, and are rolled back (2.4.1.4).
        let is_wrong = terminal.random.chance(1);
        let mut lines: Vec<Line> = (0..line_count).map(|_| Line::generate(terminal)).collect();
        if is_wrong && let Some(last) = lines.last_mut() {
            last.item = terminal.size.items() + 1;
        }
        Input {
            warehouse: terminal.warehouse,
            district,
            customer,
            entered: terminal.now(),
            lines,
        }
    }

    /// Executes the profile of 2.4.2.2.
    pub fn execute(&self, session: &mut Session) -> Result<Outcome, Refusal> {
        let (warehouse, district) = (self.warehouse, self.district);
        let _shown: (String, String, String, String) = session.one(
            "select c_discount, c_last, c_credit, w_tax from customer, warehouse
             where w_id = ? and c_w_id = w_id and c_d_id = ? and c_id = ?",
            &[warehouse.into(), district.into(), self.customer.into()],
        )?;
        let (order, _tax): (u32, String) = session.one(
            "select d_next_o_id, d_tax from district where d_w_id = ? and d_id = ? for update",
            &[warehouse.into(), district.into()],
        )?;
        session.execute(
            "update district set d_next_o_id = ? where d_w_id = ? and d_id = ?",
            &[(order + 1).into(), warehouse.into(), district.into()],
        )?;
        self.insert_order(session, order)?;
        for (number, line) in (1_u32..).zip(&self.lines) {
            if line.execute(session, self, order, number)? == Outcome::RolledBack {
                return Ok(Outcome::RolledBack);
            }
        }
        Ok(Outcome::Committed)
    }

    fn insert_order(&self, session: &mut Session, order: u32) -> Result<(), Refusal> {
        let is_local = self
            .lines
            .iter()
            .all(|line| line.supplier == self.warehouse);
        session.execute(
            "insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
             values (?, ?, ?, ?, ?, ?, ?)",
            &[
                self.warehouse.into(),
                self.district.into(),
                order.into(),
                self.customer.into(),
                self.entered.clone(),
                self.lines.len().into(),
                u32::from(is_local).into(),
            ],
        )?;
        session.execute(
            "insert into new_order (no_w_id, no_d_id, no_o_id) values (?, ?, ?)",
            &[self.warehouse.into(), self.district.into(), order.into()],
        )
    }
}

impl Line {
    /// Generates a line; 1 % are supplied by another warehouse (2.4.1.5).
    fn generate(terminal: &mut Terminal) -> Self {
        let item = terminal.random.item();
        let supplier = if terminal.random.chance(1) {
            terminal.other_warehouse()
        } else {
            terminal.warehouse
        };
        Line {
            item,
            supplier,
            quantity: terminal.random.uniform(1..=10),
        }
    }

    fn execute(
        &self,
        session: &mut Session,
        input: &Input,
        order: u32,
        number: u32,
    ) -> Result<Outcome, Refusal> {
        let item: Option<(Cents, String, String)> = session.optional(
            "select i_price, i_name, i_data from item where i_id = ?",
            &[self.item.into()],
        )?;
        let Some((price, _name, _data)) = item else {
            return Ok(Outcome::RolledBack);
        };
        let place = [Value::from(self.supplier), Value::from(self.item)];
        // The column of the district can only be selected by name.
        let stock = format!(
            "select s_quantity, s_dist_{:02}, s_data from stock
             where s_w_id = ? and s_i_id = ? for update",
            input.district
        );
        let (quantity, district_info, _data): (u32, String, String) =
            session.one(&stock, &place)?;
        let [supplier, item] = place;
        session.execute(
            "update stock set s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1,
                 s_remote_cnt = s_remote_cnt + ? where s_w_id = ? and s_i_id = ?",
            &[
                left_in_stock(quantity, self.quantity).into(),
                self.quantity.into(),
                u32::from(self.supplier != input.warehouse).into(),
                supplier.clone(),
                item.clone(),
            ],
        )?;
        session.execute(
            "insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id,
                 ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
             values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                input.warehouse.into(),
                input.district.into(),
                order.into(),
                number.into(),
                item,
                supplier,
                self.quantity.into(),
                (price * i64::from(self.quantity)).into(),
                district_info.into(),
            ],
        )?;
        Ok(Outcome::Committed)
    }
}

/// Returns S_QUANTITY after an order: 91 are added if fewer than 10 would be left (2.4.2.2).
fn left_in_stock(quantity: u32, ordered: u32) -> u32 {
    if quantity >= ordered + 10 {
        quantity - ordered
    } else {
        quantity + 91 - ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;
    use crate::transactions::{Kind, Transaction};

    fn drawn(count: usize) -> (Size, Vec<Input>) {
        let size = Size {
            warehouses: 3,
            scale: 30,
        };
        let mut terminal = Terminal::new(11, 0, size);
        let inputs = (0..count)
            .map(
                |_| match Transaction::generate(Kind::NewOrder, &mut terminal) {
                    Transaction::NewOrder(input) => input,
                    other => panic!("{other:?}"),
                },
            )
            .collect();
        (size, inputs)
    }

    #[test]
    fn one_order_in_a_hundred_asks_for_an_unused_item_last() {
        let (size, inputs) = drawn(5000);
        let mut wrong = 0;
        for input in &inputs {
            let (last, others) = input.lines.split_last().expect("five lines or more");
            assert!(others.iter().all(|line| line.item <= size.items()));
            wrong += usize::from(last.item == size.items() + 1);
        }
        assert!((25..=75).contains(&wrong), "{wrong} of 5000");
    }

    #[test]
    fn one_line_in_a_hundred_is_supplied_from_elsewhere() {
        let (_, inputs) = drawn(2000);
        let lines: Vec<&Line> = inputs.iter().flat_map(|input| &input.lines).collect();
        assert!(
            inputs
                .iter()
                .all(|input| (5..=15).contains(&input.lines.len()))
        );
        let remote = lines.iter().filter(|line| line.supplier != 1).count();
        assert!((120..=280).contains(&remote), "{remote} of {}", lines.len());
    }

    #[test]
    fn stock_is_filled_up_before_it_runs_below_ten() {
        assert_eq!(left_in_stock(20, 10), 10);
        assert_eq!(left_in_stock(19, 10), 100);
        assert_eq!(left_in_stock(10, 1), 100);
    }
}
