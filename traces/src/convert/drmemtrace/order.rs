//! Determines the order in which records of several files are read.
//!
//! Files of threads have timestamps where a thread was interrupted or its buffer was written. So
//! the file with the earliest time is read next, up to its next timestamp. Files of cores come from
//! a new schedule: their times are those of the original run, and decrease where another thread
//! continues. There, each record represents the time of one record, even if a core is idle. So the
//! core with the fewest records read is next. A thread that moves to another core must not overtake
//! itself: the parts of each thread are determined first, by time, and read in sequence.

use super::input::Input;
use super::record::{Record, file_type, kind, marker};
use crate::convert::error::Error;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Maximum number of records before the type of the file.
const RECORDS_BEFORE_TYPE: usize = 8;

/// Selects the file to read next.
pub(super) struct Order {
    /// The files that are not at their end, by key.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// Only for files of cores.
    parts: Option<Parts>,
}

impl Order {
    /// Determines the order of these files; `again` opens a file a second time.
    pub(super) fn of<'w>(
        inputs: &mut [Input<'w>],
        again: impl Fn(usize) -> Result<Input<'w>, Error>,
    ) -> Result<Order, Error> {
        let mut of_cores = false;
        for input in &mut *inputs {
            of_cores |= is_of_core(input)?;
        }
        let parts = match of_cores && inputs.len() > 1 {
            true => Some(Parts::of(inputs.len(), again)?),
            false => None,
        };
        let files = 0..inputs.len();
        Ok(Order {
            waiting: files.map(|file| Reverse((0, file))).collect(),
            parts,
        })
    }

    /// Takes the file to read next; `None` when all are at their ends.
    pub(super) fn next(&mut self) -> Option<usize> {
        let Some(parts) = &self.parts else {
            return self.waiting.pop().map(|Reverse((_, file))| file);
        };
        let mut passed = Vec::new();
        let mut found = None;
        while found.is_none()
            && let Some(Reverse((key, file))) = self.waiting.pop()
        {
            match parts.may_go_on(file) {
                true => found = Some(file),
                false => passed.push((key, file)),
            }
        }
        // Files that wait for one another cannot come from a single run.
        if found.is_none() && !passed.is_empty() {
            found = Some(passed.remove(0).1);
        }
        self.waiting.extend(passed.into_iter().map(Reverse));
        found
    }

    /// Returns whether another file may be read before `head`, the record after `last` in this
    /// file.
    pub(super) fn ends_turn(&self, last: Record, head: Record) -> bool {
        let is = |record: Record, sub| record.kind == kind::MARKER && record.size == sub;
        match self.parts {
            None => is(head, marker::TIMESTAMP),
            Some(_) => {
                let after_idle = is(last, marker::CORE_IDLE) && !is(head, marker::CORE_IDLE);
                is(head, marker::TIMESTAMP) || head.kind == kind::THREAD || after_idle
            }
        }
    }

    /// Queues the file; `head` is its next record, and `taken` the number of records read.
    pub(super) fn wait(&mut self, file: usize, head: Record, taken: u64) {
        let key = match &mut self.parts {
            None => head.value,
            Some(parts) => {
                if head.kind == kind::THREAD {
                    parts.end(file);
                }
                taken
            }
        };
        self.waiting.push(Reverse((key, file)));
    }

    /// Marks the file as read to its end.
    pub(super) fn end(&mut self, file: usize) {
        if let Some(parts) = &mut self.parts {
            parts.end(file);
        }
    }
}

fn is_of_core(input: &mut Input<'_>) -> Result<bool, Error> {
    for after in 0..RECORDS_BEFORE_TYPE {
        match input.look(after)? {
            Some(record) if record.kind == kind::MARKER && record.size == marker::FILE_TYPE => {
                return Ok(record.value & file_type::OF_CORES != 0);
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok(false)
}

/// What a core without a thread records as its number (`INVALID_THREAD_ID` and `IDLE_THREAD_ID` in
/// DynamoRIO's headers).
const NO_THREADS: [u64; 2] = [0, u64::MAX];

/// The parts of each thread in the files, in sequence.
struct Parts {
    /// For each file, its parts in order: the thread, and the number of the part in the thread;
    /// `None` for an idle core.
    of_files: Vec<Vec<Option<(usize, u32)>>>,
    /// For each file, how many of its parts are read. One more than the number of parts means the
    /// end.
    read: Vec<usize>,
    /// For each thread, how many of its parts are read.
    done: Vec<u32>,
}

/// A part that was found.
struct Found {
    file: usize,
    /// Its index in the file.
    place: usize,
    /// Number of its first record.
    record: u64,
    time: Option<u64>,
}

impl Parts {
    fn of<'w>(
        files: usize,
        again: impl Fn(usize) -> Result<Input<'w>, Error>,
    ) -> Result<Parts, Error> {
        let mut threads: HashMap<(u64, u64), usize> = HashMap::new();
        let mut found: Vec<Vec<Found>> = Vec::new();
        let mut of_files: Vec<Vec<Option<(usize, u32)>>> = vec![Vec::new(); files];
        for (file, of_file) in of_files.iter_mut().enumerate() {
            let mut input = again(file)?;
            while let Some(record) = input.take()? {
                if record.kind == kind::THREAD && NO_THREADS.contains(&record.value) {
                    of_file.push(None);
                } else if record.kind == kind::THREAD {
                    let process = input.head()?.filter(|next| next.kind == kind::PROCESS);
                    let key = (process.map_or(0, |process| process.value), record.value);
                    let thread = *threads.entry(key).or_insert(found.len());
                    if thread == found.len() {
                        found.push(Vec::new());
                    }
                    found[thread].push(Found {
                        file,
                        place: of_file.len(),
                        record: input.taken(),
                        time: None,
                    });
                    of_file.push(Some((thread, 0)));
                } else if record.kind == kind::MARKER
                    && record.size == marker::TIMESTAMP
                    && let Some(&Some((thread, _))) = of_file.last()
                    && let Some(part) = found[thread].last_mut()
                {
                    part.time.get_or_insert(record.value);
                }
            }
        }
        for (thread, parts) in found.iter_mut().enumerate() {
            put_in_order(parts);
            for (number, part) in parts.iter().enumerate() {
                of_files[part.file][part.place] = Some((thread, number as u32));
            }
        }
        Ok(Parts {
            of_files,
            read: vec![0; files],
            done: vec![0; found.len()],
        })
    }

    /// Returns whether the file's current part is the next one of its thread.
    fn may_go_on(&self, file: usize) -> bool {
        match self.current(file) {
            Some((thread, number)) => self.done[thread] == number,
            None => true,
        }
    }

    /// Returns the file's current part; `None` before its first, and for an idle core.
    fn current(&self, file: usize) -> Option<(usize, u32)> {
        let parts = &self.of_files[file];
        *parts.get(self.read[file].checked_sub(1)?)?
    }

    /// Marks the file's current part as read.
    fn end(&mut self, file: usize) {
        if let Some((thread, _)) = self.current(file) {
            self.done[thread] += 1;
        }
        self.read[file] += 1;
    }
}

/// Sorts the parts of a thread by time. A part without a time follows those with fewer records
/// before them in their files.
fn put_in_order(parts: &mut [Found]) {
    parts.sort_by_key(|part| (part.record, part.file));
    let mut latest = 0;
    for part in &mut *parts {
        latest = latest.max(part.time.unwrap_or(0));
        part.time = Some(part.time.unwrap_or(latest));
    }
    parts.sort_by_key(|part| part.time);
}
