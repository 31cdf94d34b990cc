//! Prefetches of a few references, computed by hand: the requested lines, their arrival, and their
//! use.

use crate::timing::definitions;
use crate::timing::steps;
use crate::timing::steps::Step;
use corehop_simulator::Machine;
use corehop_simulator::core_model::InOrder;
use corehop_simulator::timing::{
    Needs, Outcome, PrefetchCounters, PrefetcherName, Setting, Streams, Unknown, simulate,
};
use corehop_traces::{Trace, WriterOptions};
use std::path::Path;

/// A machine of two cores with L2s of this size in sets of four lines, and L1Ds of two lines.
fn machine(l2_size_bytes: u64) -> Machine {
    let text = format!(
        "name = \"tiny\"\ncores = 2\nline_size_bytes = 64\nmemory_latency_cycles = 199\n\
         hop_cost_cycles = 1009\n\
         l1i = {{ size_bytes = 128, ways = 1, latency_cycles = 2 }}\n\
         l1d = {{ size_bytes = 128, ways = 2, latency_cycles = 3 }}\n\
         l2 = {{ size_bytes = {l2_size_bytes}, ways = 4, latency_cycles = 11 }}\n\
         l3 = {{ size_bytes = 65536, ways = 16, latency_cycles = 41 }}\n"
    );
    Machine::from_toml(&text, Path::new("tiny.toml")).unwrap()
}

/// One step: thread, code block, the lines that its instruction accesses, and whether it stores.
type Line = (u32, u32, &'static [u64], bool);

fn load(block: u32, lines: &'static [u64]) -> Line {
    (0, block, lines, false)
}

/// A trace of these steps, one request for each thread.
fn trace(lines: &[Line]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("walk.trace");
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(&path, &options, "f0", 0x10_000).unwrap();
    definitions::functions(&mut writer, (module, 0x10_000), 2).unwrap();
    let threads = 1 + lines.iter().map(|line| line.0).max().unwrap();
    let mut steps = Vec::new();
    for thread in 0..threads {
        let own = lines.iter().filter(|line| line.0 == thread);
        steps.extend(own.enumerate().map(|(at, &(_, block, lines, store))| Step {
            thread,
            begins_request: at == 0,
            block,
            data: lines.iter().map(|line| (line * 64, store)).collect(),
        }));
    }
    // An additional request of each thread marks the end of the last one.
    steps.extend((0..threads).map(|thread| Step {
        thread,
        begins_request: true,
        block: 0,
        data: Vec::new(),
    }));
    let numbers: Vec<u64> = (1..=u64::from(threads) * 2).collect();
    steps::perform(writer, &vec![1; threads as usize], &steps, &numbers).unwrap();
    Trace::open(&path).unwrap()
}

/// Simulates one request of each connection, each on a separate core.
fn simulated(prefetcher: PrefetcherName, l2_size_bytes: u64, lines: &[Line]) -> Outcome {
    let machine = machine(l2_size_bytes);
    let trace = trace(lines);
    let executions = trace.executions();
    let needs = Needs {
        prefetcher,
        ..Needs::default()
    };
    let streams = Streams::annotated((&trace, executions), &[], &mut Unknown, needs).unwrap();
    let connections = streams.connections();
    let setting = setting(&machine, connections, prefetcher);
    simulate(&streams, &setting, InOrder::new).unwrap()
}

fn setting(machine: &Machine, connections: usize, prefetcher: PrefetcherName) -> Setting<'_> {
    Setting {
        cores: connections as u32,
        scheduler: "pinned".parse().unwrap(),
        prefetcher,
        warm_up: 0,
        ..Setting::closed_loop(machine, connections, connections as u64)
    }
}

const NEXT: PrefetcherName = PrefetcherName::NextLine;
const STRIDE: PrefetcherName = PrefetcherName::Stride;

/// Returns the numbers of issued and of useful prefetches of one connection.
fn issued_and_useful(prefetcher: PrefetcherName, lines: &[Line]) -> (u64, u64) {
    let outcome = simulated(prefetcher, 16_384, lines);
    let prefetches = outcome.prefetches();
    (prefetches.issued, prefetches.useful)
}

#[test]
fn a_walk_along_lines_finds_the_next_one_there_or_on_its_way() {
    let walk = [load(0, &[128, 129, 130, 131])];
    let outcome = simulated(NEXT, 512, &walk);
    // The fetch prefetches the next line of code from memory at cycle 0, and takes until 199. Line
    // 128 takes until 398. Line 129 is requested at 199 and arrives at 398: it takes until 409.
    // Line 130 is requested at 398 and arrives at 597, 188 cycles after 409. Line 131 is requested
    // at 409, arrives at 608, and is needed at 597: no later than an L2 would serve it.
    assert_eq!(outcome.elapsed_cycles, 608);
    let core = &outcome.per_core[0];
    let expected = PrefetchCounters {
        issued: 5,
        useful: 3,
        late: 1,
        late_cycles: 188 - 11,
        unused: 0,
    };
    assert_eq!(core.prefetches, expected);
    assert_eq!(core.counters.l2.misses(), 2, "what prefetches miss is none");
    assert_eq!(core.counters.l3.accesses(), 2);
    assert_eq!(core.counters.cycles, 608);
    let without = simulated(PrefetcherName::None, 512, &walk);
    assert_eq!(without.elapsed_cycles, 5 * 199);
    assert_eq!(without.prefetches(), PrefetchCounters::default());
}

#[test]
fn a_line_that_is_used_again_asks_for_no_other() {
    // 385 replaces 129 in its set, and 257 and 321 stay. The last 128, which is still in the L2,
    // could therefore request 129 again.
    let lines = &[128, 192, 256, 320, 128, 384, 256, 320, 128];
    let outcome = simulated(NEXT, 512, &[load(0, lines)]);
    assert_eq!(outcome.prefetches().issued, 6);
    assert_eq!(outcome.per_core[0].counters.l2.misses(), 6);
}

#[test]
fn prefetched_lines_are_replaced_before_they_are_used() {
    // Five lines of one set prefetch five of the other, whose four ways hold the last four.
    let outcome = simulated(NEXT, 512, &[load(0, &[128, 192, 256, 320])]);
    let prefetches = outcome.prefetches();
    assert_eq!((prefetches.issued, prefetches.unused), (5, 1));
    assert_eq!(prefetches.useful, 0);
    assert_eq!(
        outcome.evictions,
        [[2]],
        "of a prefetch, and of the fifth load"
    );
}

#[test]
fn stores_of_other_cores_take_prefetched_lines() {
    let outcome = simulated(NEXT, 512, &[load(0, &[128]), (1, 0, &[129], true)]);
    let of_core = |core: usize| {
        let prefetches = outcome.per_core[core].prefetches;
        (prefetches.issued, prefetches.useful, prefetches.unused)
    };
    // Lines of code and 129; the second core's L2 gets lines of code and 130.
    assert_eq!(of_core(0), (2, 0, 1));
    assert_eq!(of_core(1), (2, 0, 0));
    assert_eq!(outcome.per_core[0].counters.invalidated_lines, 1);
}

#[test]
fn no_prefetch_leaves_its_page() {
    // The code's next line is on its page.
    assert_eq!(issued_and_useful(NEXT, &[load(0, &[191, 192])]), (2, 0));
    let walk = [load(0, &[186]), load(0, &[188]), load(0, &[190])];
    assert_eq!(issued_and_useful(STRIDE, &walk), (1, 1));
}

#[test]
fn an_instruction_is_followed_through_the_states_of_its_stride() {
    let loads = |count: usize| -> Vec<Line> {
        let lines: [&'static [u64]; 8] = [
            &[128],
            &[130],
            &[132],
            &[134],
            &[200],
            &[207],
            &[209],
            &[211],
        ];
        lines[..count].iter().map(|lines| load(0, lines)).collect()
    };
    let after = |count| issued_and_useful(STRIDE, &loads(count));
    assert_eq!(after(1), (0, 0), "initial, no stride yet");
    assert_eq!(after(2), (1, 0), "transient, 132 is asked for");
    assert_eq!(after(3), (2, 1), "steady");
    assert_eq!(after(4), (3, 2), "steady");
    assert_eq!(after(5), (4, 2), "initial again, the stride stays: 202");
    assert_eq!(after(6), (5, 2), "transient: 214");
    assert_eq!(after(7), (5, 2), "no prediction");
    assert_eq!(after(8), (6, 2), "transient: 213");
}

#[test]
fn two_instructions_have_strides_of_their_own() {
    let walks = [
        load(0, &[128]),
        load(1, &[320]),
        load(0, &[130]),
        load(1, &[319]),
        load(0, &[132]),
        load(1, &[318]),
    ];
    assert_eq!(issued_and_useful(STRIDE, &walks), (4, 2));
}

#[test]
fn a_prefetcher_that_goes_by_instructions_is_refused_streams_without() {
    let (machine, trace) = (machine(512), trace(&[load(0, &[128])]));
    let streams = Streams::new(&trace, &[]).unwrap();
    let setting = setting(&machine, 1, STRIDE);
    let refused = simulate(&streams, &setting, InOrder::new).unwrap_err();
    let expected = "prefetcher stride needs instructions, but these connections were read without \
                    them: read them for this prefetcher";
    assert_eq!(refused.to_string(), expected);
}
