//! Checks random records of drmemtrace's types, compressed and with a byte changed. The result is a
//! sound trace that exports and imports as the same records, or an error, never a panic.

use super::exported::as_records;
use super::packed_records::{Record, bytes, gzip, lz4, snappy};
use corehop_traces::convert::{Options, drmemtrace};
use corehop_traces::{Header, Trace, Writer, WriterOptions, check};
use proptest::prelude::*;
use std::io::Write;

/// Generates a thread's records, on a few lines, so that blocks recur.
fn done() -> impl Strategy<Value = Record> {
    let code = 0x1000_u64..0x1040;
    prop_oneof![
        4 => (10_u16..=16, 1_u16..6, code.clone()),
        1 => (48_u16..=49, 1_u16..6, code.clone()),
        1 => (29_u16..=30, 1_u16..6, code.clone()),
        4 => (0_u16..=1, 1_u16..70, 0x9000_u64..0x9100),
        1 => (Just(0_u16), Just(0_u16), Just(0x9000_u64)),
        1 => (Just(47_u16), 0_u16..9, any::<u64>()),
        1 => (2_u16..=9, 1_u16..8, code),
        1 => (Just(17_u16), 0_u16..9, 0_u64..0x0303),
    ]
}

/// Generates changes of the thread, and markers.
fn told() -> impl Strategy<Value = Vec<Record>> {
    let number = |lower: u64| (0_u64..3).prop_map(move |workload| workload << 32 | lower);
    prop_oneof![
        (number(5), (0_u64..3).prop_flat_map(number))
            .prop_map(|(process, thread)| vec![(22, 0, thread), (24, 0, process)]),
        (0_u64..3).prop_map(|thread| vec![(23, 0, thread)]),
        (0_u16..48, 0_u64..3).prop_map(|(marker, value)| vec![(28, marker, value)]),
        (0_u64..2).prop_map(|request| vec![(28, 0xc00 + request as u16, request)]),
        (0_u64..3).prop_map(|page| vec![(28, 15, page << 12), (28, 17, 0x9000)]),
        Just(vec![(26, 0, 0), (25, 0, 7)]),
    ]
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let kinds = vec![0x40_u64, 0x1_0240, 0x1_0040, 0x2140];
    let one = prop_oneof![
        4 => done().prop_map(|record| vec![record]),
        1 => told(),
    ];
    let all = proptest::collection::vec(one, 0..60);
    (proptest::sample::select(kinds), all).prop_map(|(kind, all)| {
        let begin = [(25, 0, 7), (28, 9, kind), (22, 0, 1), (24, 0, 5)];
        let all = all.concat();
        [&begin[..], &all, &[(26, 0, 0)]].concat()
    })
}

/// Compresses the bytes as gzip, LZ4 or Snappy, as an archive, or not at all.
fn packed(bytes: &[u8], how: usize) -> Vec<u8> {
    match how {
        0 => bytes.to_vec(),
        1 => gzip(bytes),
        2 => lz4(bytes),
        3 => snappy(bytes),
        _ => {
            let mut out = Vec::new();
            let mut archive = rawzip::ZipArchiveWriter::new(&mut out);
            let (mut entry, config) = archive.new_file("chunk.0000").start().unwrap();
            let mut writer = config.wrap(&mut entry);
            writer.write_all(bytes).unwrap();
            let (_, descriptor) = writer.finish().unwrap();
            entry.finish(descriptor).unwrap();
            archive.finish().unwrap();
            out
        }
    }
}

/// Imports and exports these bytes; `None` if they are rejected.
fn again(bytes: &[u8]) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    drmemtrace::import(bytes, "random", writer, &Options::default()).ok()?;
    assert!(check(&path).unwrap().sound());
    let trace = Trace::open(&path).unwrap();
    Some(as_records(&trace))
}

/// No instruction makes the call, so it is not written, and the file type does not announce it.
#[test]
fn a_system_call_before_the_first_instruction_goes_out_as_none() {
    let records = [
        (25, 0, 7),
        (28, 9, 0x40),
        (22, 0, 1),
        (24, 0, 5),
        (28, 25, 0),
        (10, 1, 0x1000),
        (26, 0, 0),
    ];
    let out = again(&bytes(&records)).unwrap();
    assert_eq!(again(&out), Some(out));
}

proptest! {
    #[test]
    fn what_is_read_is_sound_and_comes_back(records in records(), how in 0..5_usize) {
        if let Some(out) = again(&packed(&bytes(&records), how)) {
            prop_assert_eq!(again(&out), Some(out));
        }
    }

    #[test]
    fn any_changed_byte_is_read_or_refused(
        records in records(),
        how in 0..5_usize,
        at in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut packed = packed(&bytes(&records), how);
        let at = at.index(packed.len());
        packed[at] = byte;
        if cut {
            packed.truncate(at);
        }
        again(&packed);
    }
}
