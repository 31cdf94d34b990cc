//! Checks drmemtrace's files as they are distributed: with each compression, in folders of threads
//! and of cores, and damaged.

use super::packed_records::{Record, bytes, gzip, lz4, snappy};
use corehop_traces::convert::drmemtrace::{Program, ProgramSymbol};
use corehop_traces::convert::{Error, FilePosition, Imported, Options, drmemtrace};
use corehop_traces::{Header, Kind, Trace, Writer, WriterOptions};
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

const HEADER: Record = (25, 0, 7);
const FOOTER: Record = (26, 0, 0);
const OF_CORE: Record = (28, 9, 0x1_0040);

fn thread(number: u64) -> [Record; 2] {
    [(22, 0, number), (24, 0, 5)]
}

fn at(time: u64) -> Record {
    (28, 2, time)
}

fn code(address: u64) -> Record {
    (10, 4, address)
}

/// Returns a file of thread 7 with one instruction and one load.
fn small() -> Vec<u8> {
    let [who, process] = thread(7);
    bytes(&[HEADER, who, process, code(0x1000), (0, 8, 0x9000), FOOTER])
}

/// Returns an archive of these chunks.
fn zip(chunks: &[&[u8]]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut packed);
    for (number, chunk) in chunks.iter().enumerate() {
        let name = format!("chunk.{number:04}");
        let deflated = rawzip::CompressionMethod::DEFLATE;
        let builder = archive.new_file(&name).compression_method(deflated);
        let (mut entry, config) = builder.start().unwrap();
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, Default::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(chunk).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    packed
}

fn trace_of(
    import: impl FnOnce(Writer) -> Result<Imported, Error>,
) -> Result<(Vec<String>, Imported), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("imported");
    let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let imported = import(writer)?;
    let trace = Trace::open(&path).unwrap();
    let mut accesses = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        let thread = trace.threads()[execution.thread.index()].os_thread_id;
        for access in execution.accesses {
            let kind = if access.kind == Kind::Fetch { 'I' } else { 'D' };
            accesses.push(format!("{thread} {kind} {:x}", access.address));
        }
    }
    Ok((accesses, imported))
}

fn read(path: &Path) -> Result<(Vec<String>, Imported), Error> {
    let (options, program) = (Options::default(), Program::default());
    trace_of(|writer| drmemtrace::import_path(path, writer, &options, &program, &|_| Ok(())))
}

/// Creates a folder with these files, whose names may contain a folder.
fn folder(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

fn one(bytes: Vec<u8>) -> Result<(Vec<String>, Imported), Error> {
    read(&folder(&[("file", bytes)]).path().join("file"))
}

/// Returns where and how a file is damaged.
#[track_caller]
fn damage(bytes: Vec<u8>) -> (u64, u64, String) {
    match one(bytes) {
        Err(Error::Damaged {
            name,
            place: FilePosition::Record { number, byte },
            problem,
        }) => {
            assert!(name.ends_with("/file"), "{name}");
            (number, byte, problem)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_is_unpacked_whatever_it_is_packed_in() {
    let expected = ["7 I 1000", "7 D 9000"];
    let half = small().len() / 2;
    let two = zip(&[&small()[..half], &small()[half..]]);
    // Frames and members may be split in the middle of a record.
    let frames = [lz4(&small()[..half + 1]), lz4(&small()[half + 1..])].concat();
    let members = [gzip(&small()[..half + 1]), gzip(&small()[half + 1..])].concat();
    // gzip ignores zeros at the end, with which some tools fill blocks.
    let padded = [gzip(&small()), vec![0; 20_000]].concat();
    let packings = [
        small(),
        gzip(&small()),
        padded,
        lz4(&small()),
        snappy(&small()),
        zip(&[&small()]),
        two,
        frames,
        members,
    ];
    for packed in packings {
        let from_pipe = trace_of(|writer| {
            drmemtrace::import(&packed[..], "standard input", writer, &Options::default())
        });
        assert_eq!(from_pipe.unwrap().0, expected);
        assert_eq!(one(packed).unwrap().0, expected);
    }
}

#[test]
fn a_damaged_file_is_told_with_its_record_and_byte() {
    let long: Vec<Record> = (0..100_000)
        .map(|n| code(0x1000 + 8 * (n * n % 977)))
        .collect();
    let [who, process] = thread(7);
    let long = bytes(&[&[HEADER, who, process], &long[..], &[FOOTER]].concat());
    for (packed, name) in [(gzip(&long), "gzip"), (snappy(&long), "Snappy")] {
        let (number, byte, problem) = damage(packed[..packed.len() / 2].to_vec());
        assert!(number > 1 && byte == (number - 1) * 12, "{number} {byte}");
        assert_eq!(problem, format!("the {name} data is cut off"));
    }
    let (.., problem) = damage([gzip(&long), b"junk".to_vec()].concat());
    assert_eq!(
        problem,
        "the gzip data is damaged: other bytes follow its end"
    );
    let cut = lz4(&long);
    let (number, byte, problem) = damage(cut[..cut.len() / 2].to_vec());
    assert_eq!(byte, (number - 1) * 12);
    assert!(
        problem.contains("cut off") || problem.contains("ends within"),
        "{problem}"
    );

    let mut archive = zip(&[&small(), &small()]);
    let (number, _, problem) = damage(archive[..archive.len() - 30].to_vec());
    assert_eq!(number, 1);
    assert!(
        problem.starts_with("the zip data is damaged: "),
        "{problem}"
    );
    // The second chunk begins with an invalid kind of block.
    let second = archive
        .windows(4)
        .rposition(|four| four == b"PK\x03\x04")
        .unwrap();
    archive[second + 30 + "chunk.0001".len()] = 7;
    let (number, byte, problem) = damage(archive);
    assert_eq!((number, byte), (7, 72));
    assert!(
        problem.starts_with("the zip data is damaged: chunk.0001: "),
        "{problem}"
    );

    let mut stored = zip(&[&small()]);
    let directory = stored
        .windows(4)
        .rposition(|four| four == b"PK\x01\x02")
        .unwrap();
    stored[directory + 16] ^= 1;
    assert!(
        damage(stored)
            .2
            .ends_with("chunk.0000: its checksum is another")
    );

    let (number, byte, problem) = damage(small()[..40].to_vec());
    assert_eq!((number, byte), (4, 36));
    assert_eq!(
        problem,
        "the file ends within a record, after 4 of 12 bytes"
    );
    assert!(damage(zip(&[])).2.contains("without a footer"));
    assert!(
        damage(b"PK\x03\x04".to_vec())
            .2
            .starts_with("the zip data is damaged")
    );
    assert!(damage(vec![0x1f, 0x8b]).2.starts_with("the gzip data is"));
}

#[test]
fn threads_of_a_folder_take_turns_by_their_times() {
    let of = |number: u64, start: u64, times: [u64; 3]| {
        let [who, process] = thread(number);
        let mut records = vec![HEADER, who, process];
        for (part, time) in (0..).zip(times) {
            records.extend([at(time), code(start + 0x100 * part)]);
        }
        records.push(FOOTER);
        bytes(&records)
    };
    let files = [
        ("trace/a.trace.gz", gzip(&of(7, 0x1000, [10, 30, 60]))),
        ("trace/b.trace.zip", zip(&[&of(8, 0x2000, [20, 30, 40])])),
        ("trace/cpu_schedule.bin.zip", zip(&[b"no trace"])),
        ("trace/serial_schedule.bin.gz", gzip(b"no trace")),
        ("raw/modules.log", b"no trace".to_vec()),
        ("trace/notes.txt", b"Bought at the market.".to_vec()),
        ("trace/c.lz4", lz4(&of(9, 0x3000, [5, 35, 36]))),
    ];
    let folder = folder(&files);
    let (accesses, imported) = read(folder.path()).unwrap();
    let expected = [
        "9 I 3000", "7 I 1000", "8 I 2000", "7 I 1100", "8 I 2100", "9 I 3100", "9 I 3200",
        "8 I 2200", "7 I 1200",
    ];
    assert_eq!(accesses, expected);
    assert_eq!(imported.left_out, [("files that are no traces", 1)]);
    assert_eq!(imported.instructions, Some(9));
    // The folder of the traces alone gives the same result.
    assert_eq!(read(&folder.path().join("trace")).unwrap().0, expected);
}

#[test]
fn a_thread_that_goes_on_on_another_core_does_not_overtake_itself() {
    let idle = [(28, 33, 0); 20];
    // Thread 7 continues on the second core, which waits for it although fewer of its records are
    // read.
    let first = [
        &[HEADER, OF_CORE][..],
        &thread(8),
        &[at(100), code(0x8000)],
        &idle,
        &thread(7),
        &[at(10), code(0x1000), at(20), code(0x1100), FOOTER],
    ];
    let second = [
        &[HEADER, OF_CORE][..],
        &thread(7),
        &[at(30), code(0x1200)],
        &thread(9),
        &[at(1), code(0x9000), FOOTER],
    ];
    let files = [
        (
            "drmemtrace.core.0.trace.zip",
            zip(&[&bytes(&first.concat())]),
        ),
        (
            "drmemtrace.core.1.trace.zip",
            zip(&[&bytes(&second.concat())]),
        ),
    ];
    let (accesses, imported) = read(folder(&files).path()).unwrap();
    let expected = ["8 I 8000", "7 I 1000", "7 I 1100", "7 I 1200", "9 I 9000"];
    assert_eq!(accesses, expected);
    assert_eq!(
        imported.left_out,
        [("markers of cores that are idle or wait", 20)]
    );
}

/// Idle cores record a thread that is none. It is on several cores, and orders nothing.
#[test]
fn a_thread_does_not_overtake_itself_where_cores_record_that_they_are_idle() {
    for none in [0, u64::MAX] {
        let idle = [thread(none).to_vec(), vec![(28, 33, 0); 4]].concat();
        let first = [
            &[HEADER, OF_CORE][..],
            &thread(7),
            &[at(40), code(0x1600)],
            &idle,
            &[FOOTER],
        ];
        let codes: Vec<_> = (1..6).map(|number| code(0x1000 + 0x100 * number)).collect();
        let second = [
            &[HEADER, OF_CORE][..],
            &thread(7),
            &[at(10), code(0x1000)],
            &idle,
            &thread(7),
            &[at(30)],
            &codes,
            &[FOOTER],
        ];
        let files = [
            ("0.trace", bytes(&first.concat())),
            ("1.trace", bytes(&second.concat())),
        ];
        let (accesses, _) = read(folder(&files).path()).unwrap();
        let expected: Vec<String> = (0..7).map(|number| format!("7 I 1{number}00")).collect();
        assert_eq!(accesses, expected, "{none}");
    }
}

#[test]
fn cores_that_wait_for_each_other_for_ever_are_read_all_the_same() {
    let core = |parts: [(u64, u64); 2]| {
        let mut records = vec![HEADER, OF_CORE];
        for (number, time) in parts {
            records.extend(thread(number));
            records.extend([at(time), code(number << 12)]);
        }
        records.push(FOOTER);
        bytes(&records)
    };
    let files = [
        ("0.trace", core([(7, 20), (8, 10)])),
        ("1.trace", core([(8, 20), (7, 10)])),
    ];
    let (accesses, _) = read(folder(&files).path()).unwrap();
    assert_eq!(accesses.len(), 4);
}

#[test]
fn a_folder_without_a_trace_says_what_to_do() {
    let told = |files: &[(&str, Vec<u8>)]| match read(folder(files).path()) {
        Err(Error::NoTrace {
            problem, remedy, ..
        }) => (problem, remedy),
        other => panic!("{other:?}"),
    };
    let (problem, remedy) = told(&[("raw/drmemtrace.x.1.2.raw.gz", gzip(b"raw"))]);
    assert_eq!(problem, "only raw records, which are not converted yet");
    assert!(
        remedy.starts_with("convert them: drrun -t drmemtrace -indir "),
        "{remedy}"
    );
    assert_eq!(told(&[]).0, "the folder holds no drmemtrace file");
    // A file with a trace's name is not skipped.
    let damaged = folder(&[
        ("a.trace.zip", zip(&[&small()])),
        ("b.trace.zip", vec![1, 2, 3]),
    ]);
    let error = read(damaged.path()).unwrap_err().to_string();
    assert!(
        error.contains("b.trace.zip: record 1 (byte 0): the file ends within"),
        "{error}"
    );
}

#[test]
fn traces_of_corehop_in_the_folder_are_not_read() {
    let folder = folder(&[("a.trace", small())]);
    let (expected, _) = read(folder.path()).unwrap();
    for output in ["earlier.trace", "b.trace"] {
        let path = folder.path().join(output);
        let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
        let (options, program) = (Options::default(), Program::default());
        let imported =
            drmemtrace::import_path(folder.path(), writer, &options, &program, &|_| Ok(()));
        assert_eq!(imported.unwrap().left_out, []);
    }
    assert_eq!(read(folder.path()).unwrap().0, expected);
}

#[test]
fn what_watches_can_end_an_import() {
    let folder = folder(&[("file", gzip(&small()))]);
    let watch = |_| Err(std::io::Error::other("interrupted"));
    let import = |writer| {
        let path = folder.path().join("file");
        let (options, program) = (Options::default(), Program::default());
        drmemtrace::import_path(&path, writer, &options, &program, &watch)
    };
    assert!(matches!(trace_of(import), Err(Error::Read { .. })));
}

const CALL: u16 = 14;
const INDIRECT_JUMP: u16 = 12;
const RETURN: u16 = 16;

/// Returns a thread that calls 0x2000 through the stub at 0x1800, where a signal handler interrupts
/// it once, and calls 0x2000 twice directly.
fn calling() -> Vec<u8> {
    let [who, process] = thread(7);
    let records = [
        HEADER,
        who,
        process,
        // It has not been called yet.
        code(0x2000),
        (CALL, 5, 0x1000),
        (1, 8, 0x9000),
        code(0x1800),
        (INDIRECT_JUMP, 6, 0x1804),
        (0, 8, 0x8000),
        code(0x2000),
        (28, 0, 0x2004),
        code(0x3000),
        (RETURN, 1, 0x3004),
        (28, 1, 0x2004),
        (RETURN, 1, 0x2004),
        (0, 8, 0x9000),
        (CALL, 5, 0x1005),
        (1, 8, 0x9000),
        code(0x2000),
        // A call of the next instruction determines its own address.
        (CALL, 5, 0x2004),
        (1, 8, 0x8ff8),
        code(0x2009),
        FOOTER,
    ];
    bytes(&records)
}

const MODULES: &str = "Module Table: version 5, count 1\n\
    Columns: id, containing_id, start, end, entry, offset, preferred_base, (custom fields), path\n\
    0, 0, 0x1000, 0x2f00, 0x1040, 0x1000, 0x0, v#1,0, /usr/bin/bank\n";

/// Returns the names of the functions that `calling` enters, in order.
fn entered(beside: &[(&str, Vec<u8>)], symbols: &[ProgramSymbol]) -> Vec<String> {
    let files = [&[("trace/x.trace.gz", gzip(&calling()))], beside].concat();
    let folder = folder(&files);
    let mut program = Program::beside(folder.path()).unwrap();
    for module in &mut program.modules {
        module.symbols = symbols.to_vec();
    }
    let path = folder.path().join("imported");
    let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let options = Options::default();
    drmemtrace::import_path(folder.path(), writer, &options, &program, &|_| Ok(())).unwrap();
    assert!(corehop_traces::check(&path).unwrap().sound());
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.signal_handlers(), [0x3000]);
    let mut entered = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        if let Some(entry) = execution.entry {
            entered.push(trace.functions()[entry.index()].name.clone());
        }
    }
    entered
}

#[test]
fn what_calls_enter_are_functions_with_the_best_name_that_is_known() {
    assert_eq!(entered(&[], &[]), ["0x1800", "0x2000", "0x2000"]);
    let modules = ("raw/modules.log", MODULES.into());
    let places = ["bank+0x800", "bank+0x1000", "bank+0x1000"];
    assert_eq!(entered(std::slice::from_ref(&modules), &[]), places);
    let listed = ("trace/funclist.log", b"0,1,0x2000,bank!pay\n".to_vec());
    let names = ["0x1800", "pay", "pay"];
    assert_eq!(entered(std::slice::from_ref(&listed), &[]), names);
    let symbol = ProgramSymbol {
        offset: 0x1000,
        size_bytes: 16,
        symbol: "_ZN4bank3payEv".into(),
        name: "bank::pay()".into(),
    };
    let names = ["bank+0x800", "bank::pay()", "bank::pay()"];
    assert_eq!(entered(&[modules, listed], &[symbol]), names);
}

#[test]
fn functions_are_found_by_the_names_of_both_lists() {
    let files = [
        ("modules.log", MODULES.into()),
        (
            "funclist.log",
            b"0,1,0x2000,bank!pay\n1,1,0x2100,bank!pay\n".to_vec(),
        ),
    ];
    let folder = folder(&files);
    let mut program = Program::beside(&folder.path().join("x.trace")).unwrap();
    program.modules[0].symbols.push(ProgramSymbol {
        offset: 0x40,
        size_bytes: 0,
        symbol: "_start".into(),
        name: "_start".into(),
    });
    let of = |name| program.addresses_of(name);
    assert_eq!(of("pay"), [0x2000, 0x2100]);
    assert_eq!(of("_start"), [0x1040]);
    assert_eq!(of("nobody"), []);
    std::fs::write(folder.path().join("modules.log"), "milk\neggs\n").unwrap();
    let error = Program::beside(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("modules.log: line 1: not the first line of a list"),
        "{error}"
    );
}
