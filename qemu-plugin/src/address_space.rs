// SPDX-License-Identifier: GPL-2.0-or-later
//! Which of its memory a process shares with others.
//!
//! As long as a server is one process, nobody asks. When it has forked, each process tells what it
//! shares before its first word, and from then on whatever changes: pages of files that it may not
//! write, and mappings that are shared by name. All else is its own. A page that nobody has written
//! since the fork is shared too, but only the recorder can see which those are, at the end.
//! Rejected: to follow the memory calls from the start, which a single process would pay for.

use crate::connections::SystemCall;
use crate::maps::{self, Line};
use corehop_wire::ring::{Memory, Message, Object};
use std::ops::Range;

/// What this process has told.
#[derive(Default)]
pub(crate) enum AddressSpace {
    /// Nothing: there is no other process.
    #[default]
    Alone,
    /// Nothing yet: one of its threads must write first.
    Untold,
    /// The same, of a program that its process has executed in place of another.
    Replaced,
    /// What it shares, all of it. The addresses that it shares, or has shared since.
    Told(Vec<Range<u64>>),
}

/// Addresses from 0 on that user code can have.
const USER_BYTES: u64 = 1 << 47;

/// A page of memory, of which mappings are made.
const PAGE_BYTES: u64 = 4096;

impl AddressSpace {
    /// Of a process that begins a program.
    pub(crate) fn of_program(has_relatives: bool) -> AddressSpace {
        match has_relatives {
            true => AddressSpace::Replaced,
            false => AddressSpace::Alone,
        }
    }

    /// Whether there are other processes.
    pub(crate) fn has_relatives(&self) -> bool {
        !matches!(self, AddressSpace::Alone)
    }

    /// This process is one of two from now on. A parent that `writes` tells at once what it shares.
    pub(crate) fn forked(&mut self, writes: bool, memory: &Memory) {
        match self {
            AddressSpace::Told(_) => {}
            _ if writes => self.tell(memory),
            AddressSpace::Replaced => {}
            _ => *self = AddressSpace::Untold,
        }
    }

    /// This process is a new child: what its parent has told is not of it.
    pub(crate) fn born(&mut self) {
        *self = AddressSpace::Untold;
    }

    /// A thread of this process is about to write.
    pub(crate) fn begins(&mut self, memory: &Memory) {
        if matches!(self, AddressSpace::Untold | AddressSpace::Replaced) {
            self.tell(memory);
        }
    }

    fn tell(&mut self, memory: &Memory) {
        let mut told = Vec::new();
        let mut since = 0;
        if matches!(self, AddressSpace::Replaced) {
            since = memory.next_stamp();
            send(memory, since, &(0..USER_BYTES), None);
        }
        for line in maps::lines() {
            if let Some(object) = object(&line, &line.range) {
                send(memory, since, &line.range, Some(object));
                told.push(line.range);
            }
        }
        *self = AddressSpace::Told(told);
    }

    /// Something has been mapped in this process.
    pub(crate) fn mapped(&mut self, mapped: &Mapped, memory: &Memory) {
        let AddressSpace::Told(told) = self else {
            return;
        };
        let range = &mapped.range;
        if !mapped.may_be_shared && !overlaps(told, range) {
            return;
        }
        let since = memory.next_stamp();
        for line in maps::lines() {
            let part = line.range.start.max(range.start)..line.range.end.min(range.end);
            match object(&line, &part) {
                _ if part.is_empty() => {}
                Some(object) => {
                    send(memory, since, &part, Some(object));
                    if !told.contains(&part) {
                        told.push(part);
                    }
                }
                None if overlaps(told, &part) => send(memory, since, &part, None),
                None => {}
            }
        }
    }
}

fn overlaps(some: &[Range<u64>], range: &Range<u64>) -> bool {
    let overlaps = |one: &Range<u64>| one.start < range.end && range.start < one.end;
    some.iter().any(overlaps)
}

/// The addresses at which a system call has changed what is mapped.
pub(crate) struct Mapped {
    pub(crate) range: Range<u64>,
    /// Something else was there before.
    pub(crate) is_new: bool,
    /// It may be memory of others too.
    may_be_shared: bool,
}

impl Mapped {
    /// What a call has mapped that has returned with this result.
    pub(crate) fn by(call: &SystemCall, result: i64) -> Option<Mapped> {
        let result = u64::try_from(result).ok()?;
        let [first, second, third, fourth] = call.arguments;
        let has = |flags: u64, flag: i32| flags & u64::from(flag.cast_unsigned()) != 0;
        let (start, bytes, is_new, may_be_shared) = match call.number {
            libc::SYS_mmap => {
                let is_own = has(fourth, libc::MAP_ANONYMOUS) && has(fourth, libc::MAP_PRIVATE);
                (result, second, true, !is_own)
            }
            libc::SYS_mremap => (result, third, true, true),
            libc::SYS_shmat => (result, segment_bytes(result), true, true),
            libc::SYS_mprotect if has(third, libc::PROT_WRITE) => (first, second, false, false),
            _ => return None,
        };
        let end = start
            .checked_add(bytes)?
            .checked_next_multiple_of(PAGE_BYTES)?;
        Some(Mapped {
            range: start..end,
            is_new,
            may_be_shared,
        })
    }
}

/// How large a segment is, its mapping says.
fn segment_bytes(address: u64) -> u64 {
    let lines = maps::lines();
    let segment = lines.iter().find(|line| line.range.contains(&address));
    segment.map_or(0, |line| line.range.end - address)
}

/// The object whose pages a part of a mapping has, if others may have them too. What one process
/// may not write, it has not written; but for what a loader protects after relocating it, which
/// the processes forked off after that share as well.
fn object(line: &Line, part: &Range<u64>) -> Option<Object> {
    let is_object = line.identity[1] != 0 && (line.shared || !line.writable);
    is_object.then(|| Object {
        identity: line.identity,
        offset: line.file_offset + (part.start - line.range.start),
        name: line.path.clone(),
    })
}

fn send(memory: &Memory, since: u64, range: &Range<u64>, object: Option<Object>) {
    // Nobody listens any more when recording has ended.
    let _ = memory.send(&Message::Memory {
        process: std::process::id(),
        since,
        start: range.start,
        end: range.end,
        object,
    });
}
