//! The five transactions of clause 2, one per file.
//!
//! Each is drawn as data first and executed then: what a connection asks never depends on what
//! the server answered or on how often it had to ask again, so a seed names the whole run. What
//! only a terminal would show (totals, names) is fetched as the profiles demand and not used.
//! The server's default isolation, repeatable read, with locking reads of what is updated.

mod customer;
mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

use crate::session::{Refusal, Session};
use crate::terminal::Terminal;

/// The types of transactions (5.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    /// All types, in the standard's order.
    pub const ALL: [Kind; 5] = [
        Kind::NewOrder,
        Kind::Payment,
        Kind::OrderStatus,
        Kind::Delivery,
        Kind::StockLevel,
    ];

    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "new_order",
            Kind::Payment => "payment",
            Kind::OrderStatus => "order_status",
            Kind::Delivery => "delivery",
            Kind::StockLevel => "stock_level",
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// As 2.4.1.4 wants it for 1 % of the New-Order transactions.
    RolledBack,
}

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
    /// Draws the input of a transaction of the given type.
    pub fn generate(kind: Kind, terminal: &mut Terminal) -> Self {
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
