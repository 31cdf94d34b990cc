//! Clause 3.3.2 holds after loading and after concurrent runs, and `check` detects violations.

use crate::server::Server;
use mysql::prelude::Queryable;

#[test]
fn every_condition_holds_whatever_the_order_of_transactions() {
    let server = Server::start();
    server.succeed(&["load", "--scale", "100", "--warehouses", "2"]);
    assert_eq!(server.succeed(&["check"]).lines().count(), 11);
    server.succeed(&[
        "run",
        "--connections",
        "4",
        "--transactions",
        "400",
        "--seed",
        "9",
    ]);
    assert_eq!(server.succeed(&["check"]).lines().count(), 11);

    // 3.3.2.11 concerns the initial population: 2 100 delivered orders per district at scale 1.
    server.succeed(&["load", "--scale", "50", "--database", "fresh"]);
    let delivered: Option<u64> = server
        .connect()
        .query_first(
            "select (select count(*) from fresh.orders)
            - (select count(*) from fresh.new_order)",
        )
        .expect("a difference");
    assert_eq!(delivered, Some(10 * 2100 / 50));
}

#[test]
fn each_kind_of_damage_is_found_by_the_clause_that_speaks_of_it() {
    let server = Server::start();
    server.succeed(&["load", "--scale", "100"]);
    let mut connection = server.connect();
    for (damage, repair, clause) in [
        (
            "update warehouse set w_ytd = w_ytd + 1",
            "update warehouse set w_ytd = w_ytd - 1",
            "3.3.2.1 ",
        ),
        (
            "update district set d_next_o_id = d_next_o_id + 1 where d_id = 3",
            "update district set d_next_o_id = d_next_o_id - 1 where d_id = 3",
            "3.3.2.2 ",
        ),
        (
            "delete from new_order where no_d_id = 2 and no_o_id = 25",
            "insert into new_order values (1, 2, 25)",
            "3.3.2.3 ",
        ),
        (
            "update orders set o_ol_cnt = o_ol_cnt + 1 where o_id = 4 and o_d_id = 1",
            "update orders set o_ol_cnt = o_ol_cnt - 1 where o_id = 4 and o_d_id = 1",
            "3.3.2.4 ",
        ),
        (
            "update customer set c_balance = c_balance + 1 where c_id = 4",
            "update customer set c_balance = c_balance - 1 where c_id = 4",
            "3.3.2.10 ",
        ),
    ] {
        connection.query_drop("use tpcc").expect("the database");
        connection.query_drop(damage).expect(damage);
        let output = server.tpcc(&["check"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{damage}");
        assert!(message.contains(clause), "{damage}: {message}");
        connection.query_drop(repair).expect(repair);
    }
    server.succeed(&["check"]);
}
