//! Checks ChampSim's records: derived sizes, branches, and functions, their compressions, and
//! errors with their records.

use super::packed_records::{gzip, xz, zstd};
use corehop_traces::convert::{Error, FilePosition, Imported, Options, champsim};
use corehop_traces::{Header, Kind, Trace, Writer, WriterOptions, check};
use proptest::prelude::*;

/// ChampSim's numbers of registers.
const SP: u8 = 6;
const FLAGS: u8 = 25;
const IP: u8 = 26;

/// An instruction, as ChampSim's tracer writes it.
#[derive(Clone, Copy, Default, Debug)]
struct Instruction {
    address: u64,
    branch: [u8; 2],
    written: [u8; 2],
    read: [u8; 4],
    stores: [u64; 2],
    loads: [u64; 4],
}

impl Instruction {
    fn bytes(self) -> Vec<u8> {
        let mut bytes = self.address.to_le_bytes().to_vec();
        bytes.extend(self.branch);
        bytes.extend(self.written);
        bytes.extend(self.read);
        for address in self.stores.iter().chain(&self.loads) {
            bytes.extend(address.to_le_bytes());
        }
        assert_eq!(bytes.len(), 64);
        bytes
    }
}

fn plain(address: u64) -> Instruction {
    Instruction {
        address,
        ..Instruction::default()
    }
}

fn branch(address: u64, written: [u8; 2], read: [u8; 4]) -> Instruction {
    Instruction {
        branch: [1, 1],
        written,
        read,
        ..plain(address)
    }
}

fn call(address: u64) -> Instruction {
    Instruction {
        stores: [0x7ff8, 0],
        ..branch(address, [SP, IP], [SP, IP, 0, 0])
    }
}

fn ret(address: u64) -> Instruction {
    Instruction {
        loads: [0x7ff8, 0, 0, 0],
        ..branch(address, [SP, IP], [SP, 0, 0, 0])
    }
}

/// A conditional jump.
fn conditional(address: u64, is_taken: bool) -> Instruction {
    Instruction {
        branch: [1, is_taken.into()],
        ..branch(address, [IP, 0], [IP, FLAGS, 0, 0])
    }
}

fn bytes(instructions: &[Instruction]) -> Vec<u8> {
    instructions.iter().flat_map(|of| of.bytes()).collect()
}

/// Imports the input; returns the result, and its trace in a temporary folder.
fn import(input: &[u8], options: &Options) -> Result<(Imported, tempfile::TempDir), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let imported = champsim::import(input, "gcc.champsim", writer, options)?;
    assert!(check(&path).unwrap().sound());
    Ok((imported, folder))
}

fn trace(folder: &tempfile::TempDir) -> Trace {
    Trace::open(&folder.path().join("trace")).unwrap()
}

/// An execution: its block's start and sizes, whether it enters a function, and its data.
type Told = (u64, Vec<u8>, bool, Vec<(Kind, u64)>);

fn executions(trace: &Trace) -> Vec<Told> {
    let mut told = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let block = &trace.code_blocks()[execution.code_block as usize];
        let sizes = block.instructions.iter().map(|of| of.size_bytes).collect();
        let data = execution
            .accesses
            .iter()
            .filter(|of| of.kind != Kind::Fetch);
        assert!(data.clone().all(|access| access.size_bytes == 1));
        let data = data.map(|access| (access.kind, access.address)).collect();
        told.push((block.start, sizes, execution.entry.is_some(), data));
    }
    told
}

fn told(instructions: &[Instruction]) -> Vec<Told> {
    let (_folder, trace) = {
        let (_, folder) = import(&bytes(instructions), &Options::default()).unwrap();
        let trace = trace(&folder);
        (folder, trace)
    };
    executions(&trace)
}

#[test]
fn an_instruction_reaches_to_the_next_and_blocks_end_at_branches() {
    let accessing = Instruction {
        stores: [0x9000, 0x9008],
        loads: [0xa000, 0, 0xa010, 0],
        ..plain(0x1003)
    };
    let (load, store) = (Kind::Load, Kind::Store);
    let data = vec![
        (load, 0xa000),
        (load, 0xa010),
        (store, 0x9000),
        (store, 0x9008),
    ];
    let program = [
        plain(0x1000),
        accessing,
        conditional(0x100a, false),
        plain(0x100c),
        conditional(0x1010, true),
        plain(0x2000),
        plain(0x2004),
    ];
    let expected = [
        (0x1000, vec![3, 7, 2], false, data),
        // The size of the jump cannot be derived, and neither can that of the last instruction.
        (0x100c, vec![4, 1], false, vec![]),
        (0x2000, vec![4, 1], false, vec![]),
    ];
    assert_eq!(told(&program), expected);
}

#[test]
fn a_size_that_was_once_seen_is_kept() {
    let program = [
        conditional(0x1000, true),
        plain(0x2000),
        conditional(0x1000, false),
        plain(0x1006),
        conditional(0x1000, true),
        plain(0x2000),
    ];
    let blocks = told(&program).into_iter().map(|of| (of.0, of.1));
    let expected = [
        (0x1000, vec![1]),
        (0x2000, vec![1]),
        (0x1000, vec![6]),
        (0x1006, vec![1]),
        (0x1000, vec![6]),
        (0x2000, vec![1]),
    ];
    assert_eq!(blocks.collect::<Vec<_>>(), expected);
}

#[test]
fn a_branch_that_is_always_taken_is_so_whatever_the_record_says() {
    // The jump's target is where the next instruction could be.
    let jump = Instruction {
        branch: [1, 0],
        ..branch(0x1000, [IP, 0], [IP, 0, 0, 0])
    };
    let blocks = told(&[jump, plain(0x1004), plain(0x1008)]).into_iter();
    let blocks: Vec<_> = blocks.map(|of| (of.0, of.1)).collect();
    assert_eq!(blocks, [(0x1000, vec![1]), (0x1004, vec![4, 1])]);
}

#[test]
fn what_calls_and_stubs_lead_to_are_functions() {
    // A stub of a procedure linkage table jumps through memory at an address relative to itself.
    let stub = Instruction {
        loads: [0x5000, 0, 0, 0],
        ..branch(0x3000, [IP, 0], [IP, 0, 0, 0])
    };
    let program = [
        plain(0x2000),
        call(0x1000),
        plain(0x2000),
        ret(0x2004),
        call(0x1005),
        stub,
        ret(0x4000),
        // It determines its own address.
        call(0x100a),
        plain(0x100f),
        branch(0x1010, [IP, 0], [IP, 0, 0, 0]),
        plain(0x2000),
    ];
    let (imported, folder) = import(&bytes(&program), &Options::default()).unwrap();
    assert_eq!(imported.instructions, Some(program.len() as u64));
    let trace = trace(&folder);
    let functions: Vec<u64> = trace.functions().iter().map(|of| of.offset).collect();
    assert_eq!(functions, [0x2000, 0x3000, 0x4000]);
    let names: Vec<&str> = trace.functions().iter().map(|of| &*of.name).collect();
    assert_eq!(names, ["0x2000", "0x3000", "0x4000"]);
    let entered = executions(&trace).into_iter();
    let entered: Vec<_> = entered.filter(|of| of.2).map(|of| of.0).collect();
    // A function is known from its first call on, even if a jump leads to it.
    assert_eq!(entered, [0x2000, 0x3000, 0x4000, 0x2000]);
}

#[test]
fn a_repeated_instruction_is_fetched_once() {
    let copies = |address| Instruction {
        stores: [address, 0],
        loads: [address + 0x1000, 0, 0, 0],
        ..plain(0x1002)
    };
    let program = [
        plain(0x1000),
        copies(0x9000),
        copies(0x9008),
        copies(0x9010),
        plain(0x1004),
    ];
    let (imported, folder) = import(&bytes(&program), &Options::default()).unwrap();
    assert_eq!(imported.instructions, Some(5));
    let executions = executions(&trace(&folder));
    let data: Vec<usize> = executions.iter().map(|of| of.3.len()).collect();
    assert_eq!(data, [6, 0]);
    // More accesses than fit in one execution are read as well.
    let many: Vec<Instruction> = (1..40_000).map(|line| copies(line * 64)).collect();
    let (imported, _folder) = import(&bytes(&many), &Options::default()).unwrap();
    // An execution with more than 32 500 accesses ends, and the next one has a new fetch.
    assert_eq!(imported.summary.accesses, 2 * 39_999 + 3);
}

#[test]
fn requests_begin_at_an_address_and_unknown_sizes_are_told() {
    let program = [
        call(0x1000),
        plain(0x2000),
        ret(0x2004),
        call(0x1005),
        plain(0x2000),
    ];
    let at = Options {
        request_at: Some(0x2000),
        join: false,
    };
    let (imported, folder) = import(&bytes(&program), &at).unwrap();
    assert_eq!(trace(&folder).requests().len(), 2);
    let [accesses, sizes] = &imported.warnings[..] else {
        panic!("{:?}", imported.warnings);
    };
    assert!(
        accesses.contains("each of the 3 is read as one of 1 byte"),
        "{accesses}"
    );
    // Both calls and the return; the last instruction has its earlier size.
    assert!(
        sizes.starts_with("3 executions of instructions, "),
        "{sizes}"
    );
}

/// Returns some hundred instructions.
fn some() -> Vec<u8> {
    bytes(
        &(0..400)
            .map(|at| plain(0x1000 + at * 4))
            .collect::<Vec<_>>(),
    )
}

/// The same records, uncompressed and as compressed by the programs gzip and xz.
const SEEDS: [&[u8]; 3] = [
    include_bytes!("../../../fuzz/seeds/small.champsim"),
    include_bytes!("../../../fuzz/seeds/small.champsim.gz"),
    include_bytes!("../../../fuzz/seeds/small.champsim.xz"),
];

#[test]
fn files_are_read_packed_or_not() {
    let read = |bytes| {
        let (imported, folder) = import(bytes, &Options::default()).unwrap();
        (imported.instructions, executions(&trace(&folder)))
    };
    let [plain, gzip, xz] = SEEDS.map(read);
    assert_eq!(plain.0, Some(20));
    assert_eq!((&gzip, &xz), (&plain, &plain));
}

#[test]
fn members_of_a_packed_file_follow_one_another() {
    let plain = some();
    let halves = plain.split_at(64 * 123 + 7);
    let two_streams = [xz(halves.0), xz(halves.1)].concat();
    let two_frames = [zstd(halves.0), zstd(halves.1)].concat();
    for packed in [
        plain.clone(),
        gzip(&plain),
        xz(&plain),
        two_streams,
        zstd(&plain),
        two_frames,
    ] {
        let (imported, _folder) = import(&packed, &Options::default()).unwrap();
        assert_eq!(imported.instructions, Some(400));
    }
}

/// Returns the place and the text of the error.
fn refused(input: &[u8]) -> (FilePosition, String) {
    match import(input, &Options::default()) {
        Err(Error::Damaged {
            name,
            place,
            problem,
        }) => {
            assert_eq!(name, "gcc.champsim");
            (place, problem)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn damage_is_told_by_record_and_byte() {
    let at = |number: u64| FilePosition::Record {
        number,
        byte: (number - 1) * 64,
    };
    let whole = some();
    let (place, problem) = refused(&whole[..64 * 3 + 10]);
    assert_eq!(place, at(4));
    assert_eq!(
        problem,
        "the file ends within a record, after 10 of 64 bytes"
    );
    assert_eq!(refused(&[]), (at(1), "no record: the file is empty".into()));
    for (byte, value, said) in [
        (8, 7, "is_branch is 7, not 0 or 1"),
        (9, 2, "branch_taken is 2, not 0 or 1"),
    ] {
        let mut damaged = whole.clone();
        damaged[64 * 5 + byte] = value;
        let (place, problem) = refused(&damaged);
        assert_eq!(place, at(6));
        assert!(problem.starts_with(said), "{problem}");
    }
    let mut damaged = whole.clone();
    damaged[64 * 9..64 * 9 + 8].fill(0);
    assert_eq!(refused(&damaged).0, at(10));
    let packed = [
        ("gzip", gzip(&whole)),
        ("xz", xz(&whole)),
        ("zstd", zstd(&whole)),
    ];
    for (packing, packed) in packed {
        let (_, problem) = refused(&packed[..packed.len() - 20]);
        assert!(
            problem.starts_with(&format!("the {packing} data is ")),
            "{problem}"
        );
        let mut changed = packed.clone();
        let place = changed.len() - 6;
        changed[place] ^= 0x55;
        let (_, problem) = refused(&changed);
        assert!(
            problem.starts_with(&format!("the {packing} data is ")),
            "{problem}"
        );
    }
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let register = || prop::sample::select(vec![0, 3, SP, FLAGS, IP]);
    let address = || prop_oneof![Just(0_u64), 0x9000_u64..0x9100, any::<u64>()];
    let code = prop_oneof![9 => 0x1000_u64..0x1040, 1 => 1_u64..];
    let flags = prop::array::uniform2(0_u8..2);
    let registers = (
        prop::array::uniform2(register()),
        prop::array::uniform4(register()),
    );
    let data = (
        prop::array::uniform2(address()),
        prop::array::uniform4(address()),
    );
    (code, flags, registers, data).prop_map(|(address, branch, registers, data)| Instruction {
        address,
        branch,
        written: registers.0,
        read: registers.1,
        stores: data.0,
        loads: data.1,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every instruction that a trace can contain is counted; the others are rejected, never with a
    /// panic.
    #[test]
    fn random_instructions_are_read_or_refused(
        instructions in prop::collection::vec(instruction(), 1..60),
        request_at in prop::option::of(0x1000_u64..0x1040),
        cut in 0_usize..64,
    ) {
        let options = Options { request_at, join: false };
        let bytes = bytes(&instructions);
        if let Ok((imported, folder)) = import(&bytes, &options) {
            prop_assert_eq!(imported.instructions, Some(instructions.len() as u64));
            let data = instructions.iter().flat_map(|of| of.stores.into_iter().chain(of.loads));
            let data = data.filter(|&address| address != 0).count();
            let kept: usize = executions(&trace(&folder)).iter().map(|of| of.3.len()).sum();
            prop_assert_eq!(kept, data);
        }
        let cut = &bytes[..bytes.len() - cut];
        let is_whole = cut.len().is_multiple_of(64);
        let outcome = import(cut, &options);
        prop_assert!(is_whole || outcome.is_err());
    }
}
