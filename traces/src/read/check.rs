//! Checks a trace against every rule of the format, and reports how much of a damaged one is
//! intact.
//!
//! `Trace::open` stops at the first broken rule. A check continues: it decodes every chunk, and
//! searches for intact entries after damage by their magic number.

use crate::format::chunk::{Chunk, Decoder};
use crate::format::entry::{self, Found};
use crate::format::rule::{Rule, Violation};
use crate::model::error::Error;
use crate::model::requests::Requests;
use crate::read::contents::{ChunkLocation, Contents};
use crate::read::order::{OrderSummary, RunLengths, merge};
use crate::read::reading::{Reading, Stop, map, read};
use std::path::Path;

/// A broken rule and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Number of the entry that breaks it, or that is missing.
    pub entry: u32,
    /// Byte of the file where that entry begins or should begin.
    pub offset: u64,
    /// The rule, and how it is broken.
    pub violation: Violation,
}

/// A range of intact entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intact {
    /// Number of the first entry.
    pub first_entry: u32,
    /// Number of entries.
    pub entries: u32,
    /// Byte of the file where the first begins.
    pub start: u64,
    /// Byte of the file where the last ends.
    pub end: u64,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Broken rules, in file order; empty for a sound trace.
    pub findings: Vec<Finding>,
    /// The entries before the first one that cannot be read.
    pub readable: Intact,
    /// Executions in the readable part.
    pub executions: u64,
    /// Loads and stores in the readable part.
    pub data_accesses: u64,
    /// Requests that begin in the readable part.
    pub requests: u64,
    /// How many of these requests also end there.
    pub complete_requests: u64,
    /// The order of everything readable, if proven: no rule is broken that the order requires.
    pub order: Option<OrderSummary>,
    /// Intact entries after damage. They are not read, because definitions that they need may be
    /// missing.
    pub after_damage: Vec<Intact>,
}

impl Report {
    /// Returns whether the trace keeps every rule.
    pub fn sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns the findings for `rule`.
    pub fn of(&self, rule: Rule) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.violation.rule == rule)
    }
}

/// Checks the trace at `path`.
///
/// # Errors
/// If the file cannot be read, is not a trace, or has a newer version of the format.
pub fn check(path: &Path) -> Result<Report, Error> {
    let map = map(path)?;
    let Reading {
        contents,
        entries,
        bytes,
        stop,
    } = read(path, &map)?;
    let offset = bytes as u64;
    let violation = match stop {
        Stop::End => None,
        Stop::Broken(violation) => Some(violation),
        Stop::Cut => Some(Rule::End.broken(match map.len() - bytes {
            0 => "the file is cut off before this entry".into(),
            there => format!("the file is cut off within this entry, after {there} bytes of it"),
        })),
    };
    let finding = |violation| Finding {
        entry: entries,
        offset,
        violation,
    };
    let mut findings: Vec<_> = violation.map(finding).into_iter().collect();
    let failed = |source| Error::Read {
        path: path.into(),
        source,
    };
    let mut decoder = Decoder::new().map_err(failed)?;
    let mut lengths = RunLengths::default();
    let in_chunks = check_chunks(&map, &contents, &mut decoder, &mut lengths);
    let order = match merge(&map, &contents, &mut decoder) {
        Ok(order) => in_chunks.is_empty().then(|| order.with(lengths)),
        Err((place, violation)) => {
            findings.push(place.finding(violation));
            None
        }
    };
    findings.extend(in_chunks);
    findings.extend(check_numbers(&contents));
    findings.sort_by_key(|finding| finding.offset);
    let marks: Vec<_> = contents
        .streams
        .iter()
        .map(|stream| &stream.marks[..])
        .collect();
    let requests = Requests::new(&marks).all;
    let complete = requests.iter().filter(|request| request.complete);
    Ok(Report {
        size_bytes: map.len() as u64,
        findings,
        readable: Intact {
            first_entry: 0,
            entries,
            start: 0,
            end: offset,
        },
        executions: contents.executions,
        data_accesses: contents.data_accesses,
        complete_requests: complete.count() as u64,
        requests: requests.len() as u64,
        order,
        after_damage: intact_after(&map, bytes),
    })
}

impl ChunkLocation {
    fn finding(&self, violation: Violation) -> Finding {
        Finding {
            entry: self.entry,
            offset: self.offset as u64,
            violation,
        }
    }
}

/// Decodes every readable chunk and adds up its runs; returns the broken rules.
fn check_chunks(
    file: &[u8],
    contents: &Contents,
    decoder: &mut Decoder,
    lengths: &mut RunLengths,
) -> Vec<Finding> {
    let mut chunk = Chunk::default();
    let places = contents.streams.iter().flat_map(|stream| &stream.chunks);
    let check = |place: &ChunkLocation| {
        let decoded = contents.decode(file, *place, (&mut *decoder, &mut chunk), &[]);
        match decoded {
            Ok(()) => lengths.add(&chunk, &contents.templates),
            Err(violation) => return Some(place.finding(violation)),
        }
        None
    };
    places.filter_map(check).collect()
}

/// Checks the numbers of requests. The server uses one counter, so a thread's numbers ascend and no
/// two threads share one. Returns the first violation of each thread.
fn check_numbers(contents: &Contents) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut givens = Vec::new();
    for (thread, stream) in contents.streams.iter().enumerate() {
        let numbers = stream.marks.iter().zip(0u32..).filter_map(|(own, mark)| {
            own.stamp?;
            Some((own.number?, mark))
        });
        let mut last = 0;
        for (number, mark) in numbers {
            if number <= last {
                let detail = format!("thread {thread} has request {number} after {last}");
                findings.push(stream.chunk_of(mark).finding(Rule::Requests.broken(detail)));
                break;
            }
            last = number;
            givens.push((number, thread, mark));
        }
    }
    givens.sort_unstable();
    for pair in givens.windows(2) {
        let [(number, one, _), (same, other, mark)] = *pair else {
            continue;
        };
        if number == same {
            let detail = format!("threads {one} and {other} both have request {number}");
            let place = contents.streams[other].chunk_of(mark);
            findings.push(place.finding(Rule::Requests.broken(detail)));
        }
    }
    findings
}

/// Returns the ranges of intact entries after an unreadable entry at `damaged`.
fn intact_after(file: &[u8], damaged: usize) -> Vec<Intact> {
    let mut ranges: Vec<Intact> = Vec::new();
    let mut from = damaged + 8;
    while let Some((offset, number)) = entry::next_intact(file, from) {
        let Found::Entry(bytes) = entry::look(file, offset, number) else {
            unreachable!("an intact entry with its own number");
        };
        let end = offset + bytes.len();
        match ranges.last_mut() {
            Some(last)
                if last.end == offset as u64
                    && last.first_entry.checked_add(last.entries) == Some(number) =>
            {
                last.entries += 1;
                last.end = end as u64;
            }
            _ => ranges.push(Intact {
                first_entry: number,
                entries: 1,
                start: offset as u64,
                end: end as u64,
            }),
        }
        from = end;
    }
    ranges
}
