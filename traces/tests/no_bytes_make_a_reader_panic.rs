//! Checks that readers never panic or use unbounded memory. Checksums detect accidents, not malice:
//! here, entries are changed and their checksums are corrected. A reader must then return an error
//! or some executions.

use corehop_traces::{
    AllocatedObject, CodeBlock, Dependence, Dependent, EndReason, Error, Function, FunctionId,
    Header, HeapEvent, Kind, Listener, Module, Played, Player, Pointer, RequestId, Source,
    ThreadId, Trace, Writer, WriterOptions, check,
};
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

/// Traces with compression levels that lay out frames differently.
static ORIGINALS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| [-5, 3].map(original).into());

fn dependences() -> Vec<Dependence> {
    let address = Dependence {
        of: Dependent::Address(3),
        from: Source::Load(1),
    };
    let register = Dependence {
        of: Dependent::Register(2),
        from: Source::Register(5),
    };
    vec![address, register]
}

fn pointers() -> Vec<Pointer> {
    let accessed = Pointer::Accessed {
        instruction: 2,
        register: 7,
        distance: -8,
    };
    vec![accessed, Pointer::Lost { at_end: 7 }]
}

fn heap(writer: &mut Writer) {
    let malloc = writer.allocator("malloc").unwrap();
    for (since, size_bytes, site) in [(0, 24, Some(0x1003)), (2, 0, None)] {
        let event = HeapEvent {
            process_id: 1,
            since,
            address: 0x5000,
            size_bytes,
            object: site.map(|site| AllocatedObject {
                allocator: malloc,
                site,
            }),
        };
        writer.heap_event(event).unwrap();
    }
}

fn original(compression_level: i32) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("original.trace");
    let header = Header {
        created_by: "corehop".into(),
        command: vec!["server".into(), "--port".into()],
        request_at: "serve".into(),
        qemu_version: "7.2.0".into(),
        architecture: "x86_64".into(),
        has_address_spaces: true,
    };
    let options = WriterOptions {
        compression_level,
        executions_per_chunk: 50,
    };
    let mut writer = Writer::create(&path, &header, &options).unwrap();
    let module = Module {
        path: "/usr/bin/server".into(),
        build_id: "00ff".into(),
        load_bias: 0,
        start: 0,
        end: 0x10000,
    };
    writer.module(&module).unwrap();
    let function = Function {
        module: 0,
        offset: 0x1000,
        size_bytes: 9,
        symbol: "serve".into(),
        name: "serve()".into(),
        unpatchable: Some("too short".into()),
    };
    writer.function(&function).unwrap();
    heap(&mut writer);
    for start in [0x1000, 0x2038] {
        let block = CodeBlock {
            dependences: dependences(),
            pointers: pointers(),
            ..CodeBlock::new(start, [7; 6])
        };
        writer
            .code_block(&block, (start == 0x1000).then_some(FunctionId(0)))
            .unwrap();
    }
    for thread in 0..3 {
        writer.thread(1, thread).unwrap();
    }
    let mut stamp = 0;
    // From this point on, the threads repeat earlier work.
    for step in (0..90u64).chain(30..90).chain((60..66).cycle().take(60)) {
        let thread = ThreadId((step % 3) as u32);
        if step % 5 < 3 {
            stamp += 1;
            writer.stamp(thread, stamp).unwrap();
        }
        if step % 8 == 0 {
            writer.request(thread).unwrap();
        }
        writer.execution(thread, (step % 2) as u32).unwrap();
        for access in 0..step % 4 {
            let address = step * step * 0x1234 + access * 8;
            let kind = if access == 0 { Kind::Store } else { Kind::Load };
            writer
                .data(thread, access as u16, kind, 8, address)
                .unwrap();
        }
    }
    writer
        .finish(EndReason::Failed("on purpose".into()))
        .unwrap();
    std::fs::read(path).unwrap()
}

/// Corrects the checksums of all entries.
fn reseal(bytes: &mut [u8]) {
    let mut rest = bytes;
    while rest.len() >= 32 {
        let words = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        if words < 3 || words > (rest.len() - 8) / 8 {
            return;
        }
        let (entry, others) = rest.split_at_mut(8 + words * 8);
        entry[20..24].fill(0);
        let checksum = crc32c::crc32c(entry);
        entry[20..24].copy_from_slice(&checksum.to_le_bytes());
        rest = others;
    }
}

/// Ignores what is played.
struct Deaf;

impl Listener for Deaf {
    fn run(&mut self, _: u64) {}
    fn played(&mut self, _: Played<'_>) {}
}

/// Returns the error of the first block that cannot be played.
fn problem_of_playing(trace: &Trace) -> Option<String> {
    let player = Player::new(trace, None, &[true]).unwrap();
    // Stripped, so that the trace filter also gets arbitrary input.
    let mut player = player.stripped(64);
    let mut played = trace.chunks(None).into_iter();
    let failed = played.find_map(|block| player.play(block, &mut Deaf).err())?;
    assert!(matches!(failed, Error::Damaged { .. }));
    // A block that cannot be played must not affect the others.
    for block in played {
        let _ = player.play(block, &mut Deaf);
    }
    Some(failed.to_string())
}

fn read_everything(path: &Path) {
    if let Ok(trace) = Trace::open(path) {
        let mut executions = trace.executions();
        let problem = loop {
            match executions.next() {
                Ok(Some(execution)) => {
                    assert!(!execution.accesses.is_empty());
                    assert!((execution.code_block as usize) < trace.code_blocks().len());
                }
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        assert_eq!(problem_of_playing(&trace), problem);
        let mut executions = trace.executions_of(&[0, 3].map(RequestId));
        while let Ok(Some(_)) = executions.next() {}
    }
    if let Ok(report) = check(path) {
        // A sound trace can be read completely.
        if report.sound() {
            let trace = Trace::open(path).unwrap();
            let mut executions = trace.executions();
            let mut count = 0;
            while executions.next().unwrap().is_some() {
                count += 1;
            }
            assert_eq!(count, report.executions);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]
    #[test]
    fn changed_entries_with_right_checksums_are_read_or_refused(
        original in 0usize..2,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = ORIGINALS[original].clone();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            // Other tests damage the framing; here the changes must get past it.
            bytes[place] = value;
        }
        reseal(&mut bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changed.trace");
        std::fs::write(&path, &bytes).unwrap();
        read_everything(&path);
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.trace");
        std::fs::write(&path, &bytes).unwrap();
        prop_assert!(Trace::open(&path).is_err());
        prop_assert!(check(&path).is_err());
    }
}

#[test]
fn a_block_that_contradicts_itself_is_damaged_whichever_way_it_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.trace");
    let original = &ORIGINALS[0];
    let mut damaged = 0;
    for place in 0..original.len() {
        let mut bytes = original.clone();
        bytes[place] ^= 1;
        reseal(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        read_everything(&path);
        let opened = Trace::open(&path);
        damaged += u32::from(opened.is_ok_and(|trace| problem_of_playing(&trace).is_some()));
    }
    assert!(
        damaged > 100,
        "only {damaged} changes made a block that cannot be played"
    );
}
