//! Checks Lackey's text: what Valgrind writes, the result of each line, and errors with their
//! lines.

use super::packed_records::{gzip, zstd};
use corehop_traces::convert::{Error, Options, lackey};
use corehop_traces::{Header, Trace, Writer, WriterOptions};

/// Returns the imported trace as text, and its number of requests.
fn read(text: &[u8], options: &Options) -> Result<(String, u64), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let writer = Writer::create(&path, &Header::default(), &WriterOptions::default()).unwrap();
    let imported = lackey::import(text, "ls.lackey", writer, options)?;
    let trace = Trace::open(&path).unwrap();
    let mut written = Vec::new();
    let mut executions = trace.executions();
    while let Some(execution) = executions.next().unwrap() {
        for access in execution.accesses {
            lackey::write(access, &mut written).unwrap();
        }
    }
    assert_eq!(trace.requests().len() as u64, imported.summary.requests);
    Ok((
        String::from_utf8(written).unwrap(),
        imported.summary.requests,
    ))
}

const TEXT: &str = "\
==12== Lackey, an example Valgrind tool
==12== Command: ls
--12-- a message for those who mend Valgrind

I  04001100,3
I  04001103,5
 S 1ffeffe7e8,8
I  0400113e,4
 M 04222a60,8
** a message of the program
I  04001142,2
==12== Total loads: 1
";

#[test]
fn each_line_is_an_access_and_a_modification_is_two() {
    let (text, requests) = read(TEXT.as_bytes(), &Options::default()).unwrap();
    let expected = "\
I  04001100,3
I  04001103,5
 S 1ffeffe7e8,8
I  0400113e,2
I  04001140,2
 L 04222a60,8
 S 04222a60,8
I  04001142,2
";
    assert_eq!((&*text, requests), (expected, 0));
}

#[test]
fn joined_instructions_on_one_line_are_one_fetch() {
    let join = Options {
        request_at: None,
        join: true,
    };
    let (text, _) = read(TEXT.as_bytes(), &join).unwrap();
    let expected = "\
I  04001100,8
 S 1ffeffe7e8,8
I  0400113e,2
I  04001140,4
 L 04222a60,8
 S 04222a60,8
";
    assert_eq!(text, expected);
}

/// Lines that `--trace-superblocks=yes`, `--time-stamp=yes`, and an inner Valgrind add have no
/// effect.
#[test]
fn lines_that_options_of_valgrind_add_tell_nothing() {
    let more = TEXT
        .replace("I  04001100,3", "SB 04001100\nI  04001100,3")
        .replace("==12== Command", "==00:00:00:01.123 12== Command")
        .replace("==12== Total", ">==12== Total")
        .replace("I  0400113e,4", "SB 1ffeffe7e8\nI  0400113e,4");
    for join in [false, true] {
        let options = Options {
            request_at: None,
            join,
        };
        let plain = read(TEXT.as_bytes(), &options).unwrap();
        assert_eq!(read(more.as_bytes(), &options).unwrap(), plain);
    }
    for line in ["SB\n", "SB 0x12\n", "SB 12,4\n", "SB +12\n", "SBX 12\n"] {
        let broken = read(line.as_bytes(), &Options::default()).unwrap_err();
        assert!(broken.to_string().contains("line 1"), "{broken}");
    }
}

#[test]
fn a_request_begins_wherever_the_address_is_fetched() {
    let text = "I  1000,4\nI  1004,4\nI  1000,4\nI  1004,4\nI  1008,4\n";
    let at = Options {
        request_at: Some(0x1004),
        join: true,
    };
    let (text, requests) = read(text.as_bytes(), &at).unwrap();
    let expected = "I  00001000,4\nI  00001004,4\nI  00001000,4\nI  00001004,8\n";
    assert_eq!((&*text, requests), (expected, 2));
}

#[test]
fn an_instruction_makes_as_many_accesses_as_an_execution_can_hold() {
    let text = format!(
        "I  1000,4\n L 9000,8\nI  1004,4\n{}",
        " L 9000,8\n".repeat(65_000)
    );
    let join = Options {
        request_at: None,
        join: true,
    };
    let (written, _) = read(text.as_bytes(), &join).unwrap();
    assert_eq!(written.lines().count(), 65_003);
    let one_more = format!("{text} L 9000,8\n");
    let error = read(one_more.as_bytes(), &join).unwrap_err().to_string();
    assert_eq!(
        error,
        "ls.lackey: line 65004: one instruction with more than 65000 accesses"
    );
}

#[test]
fn an_empty_text_is_an_empty_trace() {
    assert_eq!(read(b"", &Options::default()).unwrap(), (String::new(), 0));
}

#[test]
fn lines_without_accesses_are_refused() {
    let refused = |text: &[u8]| read(text, &Options::default()).unwrap_err().to_string();
    let why = "no access up to here: run Valgrind with --tool=lackey --trace-mem=yes";
    let messages = b"==7== Memcheck\n==7== Command: ls\n";
    assert_eq!(refused(messages), format!("ls.lackey: line 2: {why}"));
}

#[test]
fn a_packed_text_is_read_and_damage_has_its_line() {
    let plain = read(TEXT.as_bytes(), &Options::default()).unwrap();
    for packed in [gzip(TEXT.as_bytes()), zstd(TEXT.as_bytes())] {
        assert_eq!(read(&packed, &Options::default()).unwrap(), plain);
    }
    let packed = gzip(TEXT.as_bytes());
    let error = read(&packed[..packed.len() - 4], &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert!(
        error.to_string().contains(": the gzip data is cut off"),
        "{error}"
    );
    let error = read(b"BZh91AY&SY and more", &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ls.lackey: line 1: bzip2 data, which is not read: decompress it by bunzip2 first"
    );
}

#[test]
fn what_is_no_record_is_refused_with_its_line() {
    let refused = |text: &[u8]| {
        let text = [b"I  1000,4\n", text].concat();
        let error = read(&text, &Options::default()).unwrap_err().to_string();
        error
            .strip_prefix("ls.lackey: line 2: ")
            .unwrap()
            .to_owned()
    };
    for text in [
        "SB 0400,4",
        "I  1000",
        "I  1000,",
        "X 1000,4",
        " L +9,8",
        " L 9,+8",
        "I",
    ] {
        let problem = format!(
            "{text:?} is not a record: `I`, `L`, `S` or `M`, then ADDRESS,SIZE; run Valgrind with \
             --log-file=FILE to keep out what the program prints"
        );
        let shown = problem.replace("\" L", "\"L");
        assert_eq!(refused(text.as_bytes()), shown);
    }
    assert_eq!(refused(b"\xff\n"), "not text");
    assert_eq!(
        refused(b" L 9000,0"),
        "an access of 0 bytes, not 1 to 65535"
    );
    assert_eq!(
        refused(b" S 9000,65536"),
        "an access of 65536 bytes, not 1 to 65535"
    );
    assert_eq!(refused(b"I  9000,0"), "a fetch of 0 bytes, not 1 to 7680");
    assert_eq!(
        refused(b"I  fffffffffffffff0,8"),
        "code at 0xfffffffffffffff0 goes beyond the last address"
    );
    assert_eq!(refused(&[b' '; 70_000]), "a line of more than 65536 bytes");
    let error = read(b" L 9000,8\n", &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ls.lackey: line 1: an access before any instruction that could make it"
    );
}
