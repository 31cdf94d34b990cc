//! Sources of addresses in random programs: [`AddressSources`] equals a second implementation that
//! remembers every load and store of a thread.

use corehop_simulator::core_model::AddressSources;
use corehop_traces::{
    CodeBlock, Dependence, Dependent, EndReason, Header, Kind, Source, ThreadId, Trace, Writer,
    WriterOptions,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

const THREADS: u32 = 3;
const INSTRUCTIONS: usize = 5;
const BLOCKS: usize = 4;

/// One execution of one code block: the thread, the block, and for each access in program order the
/// instruction, the kind, the size and the address.
type Step = (u32, usize, Vec<(usize, Kind, u16, u64)>);

/// Returns a dependence that is valid for a block of this many instructions, from random numbers.
fn dependence((of, from): ((u8, u8), (u8, u8))) -> Dependence {
    let place = u16::from(of.1) % INSTRUCTIONS as u16;
    let (of, before) = match of.0 % 3 {
        0 => (Dependent::Address(place), place),
        1 => (Dependent::Stored(place), place + 1),
        _ => (Dependent::Register(of.1 % 4), INSTRUCTIONS as u16),
    };
    let from = match from.0 % 4 {
        0 | 1 if before > 0 => Source::Load(u16::from(from.1) % before),
        2 => Source::Register(from.1 % 4),
        _ => Source::Nothing,
    };
    Dependence { of, from }
}

fn blocks() -> impl Strategy<Value = Vec<Vec<Dependence>>> {
    let any = any::<((u8, u8), (u8, u8))>().prop_map(dependence);
    let own = btree_set(any, 0..10).prop_map(|own| own.into_iter().collect());
    vec(own, BLOCKS..=BLOCKS)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few addresses; some share a slot in the table of a thread's stores, and some span two lines.
    let addresses = prop_oneof![
        (0..6u64).prop_map(|n| 0x1000 + n * 8),
        (0..3u64).prop_map(|n| 0x1000 + n * 4096 * 8),
        Just(0x103c),
    ];
    let kinds = prop_oneof![2 => Just(Kind::Load), 1 => Just(Kind::Store)];
    let access = (
        0..INSTRUCTIONS,
        kinds,
        prop_oneof![Just(8u16), Just(4)],
        addresses,
    );
    let accesses = vec(access, 0..7).prop_map(|mut accesses| {
        accesses.sort_by_key(|access| access.0);
        accesses
    });
    vec((0..THREADS, 0..BLOCKS, accesses), 1..150)
}

fn record(blocks: &[Vec<Dependence>], steps: &[Step]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("random.trace");
    let options = WriterOptions::default();
    let mut writer = Writer::create(&path, &Header::default(), &options).unwrap();
    for (number, dependences) in blocks.iter().enumerate() {
        let block = CodeBlock {
            dependences: dependences.clone(),
            ..CodeBlock::new(0x40_0000 + number as u64 * 64, [4; INSTRUCTIONS])
        };
        writer.code_block(&block, None).unwrap();
    }
    for thread in 0..THREADS {
        writer.thread(1, thread).unwrap();
    }
    for (stamp, (thread, block, accesses)) in (1..).zip(steps) {
        let thread = ThreadId(*thread);
        writer.stamp(thread, stamp).unwrap();
        writer.execution(thread, *block as u32).unwrap();
        for &(instruction, kind, size, address) in accesses {
            let instruction = instruction as u16;
            writer
                .data(thread, instruction, kind, size, address)
                .unwrap();
        }
    }
    writer.finish(EndReason::ServerExited).unwrap();
    Trace::open(&path).unwrap()
}

/// One thread, with its complete history.
#[derive(Clone, Default)]
struct Naive {
    loads: u64,
    /// For each register, the latest load that it comes from.
    registers: [u64; 4],
    stores: Vec<(u64, u64)>,
}

impl Naive {
    fn step(
        &mut self,
        dependences: &[Dependence],
        accesses: &[(usize, Kind, u16, u64)],
    ) -> Vec<u8> {
        // Five instructions of four bytes are on one line.
        let mut told = vec![0];
        let before = self.registers;
        let mut made: Vec<(usize, u64)> = Vec::new();
        for &(instruction, kind, size, address) in accesses {
            let last = |place: u16, made: &[(usize, u64)]| {
                let own = made.iter().rev().find(|(at, _)| *at == usize::from(place));
                own.map_or(0, |(_, load)| *load)
            };
            let from = |of: Dependent, made: &[(usize, u64)]| {
                let own = dependences.iter().filter(|one| one.of == of);
                let loads = own.map(|one| match one.from {
                    Source::Nothing => 0,
                    Source::Load(place) => last(place, made),
                    Source::Register(register) => before[usize::from(register)],
                });
                loads.max().unwrap_or(0)
            };
            let mut source = from(Dependent::Address(instruction as u16), &made);
            if kind == Kind::Load {
                let in_place = |store: &&(u64, u64)| store.0 / 8 % 4096 == address / 8 % 4096;
                let latest = self.stores.iter().rev().find(in_place);
                let stored = latest.filter(|(at, _)| *at == address);
                source = source.max(stored.map_or(0, |(_, load)| *load));
            }
            for _ in address / 64..=(address + u64::from(size) - 1) / 64 {
                let back = self.loads + 1 - source;
                told.push(if source > 0 && back < 256 {
                    back as u8
                } else {
                    0
                });
                self.loads += u64::from(kind == Kind::Load);
            }
            match kind {
                Kind::Load => made.push((instruction, self.loads)),
                _ => {
                    let value = from(Dependent::Stored(instruction as u16), &made);
                    self.stores.push((address, value));
                }
            }
        }
        for register in 0..4 {
            let own = dependences
                .iter()
                .filter(|one| one.of == Dependent::Register(register));
            let loads: Vec<u64> = own
                .map(|one| match one.from {
                    Source::Nothing => 0,
                    Source::Load(place) => {
                        let made = made.iter().rev().find(|(at, _)| *at == usize::from(place));
                        made.map_or(0, |(_, load)| *load)
                    }
                    Source::Register(other) => before[usize::from(other)],
                })
                .collect();
            if let Some(&latest) = loads.iter().max() {
                self.registers[usize::from(register)] = latest;
            }
        }
        told
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn addresses_come_from_what_a_naive_implementation_says(blocks in blocks(), steps in steps()) {
        let trace = record(&blocks, &steps);
        let said = blocks.iter().any(|own| !own.is_empty());
        prop_assert_eq!(trace.has_dependences(), said);
        let mut sources = AddressSources::new(&trace);
        let mut threads = vec![Naive::default(); THREADS as usize];
        let mut executions = trace.executions();
        let mut told = Vec::new();
        for (thread, block, accesses) in &steps {
            let execution = executions.next().unwrap().unwrap();
            told.clear();
            let instructions = sources.execution(&execution, &mut told);
            prop_assert_eq!(instructions as usize, INSTRUCTIONS);
            let lines = execution.accesses.iter().map(|access| access.lines().count());
            prop_assert_eq!(told.len(), lines.sum::<usize>());
            let naive = &mut threads[*thread as usize];
            prop_assert_eq!(&told, &naive.step(&blocks[*block], accesses));
        }
    }
}
