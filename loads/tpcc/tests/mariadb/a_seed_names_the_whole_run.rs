//! The same seed produces the same tables, byte for byte, and every request is counted.

use crate::server::Server;
use mysql::prelude::Queryable;
use serde_json::Value;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Five minutes, after which a hanging test fails.
const MOST_LOOKS: u32 = 15_000;

/// Loads a database, runs transactions and returns the checksums of its tables.
fn tables_after(server: &Server, database: &str, load_seed: &str, run_seed: &str) -> Value {
    let database = ["--database", database];
    let load = ["load", "--scale", "100", "--seed", load_seed];
    server.succeed(&[&load[..], &database[..]].concat());
    let run = ["run", "--transactions", "100", "--seed", run_seed];
    server.succeed(&[&run[..], &database[..]].concat());
    let checksums = server.succeed(&[&["checksum", "--json"][..], &database[..]].concat());
    serde_json::from_str::<Value>(&checksums).expect("JSON")["tables"].clone()
}

#[test]
fn the_same_seeds_leave_the_same_tables() {
    let server = Server::start();
    let first = tables_after(&server, "first", "1", "1");
    assert_eq!(first.as_object().map(serde_json::Map::len), Some(9));
    assert_eq!(first, tables_after(&server, "again", "1", "1"));

    let other_run = tables_after(&server, "other_run", "1", "2");
    assert_ne!(first["history"], other_run["history"]);
    assert_eq!(first["item"], other_run["item"]);
    let other_load = tables_after(&server, "other_load", "2", "1");
    assert_ne!(first["item"], other_load["item"]);
}

/// Returns the number of requests so far, except those of the observer, counted in `observed`.
///
/// Waits until the observer is alone, because quits are counted after the program has ended.
fn questions(observer: &mut mysql::Conn, observed: &mut u64) -> u64 {
    let mut status = |name: &str| -> u64 {
        *observed += 1;
        let row: Option<(String, u64)> = observer
            .query_first(format!("show global status like '{name}'"))
            .expect("a status");
        row.expect("a row").1
    };
    let mut looks = 0;
    while status("Threads_connected") != 1 {
        assert!(looks < MOST_LOOKS, "somebody stays connected");
        std::thread::sleep(LOOK_EVERY); // waits: between looks
        looks += 1;
    }
    status("Questions") - *observed
}

#[test]
fn the_server_counts_the_requests_that_are_reported() {
    let server = Server::start();
    server.succeed(&["load", "--scale", "100"]);
    let mut observer = server.connect();
    let mut observed = 0;
    let before = questions(&mut observer, &mut observed);
    let run = [
        "run",
        "--connections",
        "3",
        "--transactions",
        "30",
        "--json",
    ];
    let report: Value = serde_json::from_str(&server.succeed(&run)).expect("JSON");
    let asked = questions(&mut observer, &mut observed) - before;

    assert_eq!(report["requests"], asked);
    assert_eq!(
        report["statements"],
        asked - 3,
        "a connection ends with a good-bye"
    );
    let each = report["statements_per_connection"]
        .as_array()
        .expect("a list");
    assert_eq!(
        each.iter().filter_map(Value::as_u64).sum::<u64>(),
        asked - 3
    );
    assert_eq!(each.len(), 3);
    let done = ["committed", "rolled_back"].map(|key| report[key].as_u64().expect("a count"));
    assert_eq!(done.iter().sum::<u64>(), 30);
}
