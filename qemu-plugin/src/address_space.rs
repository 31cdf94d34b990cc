// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports the memory that a process shares with others.
//!
//! A server with a single process needs no report. After a fork, each process reports its shared
//! memory before its first word, and all changes from then on: pages of files that it may not
//! write, and mappings shared by name. All other memory is private. Pages that no process has
//! written since the fork are shared too, but only the recorder can determine these, at the end.
//! Rejected: following the memory calls from the start, which would slow down a single process.

use crate::connections::SystemCall;
use crate::maps::{self, Line};
use corehop_wire::ring::{Memory, Message, Object};
use std::ops::Range;

/// The reports of this process so far.
#[derive(Default)]
pub(crate) enum AddressSpace {
    /// None: there is no other process.
    #[default]
    Alone,
    /// None yet: one of its threads must write first.
    Untold,
    /// None yet, and this program replaced another in its process.
    Replaced,
    /// All shared memory was reported. Contains the addresses that are shared now, or were since.
    Told(Vec<Range<u64>>),
}

/// End of user addresses.
const USER_BYTES: u64 = 1 << 47;

/// Size of a page, the unit of mappings.
pub(crate) const PAGE_BYTES: u64 = 4096;

impl AddressSpace {
    /// Returns the state of a process that starts a program.
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

    /// Notes a fork in the parent. A parent that `writes` reports its shared memory at once.
    pub(crate) fn forked(&mut self, writes: bool, memory: &Memory) {
        match self {
            AddressSpace::Told(_) => {}
            _ if writes => self.tell(memory),
            AddressSpace::Replaced => {}
            _ => *self = AddressSpace::Untold,
        }
    }

    /// Notes that this process is a new child: reports of its parent do not apply to it.
    pub(crate) fn born(&mut self) {
        *self = AddressSpace::Untold;
    }

    /// Notes that a thread of this process is about to write.
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

    /// Reports a new mapping in this process.
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

/// The addresses whose mapping a system call has changed.
pub(crate) struct Mapped {
    pub(crate) range: Range<u64>,
    /// Whether something else was mapped there before.
    pub(crate) is_new: bool,
    /// Whether it may be shared with other processes.
    may_be_shared: bool,
}

impl Mapped {
    /// Returns the mapping made by a call with this result.
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

/// Returns the size of a segment, from its mapping.
fn segment_bytes(address: u64) -> u64 {
    let lines = maps::lines();
    let segment = lines.iter().find(|line| line.range.contains(&address));
    segment.map_or(0, |line| line.range.end - address)
}

/// Returns the object behind a part of a mapping, if it may be shared. A process has not written
/// pages that it may not write. An exception are pages that a loader protects after relocation;
/// processes forked later share these as well.
fn object(line: &Line, part: &Range<u64>) -> Option<Object> {
    let is_object = line.identity[1] != 0 && (line.shared || !line.writable);
    is_object.then(|| Object {
        identity: line.identity,
        offset: line.file_offset + (part.start - line.range.start),
        name: line.path.clone(),
    })
}

fn send(memory: &Memory, since: u64, range: &Range<u64>, object: Option<Object>) {
    // After the end of recording, there is no receiver.
    let _ = memory.send(&Message::Memory {
        process: std::process::id(),
        since,
        start: range.start,
        end: range.end,
        object,
    });
}
