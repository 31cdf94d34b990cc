//! Payment (2.5): a customer pays; warehouse, district and customer balances change.

use super::customer::Choice;
use super::outcome::Outcome;
use crate::money::Cents;
use crate::session::{Refusal, Session};
use crate::terminal::Terminal;
use mysql::Value;

/// Length of C_DATA in characters (1.3.1).
const CUSTOMER_DATA_LENGTH: usize = 500;

/// The terminal's input (2.5.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    warehouse: u32,
    district: u32,
    customer_warehouse: u32,
    customer_district: u32,
    customer: Choice,
    amount: Cents,
    paid: Value,
}

impl Input {
    /// Generates the input of 2.5.1; 15 % pay at another warehouse than their own (2.5.1.2).
    pub fn generate(terminal: &mut Terminal) -> Self {
        let district = terminal.any_district();
        let (customer_warehouse, customer_district) = if terminal.random.chance(85) {
            (terminal.warehouse, district)
        } else {
            (terminal.other_warehouse(), terminal.any_district())
        };
        Input {
            warehouse: terminal.warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: Choice::generate(&mut terminal.random),
            amount: Cents(terminal.random.uniform(100..=500_000).into()),
            paid: terminal.now(),
        }
    }

    /// Executes the profile of 2.5.2.2.
    pub fn execute(&self, session: &mut Session) -> Result<Outcome, Refusal> {
        let (warehouse_name, district_name) = self.take_money(session)?;
        let number =
            self.customer
                .number(session, self.customer_warehouse, self.customer_district)?;
        self.credit_customer(session, number)?;
        session.execute(
            "insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount,
                 h_data) values (?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                number.into(),
                self.customer_district.into(),
                self.customer_warehouse.into(),
                self.district.into(),
                self.warehouse.into(),
                self.paid.clone(),
                self.amount.into(),
                format!("{warehouse_name}    {district_name}").into(),
            ],
        )?;
        Ok(Outcome::Committed)
    }

    /// Adds to the year-to-date balances of warehouse and district, and returns their names.
    fn take_money(&self, session: &mut Session) -> Result<(String, String), Refusal> {
        session.execute(
            "update warehouse set w_ytd = w_ytd + ? where w_id = ?",
            &[self.amount.into(), self.warehouse.into()],
        )?;
        let (warehouse_name, ..): (String, String, String, String, String, String) = session.one(
            "select w_name, w_street_1, w_street_2, w_city, w_state, w_zip from warehouse
             where w_id = ?",
            &[self.warehouse.into()],
        )?;
        session.execute(
            "update district set d_ytd = d_ytd + ? where d_w_id = ? and d_id = ?",
            &[
                self.amount.into(),
                self.warehouse.into(),
                self.district.into(),
            ],
        )?;
        let (district_name, ..): (String, String, String, String, String, String) = session.one(
            "select d_name, d_street_1, d_street_2, d_city, d_state, d_zip from district
             where d_w_id = ? and d_id = ?",
            &[self.warehouse.into(), self.district.into()],
        )?;
        Ok((warehouse_name, district_name))
    }

    /// Reduces the customer's balance; a customer with bad credit gets a note about the payment.
    fn credit_customer(&self, session: &mut Session, number: u32) -> Result<(), Refusal> {
        let place = [
            Value::from(self.customer_warehouse),
            Value::from(self.customer_district),
            Value::from(number),
        ];
        let shown: mysql::Row = session.one(
            "select c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,
                 c_zip, c_phone, c_since, c_credit_lim, c_discount, c_balance from customer
             where c_w_id = ? and c_d_id = ? and c_id = ? for update",
            &place,
        )?;
        let credit: String = shown.get(0).unwrap_or_default();
        let mut values = vec![Value::from(self.amount); 2];
        let statement = if credit == "BC" {
            let (data,): (String,) = session.one(
                "select c_data from customer where c_w_id = ? and c_d_id = ? and c_id = ?",
                &place,
            )?;
            values.push(self.note(number, &data).into());
            "update customer set c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?,
                 c_payment_cnt = c_payment_cnt + 1, c_data = ?
             where c_w_id = ? and c_d_id = ? and c_id = ?"
        } else {
            "update customer set c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?,
                 c_payment_cnt = c_payment_cnt + 1
             where c_w_id = ? and c_d_id = ? and c_id = ?"
        };
        values.extend(place);
        session.execute(statement, &values)
    }

    /// Returns C_DATA with this payment in front, truncated to its length.
    fn note(&self, number: u32, data: &str) -> String {
        let mut note = format!(
            "{number} {} {} {} {} {} | {data}",
            self.customer_district,
            self.customer_warehouse,
            self.district,
            self.warehouse,
            self.amount
        );
        note.truncate(CUSTOMER_DATA_LENGTH);
        note
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;
    use crate::transactions::{Kind, Transaction};

    #[test]
    fn payments_are_drawn_in_the_standards_shares() {
        let size = Size {
            warehouses: 4,
            scale: 30,
        };
        let mut terminal = Terminal::new(5, 1, size);
        let (mut remote, mut by_name) = (0, 0);
        for _ in 0..4000 {
            let Transaction::Payment(input) = Transaction::generate(Kind::Payment, &mut terminal)
            else {
                panic!("asked for a payment");
            };
            assert_eq!(input.warehouse, 2);
            assert!((Cents(100)..=Cents(500_000)).contains(&input.amount));
            remote += u32::from(input.customer_warehouse != 2);
            by_name += u32::from(matches!(input.customer, Choice::ByLastName(_)));
        }
        assert!(
            (520..=680).contains(&remote),
            "{remote} of 4000, 15 % wanted"
        );
        assert!(
            (2300..=2500).contains(&by_name),
            "{by_name} of 4000, 60 % wanted"
        );
    }
}
