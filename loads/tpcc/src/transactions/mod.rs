//! The five transactions of clause 2, one per file.
//!
//! The input of each is generated before its execution. So it never depends on the server's
//! responses or on the number of retries, and a seed determines the whole run. Data that only a
//! terminal would show (totals, names) is fetched as required by the profiles and not used. The
//! isolation is the server's default, repeatable read, with locking reads of updated rows.

mod customer;
mod delivery;
mod kind;
mod new_order;
mod order_status;
mod outcome;
mod payment;
mod stock_level;

pub use kind::Kind;
pub use outcome::Outcome;

use crate::session::{Refusal, Session};
use crate::terminal::Terminal;

/// A transaction with all its input.
#[derive(Clone, Debug, PartialEq)]
pub enum Transaction {
    NewOrder(new_order::Input),
    Payment(payment::Input),
    OrderStatus(order_status::Input),
    Delivery(delivery::Input),
    StockLevel(stock_level::Input),
}

impl Transaction {
    /// Returns a terminal's next transaction with all its input, independent of the server's
    /// responses.
    pub fn next(terminal: &mut Terminal) -> Self {
        let kind = terminal.next_kind();
        Transaction::generate(kind, terminal)
    }

    /// Generates the input of a transaction of this type, one second after the previous one.
    pub fn generate(kind: Kind, terminal: &mut Terminal) -> Self {
        terminal.pass_a_second();
        match kind {
            Kind::NewOrder => Transaction::NewOrder(new_order::Input::generate(terminal)),
            Kind::Payment => Transaction::Payment(payment::Input::generate(terminal)),
            Kind::OrderStatus => Transaction::OrderStatus(order_status::Input::generate(terminal)),
            Kind::Delivery => Transaction::Delivery(delivery::Input::generate(terminal)),
            Kind::StockLevel => Transaction::StockLevel(stock_level::Input::generate(terminal)),
        }
    }

    /// Returns its type.
    pub fn kind(&self) -> Kind {
        match self {
            Transaction::NewOrder(_) => Kind::NewOrder,
            Transaction::Payment(_) => Kind::Payment,
            Transaction::OrderStatus(_) => Kind::OrderStatus,
            Transaction::Delivery(_) => Kind::Delivery,
            Transaction::StockLevel(_) => Kind::StockLevel,
        }
    }

    /// Sends its statements, the last of which ends it. The session is not in autocommit mode.
    ///
    /// # Errors
    /// [`Refusal::Contention`] if it can be retried after a rollback.
    pub fn execute(&self, session: &mut Session) -> Result<Outcome, Refusal> {
        let outcome = match self {
            Transaction::NewOrder(input) => input.execute(session)?,
            Transaction::Payment(input) => input.execute(session)?,
            Transaction::OrderStatus(input) => input.execute(session)?,
            Transaction::Delivery(input) => input.execute(session)?,
            Transaction::StockLevel(input) => input.execute(session)?,
        };
        match outcome {
            Outcome::Committed => session.execute("commit", &[])?,
            Outcome::RolledBack => session.execute("rollback", &[])?,
        }
        Ok(outcome)
    }
}
