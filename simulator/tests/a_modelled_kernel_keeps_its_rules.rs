//! A made-up kernel takes from full caches what its table says, and a replay of a trace with it
//! counts what the oracle counts that is told its lines by the rules of
//! `docs/reference/kernel-model.md`, call by call.

mod oracle;
mod random;

use corehop_simulator::detail::replay_by_mode;
use corehop_simulator::kernel_model::{soares, write};
use corehop_simulator::{Counters, Machine, ReplayOptions, Split, replay};
use corehop_traces::{CodeBlock, EndReason, Header, Kind, ThreadId, Trace, Writer, WriterOptions};
use oracle::Oracle;
use proptest::collection::vec;
use proptest::prelude::*;
use random::{equal, holds, machines};
use std::path::Path;

/// What the thread does: an execution of the only code block, with loads of these lines, and then
/// the system calls of these numbers.
type Step = (Vec<u64>, Vec<i32>);

const CODE: u64 = 0x40_0000;

fn record(steps: &[Step], path: &Path) -> Result<Trace, corehop_traces::Error> {
    let mut writer = Writer::create(path, &Header::default(), &WriterOptions::default())?;
    let block = writer.code_block(&CodeBlock::new(CODE, [4]), None)?;
    let thread = writer.thread(1, 1)?;
    assert_eq!(thread, ThreadId(0));
    writer.stamp(thread, 1)?;
    for (lines, calls) in steps {
        writer.execution(thread, block)?;
        for line in lines {
            writer.data(thread, 0, Kind::Load, 8, line * 64)?;
        }
        for &call in calls {
            writer.system_call(thread, call, Some(0))?;
        }
    }
    writer.finish(EndReason::ServerExited)?;
    Trace::open(path)
}

/// The same with the kernel that Soares's table makes.
fn modelled(steps: &[Step]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let [user, both] = ["user.trace", "both.trace"].map(|name| folder.path().join(name));
    let trace = record(steps, &user).unwrap();
    write(&trace, (soares::NAME, &soares::footprint), &both).unwrap();
    Trace::open(&both).unwrap()
}

/// The caches that the table was measured on.
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
        // Data of the program's in every way of the L1D and of the L2, referenced line by line.
        let steps = [((0..4096).collect(), vec![call])];
        let trace = modelled(&steps);
        let options = ReplayOptions::default();
        let modes = replay_by_mode(&trace, &core_i7(), &Split::default(), &options);
        let modes = modes.unwrap().unwrap();
        assert_eq!(modes.replaced.l1d.user_by_kernel, l1d, "call {call}");
        // The line of code has taken the place of one of data.
        let all = modes.replaced.l2.user_by_kernel;
        let code = modes.visits[0].footprint.code_lines;
        assert_eq!(all, l2 + code, "call {call}");
        assert_eq!(modes.visits[0].footprint.lines, l2 + code, "call {call}");
    }
}

/// The numbers of x86-64.
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

/// Lines of the L1I, of the L1D and of the L2 that a call of this number loses, of those that are
/// tried.
fn row(call: i32) -> Option<[u64; 3]> {
    match call {
        0 | 17 => Some([32, 294, 679]),
        4 => Some([32, 186, 660]),
        18 => Some([50, 373, 985]),
        257 => Some([24, 120, 450]),
        _ => None,
    }
}

/// A call's references, as the rules have them.
fn naive_references(call: u64, [code, data, all]: [u64; 3]) -> Vec<(Kind, u64)> {
    let first_code = (0xffff_9000_0000_0000 + (call << 20)) / 64;
    let first_data = (0xffff_a000_0000_0000 + (call << 20)) / 64;
    let first_set = call * 8 % 64;
    let mut loads = Vec::new();
    for line in 0..data {
        let (set, way) = ((first_set + line / 8) % 64, line % 8);
        loads.push(first_data + way * 64 + set);
    }
    let full_sets = data / 8;
    let (mut set, mut way) = (0, 8);
    while (loads.len() as u64) < all - code {
        loads.push(first_data + way * 64 + (first_set + set) % 64);
        set += 1;
        if set == full_sets {
            (set, way) = (0, way + 1);
        }
    }
    let mut references = Vec::new();
    let mut loaded = 0;
    for line in 0..code {
        references.push((Kind::Fetch, first_code + first_set + line));
        let until = (line + 1) * loads.len() as u64 / code;
        while loaded < until {
            references.push((Kind::Load, loads[loaded as usize]));
            loaded += 1;
        }
    }
    references
}

#[test]
fn a_replay_with_a_modelled_kernel_counts_what_the_oracle_counts() {
    let call = prop::sample::select(vec![0, 4, 17, 18, 228, 257]);
    let step = (vec(0u64..40, 0..6), vec(call, 0..2));
    holds(
        "modelled kernels equal the oracle's",
        (vec(step, 1..12), machines()),
        |(steps, machine)| {
            if steps
                .iter()
                .all(|(_, calls)| calls.iter().all(|&call| row(call).is_none()))
            {
                return Ok(());
            }
            let mut oracle = Oracle::new(&machine, 1);
            for (lines, calls) in &steps {
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
