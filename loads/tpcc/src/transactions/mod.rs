//! The five transactions of clause 2, one per file.
//!
//! Each is drawn as data first and executed then: what a connection asks never depends on what
//! the server answered or on how often it had to ask again, so a seed names the whole run. What
//! only a terminal would show (totals, names) is fetched as the profiles demand and not used.
//! The server's default isolation, repeatable read, with locking reads of what is updated.

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
    /// The next transaction of a terminal with all its input, whatever the server answers.
    pub fn next(terminal: &mut Terminal) -> Self {
        let kind = terminal.next_kind();
        Transaction::generate(kind, terminal)
    }

    /// Draws the input of a transaction of the given type, a second after the one before.
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

    /// Its type.
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
    /// [`Refusal::Contention`] where it may be tried again after a rollback.
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
