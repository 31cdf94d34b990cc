//! A server with known accesses: the trace contains exactly these, to the byte.

use crate::recording::Recording;
use corehop_traces::{Access, Kind, RequestId, ThreadId, Trace};

const THREADS: usize = 3;
const ROUNDS: usize = 40;

/// Each thread serves ROUNDS + 1 requests on its own cells, and adds to a shared counter. A mutex
/// orders the writes of `turn` between threads. The first request runs alone, because work that
/// begins while everything is instrumented for it is omitted.
const SOURCE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
enum { THREADS = 3, ROUNDS = 40, CELLS = 50 };
static volatile long cells[THREADS][CELLS];
static volatile long counter;
static volatile char bytes[256] __attribute__((aligned(64)));
static volatile long turn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void serve(int thread) {
    for (int cell = 0; cell < CELLS; cell++) cells[thread][cell] = cell;
    __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
    (void)*(volatile long *)(bytes + 60);
    *(volatile short *)(bytes + 127) = 1;
    bytes[200] = 1;
    pthread_mutex_lock(&lock);
    turn = turn + 1;
    pthread_mutex_unlock(&lock);
}
static pthread_barrier_t begun;
static void *work(void *number) {
    int thread = (int)(long)number;
    if (thread == 0) serve(thread);
    pthread_barrier_wait(&begun);
    for (int round = thread == 0; round <= ROUNDS; round++) serve(thread);
    return 0;
}
int main(void) {
    printf("%p %p %p %p\n", (void *)cells, (void *)&counter, (void *)bytes, (void *)&turn);
    fflush(stdout);
    bytes[10] = 1;
    pthread_t threads[THREADS];
    pthread_barrier_init(&begun, 0, THREADS);
    for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], 0, work, (void *)t);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], 0);
    return 0;
}
"#;

struct Places {
    cells: u64,
    counter: u64,
    bytes: u64,
    turn: u64,
}

/// Records a server that prints addresses, and parses these.
fn recorded_from(source: &str) -> (Trace, Vec<u64>) {
    let mut recording = Recording::of(source);
    let trace = recording.trace();
    let printed = recording.stdout();
    let places = printed.split_whitespace();
    let places = places.map(|text| u64::from_str_radix(&text[2..], 16).unwrap());
    (trace, places.collect())
}

fn recorded() -> (Trace, Places) {
    let (trace, places) = recorded_from(SOURCE);
    let [cells, counter, bytes, turn] = places[..] else {
        panic!("the server printed {places:x?}");
    };
    let places = Places {
        cells,
        counter,
        bytes,
        turn,
    };
    (trace, places)
}

/// Returns the data accesses of each request to `size_bytes` bytes from `start`.
fn accesses_by_request(trace: &Trace, start: u64, size_bytes: u64) -> Vec<Vec<Access>> {
    let mut requests = vec![Vec::new(); trace.requests().len()];
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let Some(request) = execution.request else {
            continue;
        };
        let within = execution.accesses.iter().filter(|access| {
            access.kind != Kind::Fetch && (start..start + size_bytes).contains(&access.address)
        });
        requests[request.index()].extend(within.copied());
    }
    requests
}

/// Returns thread and kind of every access to the byte at `address`, in replay order.
fn accesses_to(trace: &Trace, address: u64) -> Vec<(ThreadId, Kind)> {
    let mut found = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let to_it = execution.accesses.iter().filter(|a| a.address == address);
        found.extend(to_it.map(|access| (execution.thread, access.kind)));
    }
    found
}

fn what(access: &Access) -> (u64, u16, Kind) {
    (access.address, access.size_bytes, access.kind)
}

#[test]
fn every_access_of_every_thread_is_recorded_exactly() {
    let (trace, places) = recorded();
    assert_eq!(trace.threads().len(), THREADS + 1);
    assert_eq!(trace.requests().len(), THREADS * (ROUNDS + 1));
    assert!(trace.requests().iter().all(|request| request.complete));

    let cells = accesses_by_request(&trace, places.cells, (THREADS * 50 * 8) as u64);
    for stores in &cells {
        let first = stores[0].address;
        assert_eq!((first - places.cells) % 400, 0);
        let expected: Vec<_> = (0..50)
            .map(|cell| (first + 8 * cell, 8, Kind::Store))
            .collect();
        assert_eq!(stores.iter().map(what).collect::<Vec<_>>(), expected);
    }
    for thread in 0..THREADS as u64 {
        let own = |stores: &&Vec<Access>| stores[0].address == places.cells + thread * 400;
        assert_eq!(cells.iter().filter(own).count(), ROUNDS + 1);
    }

    for counts in accesses_by_request(&trace, places.counter, 8) {
        let expected = [(places.counter, 8, Kind::Store)];
        assert_eq!(counts.iter().map(what).collect::<Vec<_>>(), expected);
    }
    for accesses in accesses_by_request(&trace, places.bytes, 256) {
        let expected = [
            (places.bytes + 60, 8, Kind::Load),
            (places.bytes + 127, 2, Kind::Store),
            (places.bytes + 200, 1, Kind::Store),
        ];
        assert_eq!(accesses.iter().map(what).collect::<Vec<_>>(), expected);
        assert_eq!(accesses[0].lines().count(), 2);
    }
    for accesses in accesses_by_request(&trace, places.turn, 8) {
        let kinds: Vec<Kind> = accesses.iter().map(|access| access.kind).collect();
        assert_eq!(kinds, [Kind::Load, Kind::Store]);
    }
}

#[test]
fn nothing_is_recorded_before_the_first_request() {
    let (trace, places) = recorded();
    assert_eq!(accesses_to(&trace, places.bytes + 10), []);
    let mut executions = trace.executions();
    let first = executions.next().unwrap().unwrap();
    assert_eq!(first.request, Some(RequestId(0)));
    let entered = &trace.functions()[first.entry.unwrap().index()];
    assert_eq!(entered.symbol, "serve");
}

#[test]
fn a_program_counter_lies_in_the_function_that_made_the_access() {
    let (trace, places) = recorded();
    let functions = trace.functions();
    let serve = functions.iter().find(|f| f.symbol == "serve").unwrap();
    let module = &trace.modules()[serve.module as usize];
    let start = module.load_bias + serve.offset;
    let stores = accesses_by_request(&trace, places.cells, 400);
    let mut stores = stores.iter().flatten().peekable();
    assert!(stores.peek().is_some());
    assert!(stores.all(|store| (start..start + serve.size_bytes).contains(&store.pc)));
}

/// A single thread, for which QEMU translates atomic instructions into a load and a store.
const ALONE: &str = r#"
#include <stdio.h>
static volatile long added, swapped, compared;
void serve(void) {
    __atomic_fetch_add(&added, 1, __ATOMIC_SEQ_CST);
    (void)__atomic_exchange_n(&swapped, 1, __ATOMIC_SEQ_CST);
    long expected = 0;
    __atomic_compare_exchange_n(&compared, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
int main(void) {
    printf("%p %p %p\n", (void *)&added, (void *)&swapped, (void *)&compared);
    serve();
    serve();
    return 0;
}
"#;

#[test]
fn an_atomic_is_one_store_also_before_there_are_threads() {
    let (trace, places) = recorded_from(ALONE);
    assert_eq!(places.len(), 3);
    for place in places {
        assert_eq!(accesses_to(&trace, place), [(ThreadId(0), Kind::Store); 2]);
    }
}

/// Two threads alternate through pipes.
const TURNS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int pipes[2][2];
static volatile long turn;
void serve(void) { turn = turn + 1; }
static void *work(void *number) {
    long own = (long)number;
    char byte;
    for (int round = 0; round < 200; round++) {
        if (read(pipes[own][0], &byte, 1) != 1) __builtin_trap();
        serve();
        if (write(pipes[1 - own][1], &byte, 1) != 1) __builtin_trap();
    }
    return 0;
}
int main(void) {
    printf("%p\n", (void *)&turn);
    pthread_t other;
    if (pipe(pipes[0]) || pipe(pipes[1]) || write(pipes[0][1], "x", 1) != 1) return 1;
    pthread_create(&other, 0, work, (void *)1);
    work((void *)0);
    pthread_join(other, 0);
    return 0;
}
"#;

#[test]
fn threads_that_hand_over_through_the_kernel_replay_in_their_order() {
    let (trace, places) = recorded_from(TURNS);
    let turns = accesses_to(&trace, places[0]);
    let first = turns[0].0;
    let other = ThreadId(1 - first.0);
    let expected: Vec<_> = (0..800)
        .map(|place| {
            let thread = if place / 2 % 2 == 0 { first } else { other };
            let kind = if place % 2 == 0 {
                Kind::Load
            } else {
                Kind::Store
            };
            (thread, kind)
        })
        .collect();
    assert_eq!(turns, expected);
}
