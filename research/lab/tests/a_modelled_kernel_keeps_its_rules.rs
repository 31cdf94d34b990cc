//! A synthetic kernel evicts the table's number of lines from full caches. A replay of a trace with
//! it has the counts of an oracle that receives its lines by the rules of
//! `research/kernel-model.md`, call by call.

use crate::modelled::{CODE, modelled, naive_references, row};
use crate::oracle::Oracle;
use crate::random::{equal, holds, machines};
use corehop_simulator::detail::replay_by_mode;
use corehop_simulator::{Counters, Machine, ReplayOptions, Split, replay};
use corehop_traces::Kind;
use proptest::collection::vec;
use proptest::prelude::*;

/// The caches on which the table was measured.
fn core_i7() -> Machine {
    let text = "\
name = \"core-i7\"
cores = 1
line_size_bytes = 64
memory_latency_cycles = 250
hop_cost_cycles = 0
l1i = { size_bytes = 32768, ways = 4, latency_cycles = 4 }
l1d = { size_bytes = 32768, ways = 8, latency_cycles = 4 }
l2 = { size_bytes = 262144, ways = 8, latency_cycles = 10, inclusion = \"non-inclusive\" }
l3 = { size_bytes = 8388608, ways = 16, latency_cycles = 40 }
";
    Machine::from_toml(text, "core-i7.toml".as_ref()).unwrap()
}

#[test]
fn a_call_takes_from_full_caches_what_was_measured() {
    for (call, [l1d, l2]) in [
        (libc_number("stat"), [186, 660 - 32]),
        (libc_number("pread64"), [294, 679 - 32]),
        (libc_number("pwrite64"), [373, 985 - 50]),
    ] {
        // The program's data fills every way of the L1D and of the L2, referenced line by line.
        let steps = [(0, (0..4096).collect(), vec![call])];
        let trace = modelled(&steps);
        let options = ReplayOptions::default();
        let modes = replay_by_mode(&trace, &core_i7(), &Split::default(), &options);
        let modes = modes.unwrap().unwrap();
        assert_eq!(modes.replaced.l1d.user_by_kernel, l1d, "call {call}");
        // The line of code has replaced one of data.
        let all = modes.replaced.l2.user_by_kernel;
        let code = modes.visits[0].footprint.code_lines;
        assert_eq!(all, l2 + code, "call {call}");
        assert_eq!(modes.visits[0].footprint.lines, l2 + code, "call {call}");
    }
}

/// System call numbers of x86-64.
fn libc_number(name: &str) -> i32 {
    match name {
        "read" => 0,
        "stat" => 4,
        "pread64" => 17,
        "pwrite64" => 18,
        "clock_gettime" => 228,
        "openat" => 257,
        _ => panic!("{name}"),
    }
}

#[test]
fn a_replay_with_a_modelled_kernel_counts_what_the_oracle_counts() {
    let call = prop::sample::select(vec![0, 4, 17, 18, 228, 257]);
    let step = (Just(0), vec(0u64..40, 0..6), vec(call, 0..2));
    holds(
        "modelled kernels equal the oracle's",
        (vec(step, 1..12), machines()),
        |(steps, machine)| {
            if steps
                .iter()
                .all(|(_, _, calls)| calls.iter().all(|&call| row(call).is_none()))
            {
                return Ok(());
            }
            let mut oracle = Oracle::new(&machine, 1);
            for (_, lines, calls) in &steps {
                oracle.access(0, Kind::Fetch, CODE / 64);
                lines
                    .iter()
                    .for_each(|&line| oracle.access(0, Kind::Load, line));
                for &call in calls {
                    let Some(row) = row(call) else { continue };
                    for (kind, line) in naive_references(call as u64, row) {
                        oracle.access(0, kind, line);
                    }
                }
            }
            let trace = modelled(&steps);
            let options = ReplayOptions::default();
            let counted = replay(&trace, &machine, &Split::default(), &options).unwrap();
            let expected: Counters = oracle.counters().into_iter().sum();
            equal(counted.counters, expected)
        },
    );
}
