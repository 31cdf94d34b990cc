//! `check`: the consistency conditions of clause 3.3.2, which hold between any two transactions.
//!
//! Each condition is a query that counts violations. 3.3.2.11 concerns only the initial population
//! and is checked in the tests.

use crate::connection::Server;
use crate::error::Error;
use crate::population::loaded_size;
use clap::Args;
use corehop_support::quantity::duration::seconds;
use std::time::Duration;

/// The command line of `check`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    server: Server,
    /// Time after which a single statement is given up, in seconds or such as 5m
    #[arg(long, value_name = "TIME", default_value = "300", value_parser = seconds)]
    max_seconds: Duration,
}

/// Clauses, and queries for their number of violations.
const CONDITIONS: [(&str, &str); 11] = [
    (
        "3.3.2.1",
        "select count(*) from warehouse
         where w_ytd <> (select sum(d_ytd) from district where d_w_id = w_id)",
    ),
    (
        "3.3.2.2",
        "select count(*) from district
         where d_next_o_id - 1 <>
                 (select max(o_id) from orders where o_w_id = d_w_id and o_d_id = d_id)
             or d_next_o_id - 1 <>
                 (select max(no_o_id) from new_order where no_w_id = d_w_id and no_d_id = d_id)",
    ),
    (
        "3.3.2.3",
        "select count(*) from (select 1 from new_order group by no_w_id, no_d_id
             having max(no_o_id) - min(no_o_id) + 1 <> count(*)) as gaps",
    ),
    (
        "3.3.2.4",
        "select count(*) from district
         where (select sum(o_ol_cnt) from orders where o_w_id = d_w_id and o_d_id = d_id)
             <> (select count(*) from order_line where ol_w_id = d_w_id and ol_d_id = d_id)",
    ),
    (
        "3.3.2.5",
        "select count(*) from orders left join new_order
             on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
         where (o_carrier_id is null) <> (no_o_id is not null)",
    ),
    (
        "3.3.2.6",
        "select count(*) from orders where o_ol_cnt <> (select count(*) from order_line
             where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id)",
    ),
    (
        "3.3.2.7",
        "select count(*) from order_line join orders
             on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
         where (ol_delivery_d is null) <> (o_carrier_id is null)",
    ),
    (
        "3.3.2.8",
        "select count(*) from warehouse
         where w_ytd <> (select sum(h_amount) from history where h_w_id = w_id)",
    ),
    (
        "3.3.2.9",
        "select count(*) from district
         where d_ytd <> (select sum(h_amount) from history
             where h_w_id = d_w_id and h_d_id = d_id)",
    ),
    ("3.3.2.10", CUSTOMER_BALANCE),
    ("3.3.2.12", CUSTOMER_TURNOVER),
];

/// A balance is the delivered amount minus the paid amount.
const CUSTOMER_BALANCE: &str = "
    with paid as (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as amount from history
                  group by h_c_w_id, h_c_d_id, h_c_id),
    delivered as (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as amount from orders
                  join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
                  where ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id)
    select count(*) from customer
        left join paid on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id
        left join delivered on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
    where c_balance <> coalesce(delivered.amount, 0) - coalesce(paid.amount, 0)";

/// The sum of balance and payments is the delivered amount.
const CUSTOMER_TURNOVER: &str = "
    with delivered as (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as amount from orders
                  join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
                  where ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id)
    select count(*) from customer
        left join delivered on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
    where c_balance + c_ytd_payment <> coalesce(delivered.amount, 0)";

/// Checks every condition and prints the clauses that hold.
///
/// # Errors
/// [`Error::Inconsistent`] for the first condition that does not hold.
pub fn check(arguments: &Arguments) -> Result<(), Error> {
    let patience = arguments.max_seconds;
    let database = &arguments.server.database;
    let mut session = arguments.server.connect(Some(database), patience)?;
    loaded_size(&mut session, &arguments.server)?;
    for (clause, query) in CONDITIONS {
        let (violations,): (u64,) = session.one(query, &[])?;
        if violations > 0 {
            return Err(Error::Inconsistent { clause, violations });
        }
        println!("{clause} holds");
    }
    Ok(())
}
