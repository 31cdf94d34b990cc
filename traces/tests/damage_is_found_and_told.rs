//! Checks that missing, empty, foreign, truncated, damaged and newer traces are distinguished, and
//! that a truncated trace is read up to its last complete block.

use corehop_traces::{
    CodeBlock, EndReason, Ending, Error, Header, Kind, Rule, ThreadId, Trace, Writer,
    WriterOptions, check,
};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Writes a trace of two threads in blocks of three executions; returns its bytes too.
fn small() -> (TempDir, PathBuf, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.trace");
    let header = Header {
        created_by: "corehop".into(),
        command: vec!["server".into()],
        request_at: "serve".into(),
        qemu_version: "7.2.0".into(),
        architecture: "x86_64".into(),
        has_address_spaces: true,
    };
    let options = WriterOptions {
        compression_level: 3,
        executions_per_chunk: 3,
    };
    let mut writer = Writer::create(&path, &header, &options).unwrap();
    for start in [0x1000, 0x2000] {
        let block = CodeBlock::new(start, [4]);
        writer.code_block(&block, None).unwrap();
    }
    for thread in 0..2 {
        writer.thread(9, 9 + thread).unwrap();
    }
    for step in 0..14 {
        let thread = ThreadId(step % 2);
        writer.stamp(thread, u64::from(step)).unwrap();
        if step % 4 < 2 {
            writer.request(thread).unwrap();
        }
        writer.execution(thread, step % 2).unwrap();
        writer
            .data(thread, 0, Kind::Load, 8, 0x7000 + u64::from(step) * 8)
            .unwrap();
    }
    writer.finish(EndReason::RequestsReached).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    (folder, path, bytes)
}

fn executions(trace: &Trace) -> Result<u64, Error> {
    let mut executions = trace.executions();
    let mut count = 0;
    while executions.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Returns the offset of each entry, and the end of the file.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let mut boundaries = vec![0];
    let mut offset = 0;
    while offset < bytes.len() {
        let words = u32::from_le_bytes(bytes[offset + 4..offset + 8].try_into().unwrap());
        offset += 8 + 8 * words as usize;
        boundaries.push(offset);
    }
    boundaries
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_trace_cut_at_any_byte_is_read_up_to_its_last_whole_entry() {
    let (_folder, path, bytes) = small();
    let whole = Trace::open(&path).unwrap();
    assert_eq!(executions(&whole).unwrap(), 14);
    drop(whole);
    let boundaries = boundaries(&bytes);
    let mut most = 14;
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    for length in (1..bytes.len()).rev() {
        file.set_len(length as u64).unwrap();
        if length < boundaries[1] {
            assert!(
                matches!(Trace::open(&path), Err(Error::TooShort { .. })),
                "{length}"
            );
            assert!(
                matches!(check(&path), Err(Error::TooShort { .. })),
                "{length}"
            );
            continue;
        }
        let trace = Trace::open(&path).unwrap();
        let readable = *boundaries.iter().rfind(|&&end| end <= length).unwrap();
        let expected = Ending::Cut {
            offset: readable as u64,
            left_over_bytes: (length - readable) as u64,
        };
        assert_eq!(trace.ending(), &expected, "{length}");
        let count = executions(&trace).unwrap();
        assert_eq!(count, trace.execution_count(), "{length}");
        assert!(count <= most, "a shorter file never holds more: {length}");
        most = count;
        let report = check(&path).unwrap();
        let rules: Vec<_> = report.findings.iter().map(|f| f.violation.rule).collect();
        assert_eq!(rules, [Rule::End], "{length}");
        assert_eq!(report.readable.end, readable as u64, "{length}");
        assert_eq!(report.executions, count, "{length}");
    }
    assert_eq!(most, 0, "the header alone holds no executions");
}

#[test]
fn any_flipped_bit_is_noticed() {
    let (_folder, path, bytes) = small();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    for bit in 0..bytes.len() * 8 {
        let (byte, place) = (bytes[bit / 8], (bit / 8) as u64);
        file.write_all_at(&[byte ^ 1 << (bit % 8)], place).unwrap();
        // A length that points beyond the end makes the last entry look truncated.
        let noticed = Trace::open(&path).map_or(true, |trace| !trace.complete());
        assert!(noticed, "bit {bit} flipped unseen by open");
        let noticed = check(&path).map_or(true, |report| !report.sound());
        assert!(noticed, "bit {bit} flipped unseen by check");
        file.write_all_at(&[byte], place).unwrap();
    }
}

#[test]
fn what_follows_damage_is_found() {
    let (_folder, path, bytes) = small();
    let boundaries = boundaries(&bytes);
    let entries = boundaries.len() as u32 - 1;
    for damaged in 1..entries - 1 {
        let mut flipped = bytes.clone();
        flipped[boundaries[damaged as usize] + 40] ^= 1;
        put(&path, &flipped);
        let opened = Trace::open(&path);
        let Err(Error::Damaged { entry, offset, .. }) = opened else {
            panic!("damage in entry {damaged} was not seen");
        };
        assert_eq!(
            (entry, offset),
            (damaged, boundaries[damaged as usize] as u64)
        );
        let report = check(&path).unwrap();
        assert_eq!(report.findings.len(), 1);
        assert_eq!(report.readable.entries, damaged);
        let [after] = report.after_damage[..] else {
            panic!("one intact range follows the damage in entry {damaged}");
        };
        assert_eq!(after.first_entry, damaged + 1);
        assert_eq!(after.entries, entries - damaged - 1);
        assert_eq!(after.start, boundaries[damaged as usize + 1] as u64);
        assert_eq!(after.end, bytes.len() as u64);
    }
}

#[test]
fn a_missing_or_repeated_entry_is_noticed() {
    let (_folder, path, bytes) = small();
    let boundaries = boundaries(&bytes);
    let (from, to) = (boundaries[3], boundaries[4]);
    for changed in [
        [&bytes[..from], &bytes[to..]].concat(),
        [&bytes[..to], &bytes[from..]].concat(),
    ] {
        put(&path, &changed);
        let opened = Trace::open(&path);
        assert!(matches!(opened, Err(Error::Damaged { .. })));
        assert_eq!(
            check(&path).unwrap().findings[0].violation.rule,
            Rule::Entries
        );
    }
}

#[test]
fn bytes_after_the_end_are_noticed() {
    let (_folder, path, bytes) = small();
    for more in [&[0u8; 1][..], &[0; 64], &bytes] {
        put(&path, &[&bytes, more].concat());
        assert!(matches!(Trace::open(&path), Err(Error::Damaged { .. })));
        assert_eq!(check(&path).unwrap().findings[0].violation.rule, Rule::End);
    }
}

#[test]
fn other_files_are_told_from_traces() {
    let (folder, path, _) = small();
    let missing = folder.path().join("missing.trace");
    assert!(matches!(Trace::open(&missing), Err(Error::Read { .. })));
    assert!(matches!(
        Trace::open(folder.path()),
        Err(Error::Read { .. })
    ));
    put(&path, b"");
    assert!(matches!(Trace::open(&path), Err(Error::Empty { .. })));
    for foreign in [&b"#!/bin/sh\n"[..], &[0x7f; 100], &[0; 100], &[0; 4096]] {
        put(&path, foreign);
        assert!(matches!(Trace::open(&path), Err(Error::Foreign { .. })));
        assert!(matches!(check(&path), Err(Error::Foreign { .. })));
    }
}

/// Changes the version in the header.
fn set_version(bytes: &mut [u8], version: u8) {
    // The header is the root's only pointer and directly follows it, version first.
    let header = boundaries(bytes)[1];
    bytes[48] = version;
    bytes[20..24].fill(0);
    let checksum = crc32c::crc32c(&bytes[..header]);
    bytes[20..24].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn a_trace_of_version_1_which_has_no_repeats_is_read() {
    let (_folder, path, mut bytes) = small();
    let executions = Trace::open(&path).unwrap().execution_count();
    set_version(&mut bytes, 1);
    put(&path, &bytes);
    assert_eq!(check(&path).unwrap().findings, []);
    assert_eq!(Trace::open(&path).unwrap().execution_count(), executions);
}

#[test]
fn a_newer_trace_names_both_versions() {
    let (_folder, path, mut bytes) = small();
    set_version(&mut bytes, 5);
    put(&path, &bytes);
    let error = Trace::open(&path).err().unwrap().to_string();
    assert!(
        error.contains("newer corehop (trace format 5, this one reads up to 4)"),
        "{error}"
    );
    assert!(matches!(
        check(&path),
        Err(Error::Newer {
            version: 5,
            supported: 4,
            ..
        })
    ));
}
