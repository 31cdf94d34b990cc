//! Checks that a writer rejects what would break the rules of the format, and loses nothing that it
//! cannot write.

use corehop_traces::{
    CodeBlock, DataAccess, Dependence, Dependent, EndReason, Error, Followed, Function, FunctionId,
    Header, Instruction, Kind, Module, RequestId, Source, ThreadId, Trace, Writer, WriterOptions,
    check, partial_path,
};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const FIRST: ThreadId = ThreadId(0);

fn writer(path: &Path) -> Writer {
    Writer::create(path, &Header::default(), &WriterOptions::default()).unwrap()
}

fn block(start: u64, sizes: &[(u16, u8)]) -> CodeBlock {
    let instruction = |&(offset, size_bytes): &(u16, u8)| Instruction { offset, size_bytes };
    CodeBlock {
        start,
        instructions: sizes.iter().map(instruction).collect(),
        dependences: Vec::new(),
        pointers: Vec::new(),
    }
}

fn refused<T>(result: Result<T, Error>, part: &str) {
    match result {
        Err(Error::Unrecordable { problem }) => assert!(problem.contains(part), "{problem}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("taken, though {part}"),
    }
}

#[test]
fn definitions_must_be_well_formed() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(&folder.path().join("t"));
    let function = Function {
        module: 0,
        offset: 0,
        size_bytes: 0,
        symbol: "f".into(),
        name: "f".into(),
        unpatchable: None,
    };
    refused(writer.function(&function), "no known module");
    let module = Module {
        path: "/m".into(),
        build_id: String::new(),
        load_bias: 0,
        start: 2,
        end: 1,
    };
    refused(writer.module(&module), "ends before it starts");
    writer.module(&Module { end: 3, ..module }).unwrap();
    refused(
        writer.function(&Function {
            name: "a\0b".into(),
            ..function.clone()
        }),
        "zero byte",
    );
    writer.function(&function).unwrap();
    refused(writer.code_block(&block(0, &[]), None), "0 instructions");
    refused(
        writer.code_block(&block(0, &[(0, 16)]), None),
        "instruction of 16 bytes",
    );
    refused(writer.code_block(&block(0, &[(0, 4), (5, 4)]), None), "gap");
    refused(
        writer.code_block(&block(u64::MAX - 9, &[(0, 4)]), None),
        "beyond the last address",
    );
    refused(
        writer.code_block(&block(0, &[(0, 4)]), Some(FunctionId(1))),
        "no function 1",
    );
    let with = |dependences| CodeBlock {
        dependences,
        ..block(0, &[(0, 4), (4, 4)])
    };
    let dependence = |of, from| Dependence { of, from };
    let own = dependence(Dependent::Address(1), Source::Load(1));
    refused(
        writer.code_block(&with(vec![own]), None),
        "of 2 instructions has Dependence { of: Address(1), from: Load(1) }",
    );
    let first = dependence(Dependent::Address(0), Source::Register(3));
    let last = dependence(Dependent::Register(0), Source::Load(1));
    refused(
        writer.code_block(&with(vec![last, first]), None),
        "not in order",
    );
    writer.code_block(&with(vec![first, last]), None).unwrap();
    let long: Vec<_> = (0..513).map(|place| (place, 1)).collect();
    refused(
        writer.code_block(&block(0, &long), None),
        "513 instructions",
    );
    writer
        .code_block(&block(0, &long[..512]), Some(FunctionId(0)))
        .unwrap();
}

#[test]
fn more_definitions_than_fit_one_entry_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let mut writer = writer(&path);
    let module = Module {
        path: "/m".into(),
        build_id: String::new(),
        load_bias: 0,
        start: 0,
        end: 1 << 40,
    };
    writer.module(&module).unwrap();
    let function = |offset: u64| Function {
        module: 0,
        offset,
        size_bytes: 1,
        symbol: "long".repeat(if offset < 10 { 100_000 } else { 2 }),
        name: format!("f{offset}"),
        unpatchable: offset.is_multiple_of(2).then(|| "odd".into()),
    };
    for offset in 0..70_000 {
        let entry = writer.function(&function(offset)).unwrap();
        writer
            .code_block(&block(offset * 64, &[(0, 2)]), Some(entry))
            .unwrap();
    }
    let long = Function {
        symbol: "x".repeat(1 << 22),
        ..function(0)
    };
    refused(writer.function(&long), "name of 4194314 bytes");
    writer.thread(1, 1).unwrap();
    writer.stamp(FIRST, 1).unwrap();
    // Templates of all sizes, as many as there are code blocks.
    for number in 0..70_000 {
        writer.execution(FIRST, number).unwrap();
        for _ in 0..if number % 1000 == 0 {
            60_000
        } else {
            number % 3
        } {
            writer.data(FIRST, 0, Kind::Load, 1, 0).unwrap();
        }
    }
    writer.finish(EndReason::ServerExited).unwrap();
    let trace = Trace::open(&path).unwrap();
    assert!(check(&path).unwrap().sound());
    assert_eq!(trace.functions().len(), 70_000);
    for (offset, read) in trace.functions().iter().enumerate().step_by(9) {
        assert_eq!(read, &function(offset as u64));
    }
    let mut executions = trace.executions();
    for number in 0..70_000 {
        let execution = executions.next().unwrap().unwrap();
        assert_eq!(
            (execution.code_block, execution.entry),
            (number, Some(FunctionId(number)))
        );
    }
}

#[test]
fn executions_must_have_a_place_in_the_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let mut writer = writer(&path);
    writer
        .code_block(&block(0x1000, &[(0, 4), (4, 4)]), None)
        .unwrap();
    refused(writer.execution(FIRST, 0), "no thread 0");
    writer.thread(1, 1).unwrap();
    refused(writer.execution(FIRST, 0), "no stamp");
    writer.stamp(FIRST, 5).unwrap();
    refused(writer.stamp(FIRST, 5), "stamp 5 after 5");
    refused(writer.data(FIRST, 0, Kind::Load, 8, 0), "executed nothing");
    refused(writer.execution(FIRST, 1), "no code block 1");
    writer.execution(FIRST, 0).unwrap();
    refused(writer.data(FIRST, 2, Kind::Load, 8, 0), "no instruction 2");
    refused(writer.data(FIRST, 0, Kind::Load, 0, 0), "0 bytes");
    refused(writer.data(FIRST, 0, Kind::Fetch, 8, 0), "Fetch");
    writer.data(FIRST, 1, Kind::Load, 8, 0).unwrap();
    refused(
        writer.data(FIRST, 0, Kind::Load, 8, 0),
        "out of program order",
    );
    let load = |instruction| DataAccess::new(instruction, Kind::Load, 8).unwrap();
    refused(writer.template(1, &[]), "no code block 1");
    refused(writer.template(0, &[load(2)]), "instruction 2");
    refused(writer.template(0, &[load(1), load(0)]), "program order");
    let template = writer.template(0, &[load(0)]).unwrap();
    let mut executed = |thread, template, addresses: &[u64]| {
        writer.executed(thread, template, &[1, 64, 1], 2, addresses.iter().copied())
    };
    refused(executed(FIRST, template, &[64, 64]), "2 addresses");
    refused(executed(FIRST, template, &[]), "0 addresses");
    refused(executed(FIRST, template + 1, &[64]), "no shape");
    refused(executed(ThreadId(1), template, &[64]), "no thread 1");
    executed(FIRST, template, &[64]).unwrap();
    let mut long = |count| writer.executed(FIRST, template, &[1; 1 << 22], count, [64].into_iter());
    refused(long(0), "0 words");
    refused(long((1 << 22) + 1), "4194305 words");
    refused(long(1 << 22), "4194304 words");
    let none = Followed::default();
    assert_eq!(writer.matched(FIRST, &[1, 64], |word| word == 1), none);
    assert_eq!(
        writer.matched(ThreadId(1), &[1, 64], |word| word == 1),
        none
    );
    // The rejected calls have left no trace.
    writer.finish(EndReason::ServerExited).unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!((trace.execution_count(), trace.data_access_count()), (2, 2));
}

#[test]
fn more_data_accesses_than_an_execution_can_hold_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let mut writer = writer(&path);
    writer.code_block(&block(0x1000, &[(0, 2)]), None).unwrap();
    writer.thread(1, 1).unwrap();
    writer.stamp(FIRST, 1).unwrap();
    writer.execution(FIRST, 0).unwrap();
    // Each address is in its own region: the maximum that one execution can require of one block.
    for access in 0..65_000 {
        writer
            .data(FIRST, 0, Kind::Store, 8, (access * access) << 16)
            .unwrap();
    }
    refused(writer.data(FIRST, 0, Kind::Store, 8, 0), "65 000");
    writer.finish(EndReason::ServerExited).unwrap();
    let trace = Trace::open(&path).unwrap();
    let mut executions = trace.executions();
    let execution = executions.next().unwrap().unwrap();
    assert_eq!(execution.accesses.len(), 65_001);
    assert_eq!(execution.accesses[65_000].address, (64_999 * 64_999) << 16);
}

#[test]
fn a_chunk_of_too_many_references_for_one_block_becomes_several() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let mut writer = writer(&path);
    writer.code_block(&block(0x1000, &[(0, 2)]), None).unwrap();
    writer.thread(1, 1).unwrap();
    let address = |step: u64| (step * step) << 16;
    for step in 0..100_000 {
        if step % 1000 == 0 {
            writer.stamp(FIRST, step).unwrap();
        }
        if step % 30_000 == 0 {
            writer.request(FIRST).unwrap();
        }
        writer.execution(FIRST, 0).unwrap();
        writer.data(FIRST, 0, Kind::Load, 1, address(step)).unwrap();
    }
    writer.finish(EndReason::ServerExited).unwrap();
    let trace = Trace::open(&path).unwrap();
    let mut executions = trace.executions();
    for step in 0..100_000 {
        let execution = executions.next().unwrap().unwrap();
        assert_eq!(execution.accesses[1].address, address(step));
        assert_eq!(execution.request, Some(RequestId((step / 30_000) as u32)));
    }
    assert!(executions.next().unwrap().is_none());
}

#[test]
fn what_has_the_partial_name_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let partial = partial_path(&path);
    let create = || Writer::create(&path, &Header::default(), &WriterOptions::default());
    let refused = || matches!(create(), Err(Error::Write { path, .. }) if path == partial);
    std::fs::write(&partial, "what was recorded").unwrap();
    assert!(refused());
    assert_eq!(std::fs::read(&partial).unwrap(), b"what was recorded");
    std::fs::remove_file(&partial).unwrap();
    // A link would determine another file of this user to be written.
    std::os::unix::fs::symlink("elsewhere", &partial).unwrap();
    assert!(refused());
    assert!(!folder.path().join("elsewhere").exists());
    std::fs::remove_file(&partial).unwrap();
    create().unwrap().finish(EndReason::ServerExited).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_folder_that_does_not_exist_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no/t");
    let created = Writer::create(&path, &Header::default(), &WriterOptions::default());
    assert!(matches!(created, Err(Error::Write { .. })));
    let options = WriterOptions {
        compression_level: 99,
        ..WriterOptions::default()
    };
    refused(
        Writer::create(&folder.path().join("t"), &Header::default(), &options),
        "level 99",
    );
}
