//! The records of `ChampSim`'s tracers: one instruction of 64 bytes each, compressed or not.
//!
//! A record (`input_instr` of `inc/trace_instruction.h`, little-endian) contains the instruction's
//! address, and whether it is a branch and is taken. It also contains the registers that it writes
//! and reads, and the addresses of its stores and loads. It contains neither the instruction's size
//! nor the sizes of its accesses. The size is the distance to the next executed instruction, if
//! that can be the adjacent one. So each instruction is processed when the next one is known. An
//! access counts as one byte, as in `ChampSim`: a reference to one line.
//!
//! Calls are recognized from the registers, by the rules of `ChampSim`'s `inc/instruction.h`. So
//! functions are derived from calls as in a drmemtrace.

mod record;

use super::assembler::Assembler;
use super::drmemtrace::Program;
use super::error::{Error, Fault, FilePosition};
use super::functions::{Calling, Flow, Functions};
use super::unpack::{Unpacked, opened, record};
use super::{Imported, Options};
use crate::{Kind, Writer};
use record::{Branch, RECORD_BYTES, Record};
use std::collections::HashMap;
use std::io::{BufReader, Read};

/// Maximum size of an x86-64 instruction in bytes.
const LONGEST: u64 = 15;

/// The one process and thread of a trace.
const ONLY: u32 = 1;

/// Reads `input` to its end and finishes the trace. [`Options::join`] has no effect.
///
/// # Errors
/// [`Error::Damaged`] for an invalid or truncated record; [`Error::Broken`] for a record that no
/// trace can contain; [`Error::Read`]; [`Error::Trace`] if the trace cannot be written.
pub fn import(
    input: impl Read,
    name: &str,
    writer: Writer,
    options: &Options,
) -> Result<Imported, Error> {
    let mut records = Records::of(input, name)?;
    let program = Program::default();
    let mut reading = Reading::new(writer, options, &program);
    let begun = reading.begin();
    begun.map_err(|fault| records.fault(0, fault))?;
    let mut number = 0;
    let mut before: Option<Record> = None;
    while let Some(record) = records.next(number)? {
        if let Some(before) = before.replace(record) {
            let taken = reading.take(&before, Some(record.address));
            taken.map_err(|fault| records.fault(number - 1, fault))?;
        }
        number += 1;
    }
    let last = number.saturating_sub(1);
    let Some(before) = before else {
        let empty = Fault::Damage("no record: the file is empty".into());
        return Err(records.fault(0, empty));
    };
    let taken = reading.take(&before, None);
    taken.map_err(|fault| records.fault(last, fault))?;
    reading.finish().map_err(|fault| records.fault(last, fault))
}

/// The records of a file.
struct Records<'r> {
    name: &'r str,
    bytes: BufReader<Unpacked<'r>>,
}

impl<'r> Records<'r> {
    fn of(input: impl Read + 'r, name: &'r str) -> Result<Records<'r>, Error> {
        let place = FilePosition::of_record(0, RECORD_BYTES);
        let bytes = opened(Unpacked::of_stream(input), name, place)?;
        Ok(Records { name, bytes })
    }

    /// Creates the error for the record with this number, from 0.
    fn fault(&self, number: u64, fault: Fault) -> Error {
        fault.at(self.name, FilePosition::of_record(number, RECORD_BYTES))
    }

    /// Reads the record with this number, which is the next; `None` at the end.
    fn next(&mut self, number: u64) -> Result<Option<Record>, Error> {
        let place = FilePosition::of_record(number, RECORD_BYTES);
        let Some(bytes) = record(&mut self.bytes, self.name, place)? else {
            return Ok(None);
        };
        let record = Record::decode(&bytes);
        record.map_err(|fault| self.fault(number, fault)).map(Some)
    }
}

/// The state of an import.
struct Reading<'p> {
    assembler: Assembler,
    functions: Functions<'p>,
    calling: Calling,
    /// Sizes of instructions, by address, known from the next executed instruction.
    sizes: HashMap<u64, u8>,
    /// The previous instruction.
    before: Option<Before>,
    instructions: u64,
    /// Number of instructions of unknown size.
    unsized_instructions: u64,
    accesses: u64,
}

/// The instruction before the current one.
#[derive(Clone, Copy)]
struct Before {
    address: u64,
    size: u8,
    is_branch: bool,
}

impl Reading<'_> {
    fn new<'p>(writer: Writer, options: &Options, program: &'p Program) -> Reading<'p> {
        Reading {
            assembler: Assembler::new(writer, options.request_at),
            functions: Functions::of(program),
            calling: Calling::No,
            sizes: HashMap::new(),
            before: None,
            instructions: 0,
            unsized_instructions: 0,
            accesses: 0,
        }
    }

    fn begin(&mut self) -> Result<(), Fault> {
        let thread = self.assembler.add_thread(ONLY, ONLY)?;
        self.assembler.switch_to(thread)
    }

    /// Processes a record; `next` is the address of the following one.
    fn take(&mut self, record: &Record, next: Option<u64>) -> Result<(), Fault> {
        let branch = record.branch();
        let is_branch = branch != Branch::No;
        // A string operation has one record per repetition.
        let repeats = |of: Before| !is_branch && !of.is_branch && of.address == record.address;
        let is_repetition = self.before.is_some_and(repeats);
        if !(is_repetition && self.assembler.repeat(record.address)?) {
            self.fetch(record, branch, next)?;
        }
        self.instructions += 1;
        let loads = record.loads.iter().map(|&address| (Kind::Load, address));
        let stores = record.stores.iter().map(|&address| (Kind::Store, address));
        for (kind, address) in loads.chain(stores) {
            if address != 0 {
                self.assembler.data(kind, address, 1)?;
                self.accesses += 1;
            }
        }
        Ok(())
    }

    fn fetch(&mut self, record: &Record, branch: Branch, next: Option<u64>) -> Result<(), Fault> {
        let address = record.address;
        let size = self.size(record, branch, next);
        let is_cut = self.before.is_none_or(|before| {
            before.is_branch || before.address.wrapping_add(before.size.into()) != address
        });
        // A call of the directly following instruction only determines its own address.
        let is_behind = self.before.is_some_and(|before| {
            let distance = address.wrapping_sub(before.address);
            (1..=LONGEST).contains(&distance)
        });
        let entered = match self.calling {
            Calling::Enters if !is_behind => {
                let assembler = &mut self.assembler;
                Some(self.functions.called(ONLY, address, assembler)?)
            }
            _ if is_cut => self.functions.at(ONLY, address),
            _ => None,
        };
        match entered {
            Some(function) => self.assembler.enter(address, size.into(), function)?,
            None => self.assembler.fetch(address, size.into(), !is_cut)?,
        }
        self.calling = self.calling.after(flow(branch, record), entered.is_some());
        self.before = Some(Before {
            address,
            size,
            is_branch: branch != Branch::No,
        });
        Ok(())
    }

    /// Returns the size of an instruction, from the next executed instruction or an earlier
    /// execution; 1 if it is unknown.
    fn size(&mut self, record: &Record, branch: Branch, next: Option<u64>) -> u8 {
        let distance = next.map_or(0, |next| next.wrapping_sub(record.address));
        let goes_on = !branch.is_taken(record) && (1..=LONGEST).contains(&distance);
        if goes_on {
            let size = distance as u8;
            self.sizes.insert(record.address, size);
            return size;
        }
        match self.sizes.get(&record.address) {
            Some(&size) => size,
            None => {
                self.unsized_instructions += 1;
                1
            }
        }
    }

    fn finish(self) -> Result<Imported, Fault> {
        let mut warnings = Vec::new();
        if self.accesses > 0 {
            warnings.push(format!(
                "ChampSim's traces have no sizes of loads and stores: each of the {} is read as \
                 one of 1 byte, on one line",
                self.accesses
            ));
        }
        if self.unsized_instructions > 0 {
            warnings.push(format!(
                "{} executions of instructions, mostly taken branches, are not followed by the \
                 instruction behind, so their sizes are unknown: each is read as one of 1 byte",
                self.unsized_instructions
            ));
        }
        let summary = self.assembler.finish()?;
        Ok(Imported {
            summary,
            instructions: Some(self.instructions),
            left_out: Vec::new(),
            warnings,
        })
    }
}

fn flow(branch: Branch, record: &Record) -> Flow {
    match branch {
        Branch::No => Flow::On,
        Branch::Call => Flow::Call,
        Branch::IndirectJump => Flow::IndirectJump,
        Branch::Jump if record.loads != [0; 4] => Flow::IndirectJump,
        Branch::Conditional | Branch::Other | Branch::Jump | Branch::Return => Flow::Branch,
    }
}
