//! Checks random streams of several threads: a replay sees them in stamp order, with the accesses
//! that a simple implementation of the specification gives.

use crate::located::{located, physical};
use crate::streams::{
    Data, Step, THREADS, code_blocks, entered, fit, mappings, pages, process_of, steps, write,
    write_machine,
};
use corehop_traces::{Access, CodeBlock, Index, Kind, Page, RequestId, ThreadId, Trace};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// An expected execution: stamp of its run, thread, request, code block, accesses.
type Seen = (u64, ThreadId, Option<RequestId>, u32, Vec<Access>);

/// Returns the accesses of one execution, computed byte by byte of its code.
fn expand(block: &CodeBlock, data: &[Data]) -> Vec<Access> {
    let last = block.instructions.last().unwrap();
    let end = block.start + u64::from(last.offset) + u64::from(last.size_bytes);
    let mut accesses = Vec::new();
    let mut lines = Vec::new();
    for (place, instruction) in block.instructions.iter().enumerate() {
        let pc = block.start + u64::from(instruction.offset);
        for byte in pc..pc + u64::from(instruction.size_bytes) {
            if !lines.contains(&(byte / 64)) {
                lines.push(byte / 64);
                let in_line = (byte..end).take_while(|other| other / 64 == byte / 64);
                let size_bytes = in_line.count() as u16;
                accesses.push(Access {
                    address: byte,
                    pc: byte,
                    size_bytes,
                    kind: Kind::Fetch,
                });
            }
        }
        for data in data
            .iter()
            .filter(|data| usize::from(data.instruction) == place)
        {
            let kind = if data.store { Kind::Store } else { Kind::Load };
            let Data {
                size_bytes,
                address,
                ..
            } = *data;
            accesses.push(Access {
                address,
                pc,
                size_bytes,
                kind,
            });
        }
    }
    accesses
}

fn expected(blocks: &[CodeBlock], steps: &[Step]) -> Vec<Seen> {
    let mut stamps = [None; THREADS];
    let mut marks = [0; THREADS];
    let mut serving = [false; THREADS];
    let mut begun = Vec::new();
    let mut seen = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let thread = step.thread;
        if step.stamped || stamps[thread].is_none() {
            stamps[thread] = Some(place as u64);
        }
        let stamp = stamps[thread].unwrap();
        if step.request {
            marks[thread] += 1;
            serving[thread] = true;
            begun.push((stamp, thread, marks[thread]));
        }
        let accesses = expand(&blocks[step.code_block], &step.data);
        let request = serving[thread].then_some(marks[thread]);
        seen.push(((stamp, thread, request), step.code_block, accesses));
        serving[thread] &= !step.end;
    }
    begun.sort_unstable();
    // The sort is stable, so that executions of one run stay in order.
    seen.sort_by_key(|((stamp, thread, _), ..)| (*stamp, *thread));
    let in_replay = |((stamp, thread, marks), code_block, accesses)| {
        let same = |begun: &(u64, usize, usize)| (begun.1, Some(begun.2)) == (thread, marks);
        let request = begun.iter().position(same).map(RequestId::from_index);
        (
            stamp,
            ThreadId::from_index(thread),
            request,
            code_block as u32,
            accesses,
        )
    };
    seen.into_iter().map(in_replay).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_streams_read_back_equal(
        blocks in code_blocks(),
        mut steps in steps(),
        (mappings, pages, by_physical) in (mappings(), pages(), any::<bool>()),
        executions_per_chunk in prop_oneof![1usize..20, Just(1 << 20)],
        wanted in prop::collection::vec((0u32..10).prop_map(RequestId), 0..3),
    ) {
        fit(&mut steps, &blocks);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.trace");
        let memory = (&mappings[..], &pages[..]);
        write_machine(&path, &blocks, &steps, executions_per_chunk, memory);
        let mut trace = Trace::open(&path).unwrap();
        trace.index_by(if by_physical { Index::Physical } else { Index::Virtual });
        prop_assert_eq!(trace.code_blocks(), &blocks);
        let by_number = |pages: &[Page]| {
            let mut pages = pages.to_vec();
            pages.sort_by_key(|page| (page.process_id, page.number));
            pages
        };
        prop_assert_eq!(trace.pages(), by_number(&pages));
        let mut expected = expected(&blocks, &steps);
        let mut plain = trace.executions().with_virtual_addresses();
        for (.., accesses) in &expected {
            prop_assert_eq!(plain.next().unwrap().unwrap().accesses, accesses);
        }
        let several = trace.process_count() > 1;
        for (stamp, thread, _, _, accesses) in &mut expected {
            let process = if several { process_of(thread.0) } else { 1 };
            for access in accesses {
                let at = access.address;
                let by_physical = by_physical.then(|| physical(&pages, *stamp, process, at));
                access.address = match by_physical.flatten() {
                    Some(physical) => physical,
                    None if several => located(&mappings, *stamp, process, at),
                    None => at,
                };
            }
        }
        let mut executions = trace.executions();
        for (stamp, thread, request, code_block, accesses) in &expected {
            let seen = executions.next().unwrap().unwrap();
            prop_assert_eq!(seen.stamp, *stamp);
            prop_assert_eq!(
                (seen.thread, seen.request, seen.code_block), (*thread, *request, *code_block)
            );
            prop_assert_eq!(seen.entry, entered(*code_block));
            prop_assert_eq!(seen.accesses, accesses);
        }
        prop_assert!(executions.next().unwrap().is_none());
        prop_assert!(executions.next().unwrap().is_none());
        prop_assert_eq!(trace.execution_count(), expected.len() as u64);
        let request_at = |stamp: u64| steps[stamp as usize].request;
        for request in trace.requests() {
            // The number of a request is the place of its first step; 0 means none.
            let number = request.number.unwrap_or(0);
            prop_assert!(request_at(number));
            prop_assert_eq!(request.connection.unwrap_or(0), number % 3);
        }

        let (told, mut played) = (AtomicU64::new(0), 0);
        let tell = |executions| {
            told.fetch_add(executions, Ordering::Relaxed);
        };
        let mut chosen = trace.executions_of(&wanted).telling(&tell);
        let of_wanted = |seen: &&Seen| seen.2.is_some_and(|request| wanted.contains(&request));
        for (_, thread, request, _, accesses) in expected.iter().filter(of_wanted) {
            let seen = chosen.next().unwrap().unwrap();
            prop_assert_eq!((seen.thread, seen.request), (*thread, *request));
            prop_assert_eq!(seen.accesses, accesses);
            played += 1;
        }
        prop_assert!(chosen.next().unwrap().is_none());
        let read = trace.executions_read(Some(&wanted));
        prop_assert_eq!(told.into_inner(), read);
        prop_assert!((played..=expected.len() as u64).contains(&read));
        prop_assert_eq!(trace.executions_read(None), expected.len() as u64);
    }
}

#[test]
fn the_same_stream_makes_the_same_bytes() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let streams = (code_blocks(), steps());
    for _ in 0..3 {
        let tree = Strategy::new_tree(&streams, &mut runner).unwrap();
        let (blocks, mut steps) = proptest::strategy::ValueTree::current(&tree);
        fit(&mut steps, &blocks);
        let folder = tempfile::tempdir().unwrap();
        let files = ["one", "two"].map(|name| {
            let path = folder.path().join(name);
            write(&path, &blocks, &steps, 7);
            std::fs::read(path).unwrap()
        });
        assert!(files[0] == files[1]);
    }
}
