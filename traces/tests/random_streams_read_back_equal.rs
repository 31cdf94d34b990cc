//! Whatever several threads do, a replay sees it in the order of the stamps, with the accesses that
//! a naive reading of the contract gives.

use corehop_traces::{
    Access, CodeBlock, EndReason, Header, Instruction, Kind, Trace, Writer, WriterOptions,
};
use proptest::prelude::*;
use std::path::Path;

#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    stamped: bool,
    request: bool,
    code_block: usize,
    data: Vec<Data>,
    flush: bool,
}

#[derive(Clone, Debug)]
struct Data {
    instruction: u16,
    store: bool,
    size_bytes: u16,
    address: u64,
}

const THREADS: usize = 3;

fn code_blocks() -> impl Strategy<Value = Vec<CodeBlock>> {
    let start = prop_oneof![0x1000u64..0x1100, 0u64..1 << 47];
    let sizes = prop_oneof![
        prop::collection::vec(1u8..16, 1..20),
        prop::collection::vec(1u8..16, 1..500)
    ];
    let block = (start, sizes).prop_map(|(start, sizes)| {
        let mut offset = 0;
        let instructions = sizes.into_iter().map(|size_bytes| {
            let instruction = Instruction { offset, size_bytes };
            offset += u16::from(size_bytes);
            instruction
        });
        CodeBlock {
            start,
            instructions: instructions.collect(),
        }
    });
    prop::collection::vec(block, 1..6)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let address = prop_oneof![
        4 => 0x7fff_0000u64..0x7fff_0100,
        2 => (0u64..40).prop_map(|n| 0x5000 + n * 24),
        1 => any::<u64>(),
    ];
    let data = (any::<u16>(), any::<bool>(), 1u16..70, address);
    let data = data.prop_map(|(instruction, store, size_bytes, address)| Data {
        instruction,
        store,
        size_bytes,
        address,
    });
    let data = prop::collection::vec(data, 0..5);
    let often = prop::bool::weighted;
    let step = (
        0..THREADS,
        often(0.3),
        often(0.1),
        any::<usize>(),
        data,
        often(0.03),
    );
    let step = step.prop_map(|(thread, stamped, request, code_block, data, flush)| Step {
        thread,
        stamped,
        request,
        code_block,
        data,
        flush,
    });
    prop::collection::vec(step, 0..200)
}

/// An execution as it should be seen: stamp of its run, thread, request, code block, accesses.
type Seen = (u64, u32, Option<u32>, u32, Vec<Access>);

/// Makes the steps fit their blocks: places in range and in order.
fn fit(steps: &mut [Step], blocks: &[CodeBlock]) {
    for step in steps {
        step.code_block %= blocks.len();
        let instructions = blocks[step.code_block].instructions.len() as u16;
        for data in &mut step.data {
            data.instruction %= instructions;
        }
        step.data.sort_by_key(|data| data.instruction);
    }
}

fn write(path: &Path, blocks: &[CodeBlock], steps: &[Step], executions_per_block: usize) {
    let header = Header {
        created_by: "test".into(),
        command: vec![],
        request_at: String::new(),
        qemu_version: String::new(),
        architecture: "x86_64".into(),
    };
    let options = WriterOptions {
        compression_level: 1,
        executions_per_block,
    };
    let mut writer = Writer::create(path, &header, &options).unwrap();
    let numbers: Vec<u32> = blocks
        .iter()
        .map(|block| writer.code_block(block, None).unwrap())
        .collect();
    let mut begun = [false; THREADS];
    for thread in 0..THREADS as u32 {
        assert_eq!(writer.thread(1, thread + 1).unwrap(), thread);
    }
    for (stamp, step) in steps.iter().enumerate() {
        let thread = step.thread as u32;
        let first = !std::mem::replace(&mut begun[step.thread], true);
        if step.stamped || first {
            writer.stamp(thread, stamp as u64).unwrap();
        }
        if step.request {
            writer.request(thread).unwrap();
        }
        writer.execution(thread, numbers[step.code_block]).unwrap();
        for data in &step.data {
            let kind = if data.store { Kind::Store } else { Kind::Load };
            let Data {
                instruction,
                size_bytes,
                address,
                ..
            } = *data;
            writer
                .data(thread, instruction, kind, size_bytes, address)
                .unwrap();
        }
        if step.flush {
            writer.flush().unwrap();
        }
    }
    writer.finish(EndReason::Interrupted).unwrap();
}

/// The accesses of one execution, byte by byte of its code.
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
            begun.push((stamp, thread, marks[thread]));
        }
        let accesses = expand(&blocks[step.code_block], &step.data);
        seen.push(((stamp, thread, marks[thread]), step.code_block, accesses));
    }
    begun.sort_unstable();
    // Stable, so that executions of one run stay in their order.
    seen.sort_by_key(|((stamp, thread, _), ..)| (*stamp, *thread));
    let in_replay = |((stamp, thread, marks), code_block, accesses)| {
        let same = |begun: &(u64, usize, usize)| (begun.1, begun.2) == (thread, marks);
        let request = begun.iter().position(same).map(|place| place as u32);
        (stamp, thread as u32, request, code_block as u32, accesses)
    };
    seen.into_iter().map(in_replay).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_streams_read_back_equal(
        blocks in code_blocks(),
        mut steps in steps(),
        executions_per_block in prop_oneof![1usize..20, Just(1 << 20)],
        wanted in prop::collection::vec(0u32..10, 0..3),
    ) {
        fit(&mut steps, &blocks);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.trace");
        write(&path, &blocks, &steps, executions_per_block);
        let trace = Trace::open(&path).unwrap();
        let expected = expected(&blocks, &steps);
        let mut executions = trace.executions();
        for (_, thread, request, code_block, accesses) in &expected {
            let seen = executions.next().unwrap().unwrap();
            prop_assert_eq!(
                (seen.thread, seen.request, seen.code_block), (*thread, *request, *code_block)
            );
            prop_assert_eq!(seen.accesses, accesses);
        }
        prop_assert!(executions.next().unwrap().is_none());
        prop_assert!(executions.next().unwrap().is_none());
        prop_assert_eq!(trace.execution_count(), expected.len() as u64);

        let mut chosen = trace.executions_of(&wanted);
        let of_wanted = |seen: &&Seen| seen.2.is_some_and(|request| wanted.contains(&request));
        for (_, thread, request, _, accesses) in expected.iter().filter(of_wanted) {
            let seen = chosen.next().unwrap().unwrap();
            prop_assert_eq!((seen.thread, seen.request), (*thread, *request));
            prop_assert_eq!(seen.accesses, accesses);
        }
        prop_assert!(chosen.next().unwrap().is_none());
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
