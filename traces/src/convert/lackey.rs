//! The text output of Valgrind's `--tool=lackey --trace-mem=yes`: a line for each access.
//!
//! `I  ADDRESS,SIZE` is a fetch, ` L` a load, ` S` a store, and ` M` a load and a store of the same
//! bytes, all by the last fetched instruction. Addresses are hexadecimal, sizes decimal. `SB` and
//! an address, which `--trace-superblocks=yes` adds, marks the start of translated code. That code
//! may contain several jumps, so this has no equivalent in a trace. Lines that begin with `==`,
//! `--` or `**`, or with `>` before these if Valgrind runs itself, are Valgrind's messages. The
//! text identifies neither threads nor code blocks. By default each `I` is a code block, so that
//! the output of [`write()`] reads back as the same accesses.

use crate::convert::assembler::Assembler;
use crate::convert::error::{Error, Fault, FilePosition, problem};
use crate::convert::unpack::{Unpacked, opened};
use crate::convert::{Imported, Options};
use crate::{Access, Kind, Writer};
use std::io::{self, BufRead, Read, Write};

/// Longer than any message of Valgrind.
const LONGEST_LINE_BYTES: u64 = 1 << 16;

/// Writes one access as one line.
///
/// # Errors
/// Those of `out`.
pub fn write(access: &Access, out: &mut impl Write) -> io::Result<()> {
    let kind = match access.kind {
        Kind::Fetch => "I ",
        Kind::Load => " L",
        Kind::Store => " S",
    };
    let (address, size_bytes) = (access.address, access.size_bytes);
    writeln!(out, "{kind} {address:08x},{size_bytes}")
}

/// Reads a text, compressed or not, to its end and finishes the trace.
///
/// # Errors
/// [`Error::Broken`] for the first invalid line, an access before any instruction, lines without
/// accesses, or more than a trace can contain; [`Error::Damaged`] for invalid compressed data;
/// [`Error::Read`]; [`Error::Trace`] if the trace cannot be written.
pub fn import(
    input: impl Read,
    name: &str,
    writer: Writer,
    options: &Options,
) -> Result<Imported, Error> {
    let mut input = opened(Unpacked::of_stream(input), name, FilePosition::Line(1))?;
    let mut assembler = Assembler::new(writer, options.request_at);
    let mut number = 0;
    let mut begin = || {
        let thread = assembler.add_thread(1, 1)?;
        assembler.switch_to(thread)
    };
    begin().map_err(|fault| fault.at(name, FilePosition::Line(1)))?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut input).take(LONGEST_LINE_BYTES);
        let read = match bounded.read_until(b'\n', &mut line) {
            Ok(read) => read,
            Err(source) => {
                let place = FilePosition::Line(number + 1);
                return Err(input.get_ref().error(source, name, place));
            }
        };
        if read == 0 {
            break;
        }
        number += 1;
        let taken = take(&line, &mut assembler, options.join);
        taken.map_err(|fault| fault.at(name, FilePosition::Line(number)))?;
    }
    // An export without accesses is empty, and Valgrind's text is not.
    if assembler.is_unused() && number > 0 {
        let empty = "no access up to here: run Valgrind with --tool=lackey --trace-mem=yes";
        return Err(Fault::Problem(empty.into()).at(name, FilePosition::Line(number)));
    }
    let finished = assembler.finish();
    let summary = finished.map_err(|fault| fault.at(name, FilePosition::Line(number)))?;
    Ok(Imported {
        summary,
        instructions: None,
        left_out: Vec::new(),
        warnings: Vec::new(),
    })
}

fn take(line: &[u8], assembler: &mut Assembler, join: bool) -> Result<(), Fault> {
    if line.len() as u64 == LONGEST_LINE_BYTES && !line.ends_with(b"\n") {
        return problem(format!("a line of more than {LONGEST_LINE_BYTES} bytes"));
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return problem("not text");
    };
    let text = text.trim();
    let message = text.trim_start_matches('>');
    let is_message = ["==", "--", "**"]
        .iter()
        .any(|sign| message.starts_with(sign));
    if text.is_empty() || is_message || is_superblock(text) {
        return Ok(());
    }
    let Some((kind, address, size_bytes)) = record(text) else {
        let shown: String = text.chars().take(40).collect();
        return problem(format!(
            "{shown:?} is not a record: `I`, `L`, `S` or `M`, then ADDRESS,SIZE; run Valgrind with \
             --log-file=FILE to keep out what the program prints"
        ));
    };
    match kind {
        "I" => assembler.fetch(address, size_bytes, join),
        "L" => assembler.data(Kind::Load, address, size_bytes),
        "S" => assembler.data(Kind::Store, address, size_bytes),
        _ => {
            assembler.data(Kind::Load, address, size_bytes)?;
            assembler.data(Kind::Store, address, size_bytes)
        }
    }
}

/// Returns whether the line marks the start of a superblock.
fn is_superblock(text: &str) -> bool {
    let address = text.strip_prefix("SB ").map(str::trim_start);
    address.is_some_and(|address| u64::from_str_radix(address, 16).is_ok() && plain(address))
}

/// Returns whether the text is only digits, without a sign.
fn plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Parses kind, address and size in bytes.
fn record(text: &str) -> Option<(&str, u64, u64)> {
    let (kind, rest) = text.split_once(' ')?;
    let (address, size_bytes) = rest.trim_start().split_once(',')?;
    let known = ["I", "L", "S", "M"].contains(&kind) && plain(address) && plain(size_bytes);
    let address = u64::from_str_radix(address, 16).ok()?;
    known.then_some((kind, address, size_bytes.parse().ok()?))
}
