//! Checks that `check` proves one replay order of all threads that contains each thread's own
//! order. If a thread did something before another one took a stamp, a replay keeps that order.

use corehop_traces::{
    CodeBlock, EndReason, Header, Kind, OrderSummary, Rule, ThreadId, Trace, Writer, WriterOptions,
    check,
};
use proptest::prelude::*;
use std::path::Path;

const THREADS: usize = 4;

/// The next step of a thread, in real order.
#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    /// Whether the thread takes a stamp before it.
    stamped: bool,
    /// Number of further loads of the execution; the address of each is the step's index.
    loads: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (0..THREADS, prop::bool::weighted(0.4), 0u64..4).prop_map(|(thread, stamped, loads)| {
            Step {
                thread,
                stamped,
                loads,
            }
        });
    prop::collection::vec(step, 0..80)
}

fn begin(path: &Path, executions_per_chunk: usize) -> Writer {
    let options = WriterOptions {
        compression_level: 1,
        executions_per_chunk,
    };
    let mut writer = Writer::create(path, &Header::default(), &options).unwrap();
    let block = CodeBlock::new(0x1000, [4]);
    writer.code_block(&block, None).unwrap();
    for thread in 0..THREADS as u32 {
        writer.thread(9, 9 + thread).unwrap();
    }
    writer
}

/// Writes the steps; returns the stamp of each step's run. A stamp is the index of the next step.
fn write(path: &Path, steps: &[Step], executions_per_chunk: usize) -> Vec<u64> {
    let mut writer = begin(path, executions_per_chunk);
    let mut stamps = [None; THREADS];
    let mut taken = Vec::new();
    for (place, step) in (0u64..).zip(steps) {
        let thread = ThreadId::from_index(step.thread);
        let stamp = &mut stamps[step.thread];
        if step.stamped || stamp.is_none() {
            *stamp = Some(place);
            writer.stamp(thread, place).unwrap();
        }
        taken.extend(*stamp);
        writer.execution(thread, 0).unwrap();
        // The first load identifies the step; the others make runs of different lengths.
        for _ in 0..=step.loads {
            writer.data(thread, 0, Kind::Load, 8, place * 8).unwrap();
        }
    }
    writer.finish(EndReason::ServerExited).unwrap();
    taken
}

/// Returns the indices of the steps in replay order.
fn replayed(path: &Path) -> Vec<usize> {
    let trace = Trace::open(path).unwrap();
    let mut executions = trace.executions();
    let mut places = Vec::new();
    while let Some(execution) = executions.next().unwrap() {
        let load = execution.accesses.iter().find(|a| a.kind == Kind::Load);
        places.push(load.unwrap().address as usize / 8);
    }
    places
}

/// Returns the expected order, computed in the simplest way: sorted by stamp.
fn naive(steps: &[Step], stamps: &[u64]) -> (Vec<usize>, OrderSummary) {
    let mut places: Vec<usize> = (0..steps.len()).collect();
    places.sort_by_key(|&place| stamps[place]);
    let threads = |place: &usize| steps[*place].thread;
    let mut order = OrderSummary {
        threads: (0..THREADS)
            .filter(|&thread| steps.iter().any(|step| step.thread == thread))
            .count() as u32,
        executions: steps.len() as u64,
        ..OrderSummary::default()
    };
    let mut lengths = Vec::new();
    for run in places.chunk_by(|one, next| stamps[*one] == stamps[*next]) {
        // A fetch, the load that identifies the step, and the others.
        lengths.push(run.iter().map(|&place| 2 + steps[place].loads).sum());
    }
    order.runs = lengths.len() as u64;
    let switches = places
        .windows(2)
        .filter(|p| threads(&p[0]) != threads(&p[1]));
    order.switches = switches.count() as u64;
    lengths.sort_unstable();
    let middle = lengths.len().div_ceil(2).saturating_sub(1);
    order.median_run_accesses = lengths.get(middle).copied().unwrap_or(0);
    order.largest_run_accesses = lengths.last().copied().unwrap_or(0);
    (places, order)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_was_done_before_a_stamp_is_replayed_before_what_follows_it(
        steps in steps(),
        executions_per_chunk in 1usize..20,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("order.trace");
        let stamps = write(&path, &steps, executions_per_chunk);
        let (merged, order) = naive(&steps, &stamps);
        let replayed = replayed(&path);
        prop_assert_eq!(&replayed, &merged);
        let mut places = vec![0; steps.len()];
        for (place, &step) in replayed.iter().enumerate() {
            places[step] = place;
        }
        for later in 0..steps.len() {
            for earlier in 0..later {
                let same = steps[earlier].thread == steps[later].thread;
                if same || (earlier as u64) < stamps[later] {
                    prop_assert!(places[earlier] < places[later], "{} after {}", earlier, later);
                }
            }
        }
        let report = check(&path).unwrap();
        prop_assert_eq!(&report.findings, &[]);
        prop_assert_eq!(report.order, Some(order));
    }
}

/// Returns the findings of `check`, by rule and text, and whether it reports an order.
fn found(path: &Path) -> (Vec<(Rule, String)>, bool) {
    let report = check(path).unwrap();
    let findings = report.findings.into_iter();
    let findings = findings.map(|finding| (finding.violation.rule, finding.violation.detail));
    (findings.collect(), report.order.is_some())
}

#[test]
fn a_stamp_that_two_threads_have_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.trace");
    let mut writer = begin(&path, 2);
    for (thread, stamp) in [(2, 1), (1, 2), (2, 3), (0, 4), (2, 5), (1, 5), (2, 6)] {
        let thread = ThreadId(thread);
        writer.stamp(thread, stamp).unwrap();
        writer.execution(thread, 0).unwrap();
    }
    writer.finish(EndReason::ServerExited).unwrap();
    let detail = "threads 1 and 2 both have a run of stamp 5".into();
    assert_eq!(found(&path), (vec![(Rule::Order, detail)], false));
}

#[test]
fn requests_are_numbered_upwards_in_a_thread_and_apart_from_other_threads() {
    let numbered = |marks: &[(u32, u64)]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("order.trace");
        let mut writer = begin(&path, 2);
        for (stamp, &(thread, number)) in (1..).zip(marks) {
            let thread = ThreadId(thread);
            writer.stamp(thread, stamp).unwrap();
            writer.numbered_request(thread, number).unwrap();
            writer.execution(thread, 0).unwrap();
        }
        writer.finish(EndReason::ServerExited).unwrap();
        found(&path).0
    };
    let broken = |detail: &str| vec![(Rule::Requests, detail.to_owned())];
    // Two threads may count in one order and take their stamps in the other; 0 means unknown.
    assert_eq!(numbered(&[(0, 2), (1, 1), (0, 5), (1, 0), (1, 0)]), []);
    assert_eq!(
        numbered(&[(0, 2), (1, 1), (0, 5), (0, 5)]),
        broken("thread 0 has request 5 after 5")
    );
    assert_eq!(
        numbered(&[(0, 2), (1, 1), (1, 6), (1, 2)]),
        broken("thread 1 has request 2 after 6")
    );
    assert_eq!(
        numbered(&[(0, 2), (1, 1), (1, 2)]),
        broken("threads 0 and 1 both have request 2")
    );
}

/// Rearranges the entries of a trace, and corrects their numbers and checksums.
fn rearrange(path: &Path, order: impl Fn(&mut Vec<Vec<u8>>)) {
    let bytes = std::fs::read(path).unwrap();
    let mut entries = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let words = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        let (entry, others) = rest.split_at(8 + 8 * words);
        entries.push(entry.to_vec());
        rest = others;
    }
    order(&mut entries);
    for (entry, number) in entries.iter_mut().zip(0u32..) {
        entry[16..20].copy_from_slice(&number.to_le_bytes());
        entry[20..24].fill(0);
        let checksum = crc32c::crc32c(entry);
        entry[20..24].copy_from_slice(&checksum.to_le_bytes());
    }
    std::fs::write(path, entries.concat()).unwrap();
}

#[test]
fn blocks_that_are_exchanged_doubled_or_left_out_are_noticed_though_their_checksums_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.trace");
    let changed = |order: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut writer = begin(&path, 2);
        for (thread, stamp) in [(0, 1), (1, 2), (0, 3), (0, 4), (1, 5), (0, 6)] {
            let thread = ThreadId(thread);
            writer.stamp(thread, stamp).unwrap();
            writer.execution(thread, 0).unwrap();
        }
        writer.finish(EndReason::ServerExited).unwrap();
        rearrange(&path, order);
        let (findings, _) = found(&path);
        findings
            .into_iter()
            .map(|(rule, _)| rule)
            .collect::<Vec<_>>()
    };
    // The last entries: thread 0's first block, its second, thread 1's only one, the end.
    assert_eq!(changed(&|_| {}), []);
    let place = |entries: &[Vec<u8>], from_end: usize| entries.len() - from_end;
    assert_eq!(
        changed(&|entries| {
            let (one, other) = (place(entries, 4), place(entries, 3));
            entries.swap(one, other);
        }),
        [Rule::Runs]
    );
    assert_eq!(
        changed(&|entries| {
            let place = place(entries, 4);
            entries.insert(place, entries[place].clone());
        }),
        [Rule::Runs]
    );
    for left_out in [4, 3, 2] {
        assert_eq!(
            changed(&|entries| drop(entries.remove(place(entries, left_out)))),
            [Rule::End]
        );
    }
}
