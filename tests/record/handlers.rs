//! Signals at any time: accesses that QEMU makes to deliver them do not count as the server's.

use crate::recording::Recording;
use corehop_traces::FunctionId;

/// Calls a function repeatedly, with a signal every millisecond.
const INTERRUPTED: &str = r#"
#include <signal.h>
#include <string.h>
#include <sys/time.h>
static volatile long sum;
static volatile int signals;
void leaf(void) { sum++; }
static void (*volatile called)(void) = leaf;
void serve(void) { for (int i = 0; i < 200; i++) called(); }
static void handle(int signal) { (void)signal; signals++; }
int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &timer, 0); // waits: counts its signals
    for (int request = 0; request < 300 || signals < 300; request++) serve();
    return 0;
}
"#;

#[test]
fn an_interrupted_execution_has_its_own_accesses_alone() {
    let mut recording = Recording::of(INTERRUPTED);
    let trace = recording.trace();
    let functions = trace.functions();
    let number = |name: &str| {
        let place = functions.iter().position(|f| f.symbol == name);
        place.map(FunctionId::from_index)
    };
    let (leaf, handle) = (number("leaf"), number("handle"));
    assert!(leaf.is_some(), "it was entered");
    let (mut calls, mut handled) = (0, 0);
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        handled += u64::from(handle.is_some() && execution.entry == handle);
        if execution.entry != leaf {
            continue;
        }
        calls += 1;
        // A load and a store of the sum, and the load of the return address.
        let accesses = execution.accesses.iter();
        let data = accesses.filter(|access| access.kind != corehop_traces::Kind::Fetch);
        assert_eq!(data.count(), 3);
    }
    assert!(calls >= 300 * 200, "{calls}");
    assert!(handled >= 100, "{handled}");
}
