//! A recording of a server alone and a recording on a machine contain the same accesses in user
//! mode.
//!
//! Two recordings of one program differ in what the system decides: the address and content of the
//! stack, and the addresses of libraries. Therefore this program has no libraries, code and data at
//! fixed addresses, and its own stack in its data. One difference remains: on a machine, an
//! interrupt or a page fault may interrupt a code block. The block is then recorded as two
//! executions, and the line at which it continued is fetched twice in a row.

use super::{assert_guest, entries};
use crate::recording::{Recording, compile};
use corehop_traces::{Access, Kind, Trace};

const SERVER: &str = r#"
static char stack[8192] __attribute__((aligned(4096), used));
static volatile char page[4096] __attribute__((aligned(4096)));
__asm__(".globl _start\n_start:\n lea stack+8192(%rip), %rsp\n call run\n hlt\n");
static long call(long number, long first, long second, long third) {
    long result;
    __asm__ volatile("syscall" : "=a"(result)
                     : "0"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}
__attribute__((noinline)) static long deep(long depth) {
    return depth ? 1 + deep(depth - 1) * page[depth] : 0;
}
__attribute__((noinline)) void serve(long zeros, long number) {
    page[number & 4095]++;
    for (int place = 0; place < 4096; place += 64) page[place]++;
    if (call(0, zeros, (long)page, 256) != 256) call(60, 3, 0, 0);
    page[deep(40) & 7] = 1;
}
void run(void) {
    static const char path[] = "/dev/zero";
    long zeros = call(2, (long)path, 0, 0);
    page[0] = stack[0];
    for (long number = 0; number < REQUESTS; number++) serve(zeros, number);
    call(60, 0, 0, 0);
}
"#;

const OPTIONS: [&str; 5] = [
    "-nostdlib",
    "-static",
    "-no-pie",
    "-fno-stack-protector",
    "-fcf-protection=none",
];

fn recorded(requests: u32, mode: &[&str]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let server = SERVER.replace("REQUESTS", &requests.to_string());
    compile(folder.path(), "server", &server, &OPTIONS);
    let arguments = mode
        .iter()
        .chain(&["--request-at", "serve", "--", "./server"]);
    Recording::start_in(folder, arguments.copied()).trace()
}

/// Returns the accesses of user code in requests: all loads and stores, and fetched lines without
/// immediate repetitions.
fn of_user_code(trace: &Trace) -> Vec<Access> {
    let mut executions = trace.executions().with_virtual_addresses();
    let mut accesses = Vec::new();
    let mut fetched = None;
    while let Some(execution) = executions.next().unwrap() {
        let own = execution
            .accesses
            .iter()
            .filter(|access| execution.request.is_some() && !access.is_kernels());
        for &access in own {
            let line = (access.kind == Kind::Fetch).then_some(access.address / 64);
            if line.is_none() {
                accesses.push(access);
            } else if std::mem::replace(&mut fetched, line) != line {
                let [pc, address] = [access.address / 64 * 64; 2];
                accesses.push(Access {
                    pc,
                    address,
                    size_bytes: 64,
                    ..access
                });
            }
        }
    }
    accesses
}

/// Records the program both ways; user code must make the same accesses.
fn both_ways(served: u32, options: &[&str]) -> [Trace; 2] {
    assert_guest(&[]);
    let modes = ["--no-elision", "--system"];
    let both = modes.map(|mode| recorded(served, &[&[mode], options].concat()));
    let [of_alone, of_machine] = both.each_ref().map(of_user_code);
    let differs = of_alone
        .iter()
        .zip(&of_machine)
        .position(|(alone, machine)| alone != machine);
    assert_eq!(
        (differs, of_alone.len()),
        (None, of_machine.len()),
        "at the first of them"
    );
    both
}

#[test]
fn user_code_on_a_machine_does_what_it_does_alone() {
    let both = both_ways(8, &[]);
    assert_eq!(both.each_ref().map(|trace| trace.requests().len()), [8; 2]);
    let calls = both.each_ref().map(|trace| entries(trace, "deep"));
    assert_eq!(calls, [8 * 41; 2]);
}

/// The machine instruments code only shortly before the first chosen request. The requests differ:
/// each stores to another byte.
#[test]
fn the_same_requests_are_chosen_of_many_on_a_machine() {
    let both = both_ways(4000, &["--requests", "2", "--of", "4000", "--seed", "6"]);
    for trace in &both {
        let numbers = trace.requests().iter().map(|request| request.number);
        assert_eq!(numbers.collect::<Vec<_>>(), [Some(1241), Some(1677)]);
    }
}
