//! The records of one file, compressed or not, with the place of each.

use super::record::{RECORD_BYTES, Record};
use crate::convert::error::{Error, Fault, FilePosition};
use crate::convert::unpack::{Unpacked, Watch, opened, record};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// One file.
pub(super) struct Input<'w> {
    name: String,
    bytes: BufReader<Unpacked<'w>>,
    /// Records that were examined but not taken.
    ahead: VecDeque<Record>,
    /// Number of records taken.
    taken: u64,
}

impl<'w> Input<'w> {
    /// Creates an input from `stream`, with `name` for errors.
    pub(super) fn of_stream(stream: impl Read + 'w, name: &str) -> Result<Input<'w>, Error> {
        Input::new(Unpacked::of_stream(stream), name.into())
    }

    /// Opens the file at `path`.
    pub(super) fn of_file(path: &Path, watch: &'w Watch<'w>) -> Result<Input<'w>, Error> {
        let name = path.display().to_string();
        let file = File::open(path).and_then(|file| Unpacked::of_file(file, watch));
        Input::new(file, name)
    }

    fn new(bytes: io::Result<Unpacked<'w>>, name: String) -> Result<Input<'w>, Error> {
        let bytes = opened(bytes, &name, FilePosition::of_record(0, RECORD_BYTES))?;
        Ok(Input {
            name,
            bytes,
            ahead: VecDeque::new(),
            taken: 0,
        })
    }

    /// Returns the number of records taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the next record without taking it; `None` at the end.
    pub(super) fn head(&mut self) -> Result<Option<Record>, Error> {
        self.look(0)
    }

    /// Returns the record after this many more, without taking it; `None` beyond the end.
    pub(super) fn look(&mut self, after: usize) -> Result<Option<Record>, Error> {
        while self.ahead.len() <= after {
            match self.read()? {
                Some(record) => self.ahead.push_back(record),
                None => return Ok(None),
            }
        }
        Ok(self.ahead.get(after).copied())
    }

    /// Takes the next record; `None` at the end.
    pub(super) fn take(&mut self) -> Result<Option<Record>, Error> {
        let record = match self.ahead.pop_front() {
            Some(record) => Some(record),
            None => self.read()?,
        };
        self.taken += u64::from(record.is_some());
        Ok(record)
    }

    /// Creates an error at the last record taken.
    pub(super) fn fault(&self, fault: Fault) -> Error {
        let record = self.taken.saturating_sub(1);
        fault.at(&self.name, FilePosition::of_record(record, RECORD_BYTES))
    }

    /// Creates an error at the place of the next record.
    pub(super) fn fault_at_end(&self, problem: &str) -> Error {
        let place = FilePosition::of_record(self.taken, RECORD_BYTES);
        Fault::Damage(problem.into()).at(&self.name, place)
    }

    fn read(&mut self) -> Result<Option<Record>, Error> {
        let place = FilePosition::of_record(self.taken + self.ahead.len() as u64, RECORD_BYTES);
        let bytes = record(&mut self.bytes, &self.name, place)?;
        Ok(bytes.map(|bytes| Record::decode(&bytes)))
    }
}
