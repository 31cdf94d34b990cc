//! A machine with two processors records the processor of each thread.

use super::{prepared_of, start};
use std::collections::BTreeMap;

const SERVER: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
static volatile int served;
__attribute__((noinline)) void serve(void) { served++; }
static void run_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) __builtin_trap();
}
static void *other(void *argument) {
    run_on(1);
    for (int i = 0; i < 30; i++) serve();
    return argument;
}
int main(void) {
    pthread_t thread;
    run_on(0);
    for (int i = 0; i < 10; i++) serve();
    pthread_create(&thread, 0, other, 0);
    for (int i = 0; i < 10; i++) serve();
    run_on(1);
    for (int i = 0; i < 20; i++) serve();
    pthread_join(thread, 0);
    return 0;
}
"#;

#[test]
fn each_thread_is_on_the_cpu_that_it_chose() {
    let folder = prepared_of(SERVER);
    let mut recording = start(folder, &["--guest-cpus", "2"], &["./server"]);
    let trace = recording.trace();
    let mut served = BTreeMap::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let entered = execution.entry;
        if entered.is_some_and(|function| trace.functions()[function.index()].name == "serve") {
            let cpu = trace.cpu(execution.thread, execution.stamp);
            *served.entry((execution.thread.0, cpu)).or_insert(0) += 1;
        }
    }
    let expected = [((0, Some(0)), 20), ((0, Some(1)), 20), ((1, Some(1)), 30)];
    assert_eq!(served, BTreeMap::from(expected));
    assert!(trace.cpus().iter().all(|on| on.cpu < 2));
}
