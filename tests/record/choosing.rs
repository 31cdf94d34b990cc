//! Sampled requests of a running server are recorded completely, with their numbers, and no others.

use crate::control::control;
use crate::recording::{Recording, compile};
use crate::redis;
use corehop_traces::{EndReason, Ending, Kind, Trace};
use std::collections::BTreeSet;

/// For both servers.
const ROWS: u64 = 200_000;
const CELLS: u64 = 50;

/// Request `n`, from 1, stores once to each cell of row `n`, in order, and to no other.
const ONE_THREAD: &str = r#"
#include <stdio.h>
enum { REQUESTS = 20000, ROWS = 200000, CELLS = 50 };
static volatile long rows[ROWS][CELLS];
void serve(int number) {
    for (int cell = 0; cell < CELLS; cell++) rows[number][cell] = cell;
}
int main(void) {
    printf("%p\n", (void *)rows);
    fflush(stdout);
    for (int number = 1; number <= REQUESTS; number++) serve(number);
    return 0;
}
"#;

/// Three threads, each of which stores once to each cell of the row that it selects. They run until
/// they are killed, because the number of requests that pass while instrumentation starts and stops
/// depends on the machine. They finally run slowly, so that no row is selected twice.
const THREADS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
enum { THREADS = 3, REQUESTS = 20000, ROWS = 200000, CELLS = 50 };
static volatile long rows[ROWS][CELLS];
static volatile long drawn;
void serve(int number) {
    for (int cell = 0; cell < CELLS; cell++) rows[number][cell] = cell;
}
static void *work(void *nothing) {
    for (;;) {
        long number = __atomic_add_fetch(&drawn, 1, __ATOMIC_SEQ_CST);
        serve(number % ROWS);
        if (number > REQUESTS) usleep(1000); // waits: goes on slowly until it is killed
    }
}
int main(void) {
    printf("%p\n", (void *)rows);
    fflush(stdout);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], 0, work, 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], 0);
    return 0;
}
"#;

/// Records sampled requests of a server that prints the address of its rows.
fn recorded(source: &str, choice: [&str; 6]) -> (Trace, u64) {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", source, &[]);
    let mut arguments = vec!["--request-at", "serve"];
    arguments.extend(choice);
    arguments.extend(["--", "./server"]);
    let mut recording = Recording::start_in(folder, arguments);
    let trace = recording.trace();
    let printed = recording.stdout();
    let rows = u64::from_str_radix(&printed.trim()[2..], 16).unwrap();
    (trace, rows)
}

/// Returns, by request, the cells that it stored to, as row and column.
fn stores_by_request(trace: &Trace, rows: u64) -> Vec<Vec<(u64, u64)>> {
    let mut stores = vec![Vec::new(); trace.requests().len()];
    let end = rows + ROWS * CELLS * 8;
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        // A thread without requests is recorded during the requests of others.
        let Some(request) = execution.request else {
            continue;
        };
        let within = execution
            .accesses
            .iter()
            .filter(|access| access.kind == Kind::Store && (rows..end).contains(&access.address));
        let cell = |address: u64| (address - rows) / 8;
        stores[request.index()]
            .extend(within.map(|a| (cell(a.address) / CELLS, cell(a.address) % CELLS)));
    }
    stores
}

fn whole_row(row: u64) -> Vec<(u64, u64)> {
    (0..CELLS).map(|cell| (row, cell)).collect()
}

#[test]
fn chosen_requests_are_recorded_whole_and_under_their_numbers() {
    let choice = ["--requests", "20", "--of", "20000", "--seed", "7"];
    let (trace, rows) = recorded(ONE_THREAD, choice);
    let numbers: Vec<u64> = trace.requests().iter().map(|r| r.number.unwrap()).collect();
    assert_eq!(numbers.len(), 20);
    assert!(numbers.is_sorted_by(|earlier, later| earlier < later));
    // Some are so far apart that the instrumentation was removed in between.
    assert!(numbers.windows(2).any(|pair| pair[1] - pair[0] > 1000));
    let expected: Vec<_> = numbers.iter().map(|&number| whole_row(number)).collect();
    assert_eq!(stores_by_request(&trace, rows), expected);
    assert!(trace.requests().iter().all(|request| request.complete));
    let reached = Ending::Finished(EndReason::RequestsReached);
    assert_eq!(*trace.ending(), reached);
}

#[test]
fn the_choice_follows_from_the_seed() {
    let numbers = |seed| {
        let choice = ["--requests", "5", "--of", "300", "--seed", seed];
        let (trace, _) = recorded(ONE_THREAD, choice);
        let requests = trace.requests().iter();
        requests.map(|r| r.number.unwrap()).collect::<Vec<_>>()
    };
    let with_7 = numbers("7");
    assert_eq!(with_7, numbers("7"));
    assert_ne!(with_7, numbers("8"));
}

#[test]
fn as_many_requests_are_recorded_whatever_the_threads_do() {
    // A request spoiled by a switch of another thread is replaced later.
    let choice = ["--requests", "40", "--of", "10000", "--seed", "1"];
    let (trace, rows) = recorded(THREADS, choice);
    let stores = stores_by_request(&trace, rows);
    assert_eq!(stores.len(), 40);
    let mut seen = BTreeSet::new();
    for row in &stores {
        assert_eq!(*row, whole_row(row[0].0));
        assert!(seen.insert(row[0].0));
    }
}

#[test]
fn of_redis_commands_those_chosen_are_recorded() {
    let choice = ["--requests", "5", "--of", "1000", "--seed", "3"];
    let (mut recording, stream) = redis::serving(&choice);
    redis::send_commands_and_the_last(&stream, 1000);
    let trace = recording.trace();
    assert_eq!(trace.requests().len(), 5);
    assert!(trace.requests().iter().all(|request| request.complete));
    assert_eq!(redis::entries(&trace, "processCommand"), 5);
    let said = recording.stderr();
    assert!(
        said.contains("5 requests as asked of 1000, chosen with seed 3"),
        "{said}"
    );
}

#[test]
fn requests_before_the_start_are_not_among_those_to_choose_from() {
    let choice = ["--paused", "--requests", "5", "--of", "50", "--seed", "3"];
    let (mut recording, stream) = redis::serving(&choice);
    redis::send_commands(&stream, 200);
    assert!(control(&recording, "start", &[]).status.success());
    redis::send_commands_and_the_last(&stream, 50);
    let trace = recording.trace();
    let numbers: Vec<_> = trace.requests().iter().map(|r| r.number.unwrap()).collect();
    assert_eq!(numbers.len(), 5);
    assert!(numbers.iter().all(|number| (201..=250).contains(number)));
}
