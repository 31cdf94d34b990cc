//! The trace contains the sources of addresses, so a miss costs the wait that it causes: a walk
//! along pointers waits for each miss in full, but independent loads overlap.

use crate::recording::Recording;
use corehop_simulator::core_model::{AddressSources, CoreModel, Interval, Reference, ServedBy};
use corehop_simulator::{LineId, Machine};
use corehop_traces::{Access, Execution, RequestId, Trace};
use std::collections::{HashMap, HashSet};

/// Nodes of one line each, in a ring of unpredictable order. A request moves between nodes by what
/// it has loaded (0), by what it has loaded, stored elsewhere, and loaded again (1), or by what it
/// computes (2). Each variant executes as many instructions per node as [`INSTRUCTIONS`] states.
const SOURCE: &str = r#"
#include <stdio.h>
enum { NODES = 1024, VISITED = 560, LINE = 64 };
static char nodes[NODES * LINE] __attribute__((aligned(4096)));
static void *spilled;
static unsigned long after(unsigned long node) { return (node * 5 + 1) % NODES; }
static void along_pointers(void) {
    void *at = nodes;
    long left = VISITED;
    __asm__ volatile(
        ".p2align 4; 1: mov (%0), %0; dec %1; jnz 1b"
        : "+r"(at), "+r"(left) : : "memory", "cc");
}
static void along_pointers_in_memory(void) {
    void *at = nodes;
    long left = VISITED;
    __asm__ volatile(
        ".p2align 5; 1: mov (%0), %0; mov %0, %2; xor %0, %0; mov %2, %0; dec %1; jnz 1b"
        : "+r"(at), "+r"(left), "+m"(spilled) : : "memory", "cc");
}
static void by_numbers(void) {
    unsigned long node = 0, at, found;
    long left = VISITED;
    __asm__ volatile(
        ".p2align 5; 1: mov %0, %1; shl $6, %1; mov (%4, %1), %2\n"
        "lea 1(%0, %0, 4), %0; and $1023, %0; dec %3; jnz 1b"
        : "+r"(node), "=&r"(at), "=&r"(found), "+r"(left) : "r"(nodes) : "memory", "cc");
}
void serve(int how) {
    if (how == 0) along_pointers();
    if (how == 1) along_pointers_in_memory();
    if (how == 2) by_numbers();
}
int main(void) {
    for (unsigned long node = 0; node < NODES; node++)
        *(void **)(nodes + node * LINE) = nodes + after(node) * LINE;
    printf("%p\n", (void *)nodes);
    for (int how = 0; how < 4; how++) serve(how);
    return 0;
}
"#;

const VISITED: usize = 560;
const INSTRUCTIONS: [usize; 3] = [3, 6, 7];

/// Returns, by request, the sources of addresses for loads of nodes, and the stall cycles of loads.
/// Nodes are in memory, and all other lines in L1s.
fn told_of(trace: &Trace, machine: &Machine, nodes: u64) -> Vec<(Vec<u8>, u64)> {
    let mut told = Vec::new();
    let mut sources = AddressSources::new(trace);
    let mut executions = trace.executions();
    let mut core = Interval::new(machine);
    let mut seen = HashSet::new();
    let mut address_from = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        address_from.clear();
        let instructions = sources.execution(&execution, &mut address_from);
        let Some(request) = execution.request else {
            continue;
        };
        if told.len() <= request.index() {
            told.push((Vec::new(), 0));
            core = Interval::new(machine);
            seen.clear();
        }
        core.instructions(instructions);
        for (access, address_from) in references(&execution).zip(&address_from) {
            let of_nodes = (nodes..nodes + 1024 * 64).contains(&access.address);
            let is_new = of_nodes && seen.insert(access.address);
            let line = if of_nodes {
                (access.address - nodes) / 64
            } else {
                1024
            };
            core.reference(Reference {
                kind: access.kind,
                line: LineId(line as u32),
                served_by: if is_new {
                    ServedBy::Memory
                } else {
                    ServedBy::L1
                },
                address_from: *address_from,
                at_least_cycles: 0,
                takes_line: false,
                translation_cycles: 0,
            });
            if of_nodes {
                told[request.index()].0.push(*address_from);
            }
        }
        told[request.index()].1 = core.load_stalls();
    }
    told
}

/// Returns an access for each accessed line.
fn references<'e>(execution: &Execution<'e>) -> impl Iterator<Item = &'e Access> {
    let accesses = execution.accesses.iter();
    accesses.flat_map(|access| access.lines().map(move |_| access))
}

#[test]
fn misses_along_pointers_cost_their_latencies_and_others_share_one_a_window() {
    let mut recording = Recording::of(SOURCE);
    let trace = recording.trace();
    assert!(trace.has_dependences());
    let nodes = u64::from_str_radix(&recording.stdout().trim()[2..], 16).unwrap();
    let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
    let told = told_of(&trace, &machine, nodes);
    assert_eq!(told.len(), 4);

    let latency = u64::from(machine.memory_latency_cycles);
    let visited = VISITED as u64;
    let [chased, spilled, computed] = [0, 1, 2].map(|how| &told[how]);
    // From the previous load; the first from none that still matters.
    assert_eq!(chased.0.len(), VISITED);
    assert!(
        chased.0[1..].iter().all(|&back| back == 1),
        "{:?}",
        chased.0
    );
    assert_eq!(chased.1, visited * latency);
    // From the load of the stored value, which depends on the previous load.
    assert_eq!(spilled.0.len(), VISITED);
    assert!(
        spilled.0[1..].iter().all(|&back| back == 1),
        "{:?}",
        spilled.0
    );
    assert_eq!(spilled.1, visited * latency);
    assert_eq!(computed.0, [0; VISITED]);
    let window = machine.core.reorder_window_instructions as usize;
    let in_window = window.div_ceil(INSTRUCTIONS[2]);
    assert_eq!(in_window, 28);
    assert_eq!(computed.1, (VISITED / in_window) as u64 * latency);
    assert_eq!(VISITED % in_window, 0);
}

/// A loop of this number of instructions is one code block, as the counts above require.
#[test]
fn each_node_takes_the_instructions_that_are_written_there() {
    let trace = Recording::of(SOURCE).trace();
    let mut most = [(0, 0); 3];
    for (request, most) in (0..).zip(&mut most) {
        let mut runs = HashMap::new();
        let mut executions = trace.executions_of(&[RequestId(request)]);
        while let Some(execution) = executions.next().unwrap() {
            *runs.entry(execution.code_block).or_insert(0) += 1;
        }
        let (&block, &count) = runs.iter().max_by_key(|(_, count)| **count).unwrap();
        *most = (
            trace.code_blocks()[block as usize].instructions.len(),
            count,
        );
    }
    assert_eq!(
        most,
        INSTRUCTIONS.map(|instructions| (instructions, VISITED - 1))
    );
}
