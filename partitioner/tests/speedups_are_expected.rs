//! The speedups that timed replays expect: of two phases that do not fit one L2 together, and of
//! what no split helps.

use crate::definitions;
use crate::steps::{Step, perform};
use corehop_partitioner::expected::{OF_HOSTS, Speedup, speedups};
use corehop_simulator::timing::{Error as Timed, PrefetcherName};
use corehop_simulator::{CoreId, Machine, Split};
use corehop_traces::{FunctionId, Trace, WriterOptions};
use std::path::Path;

/// An L2 of 64 pages in 16 places.
fn machine(hop_cost_cycles: u32) -> Machine {
    let text = format!(
        "\
name = \"small\"
cores = 2
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = {hop_cost_cycles}
l1i = {{ size_bytes = 4096, ways = 1, latency_cycles = 2 }}
l1d = {{ size_bytes = 4096, ways = 1, latency_cycles = 3 }}
l2 = {{ size_bytes = 262144, ways = 4, latency_cycles = 11 }}
l3 = {{ size_bytes = 4194304, ways = 4, latency_cycles = 41 }}
core = {{ reorder_window_instructions = 1 }}
translation = {{ tlb = [{{ level = 1, page_sizes = [\"4K\"], entries = 4 }}] }}
"
    );
    Machine::from_toml(&text, Path::new("small.toml")).unwrap()
}

/// Records requests whose two functions each load the lines of this many pages of their own.
fn server(folder: &Path, pages: u64) -> Trace {
    let path = folder.join("server.trace");
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(&path, &options, "f0", 0x10_000).unwrap();
    definitions::functions(&mut writer, (module, 0x10_000), 2).unwrap();
    let mut steps = Vec::new();
    for _ in 0..12 {
        for function in 0..2 {
            let first = 0x100_0000 * u64::from(function + 1);
            for page in 0..pages {
                let line = |line: u64| (first + page * 4096 + line * 64, false);
                steps.push(Step {
                    thread: 0,
                    begins_request: function == 0 && page == 0,
                    block: function,
                    data: (0..64).map(line).collect(),
                });
            }
        }
    }
    perform(writer, &[1], &steps, &(1..=12).collect::<Vec<_>>()).unwrap();
    Trace::open(&path).unwrap()
}

fn split() -> Split {
    Split::new([(FunctionId(0), CoreId(0)), (FunctionId(1), CoreId(1))])
}

fn expected(pages: u64, hop_cost_cycles: u32) -> Speedup {
    let folder = tempfile::tempdir().unwrap();
    let trace = server(folder.path(), pages);
    let split = split();
    let machine = machine(hop_cost_cycles);
    let of = || speedups(&trace, (&machine, OF_HOSTS), &[&split], &|_| ());
    let found = of().unwrap().unwrap();
    assert_eq!(of().unwrap().unwrap(), found, "the same every time");
    assert!(found[0].low <= found[0].median && found[0].median <= found[0].high);
    found[0]
}

#[test]
fn phases_that_evict_each_other_are_faster_on_two_cores() {
    // 40 of 64 pages for each phase. By address they fit; at random places, in part.
    let speedup = expected(40, 100);
    assert!(speedup.low > 1.1, "{speedup:?}");
    assert!(speedup.high > speedup.low, "{speedup:?}");
}

#[test]
fn phases_that_fit_one_cache_are_slower_with_hops() {
    let speedup = expected(4, 5000);
    assert!(speedup.high < 1.0, "{speedup:?}");
}

#[test]
fn without_whole_requests_there_is_no_throughput() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.trace");
    let options = WriterOptions::default();
    let (mut writer, module) = definitions::begin(&path, &options, "f0", 0x10_000).unwrap();
    definitions::functions(&mut writer, (module, 0x10_000), 2).unwrap();
    let step = Step {
        thread: 0,
        begins_request: true,
        block: 0,
        data: Vec::new(),
    };
    perform(writer, &[1], &[step], &[1]).unwrap();
    let trace = Trace::open(&path).unwrap();
    let split = split();
    let machine = machine(100);
    let on = (&machine, PrefetcherName::None);
    let found = speedups(&trace, on, &[&split], &|_| ());
    assert!(
        matches!(
            found,
            Ok(None) | Err(corehop_partitioner::Error::Timed(Timed::NoConnections))
        ),
        "{found:?}"
    );
    let none = speedups(&trace, on, &[], &|_| ());
    assert!(matches!(none, Ok(None)), "{none:?}");
}
