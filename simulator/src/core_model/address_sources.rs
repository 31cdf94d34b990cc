//! Address dependences: for each reference of a thread, the load that it has to wait for.
//!
//! A trace contains, for each code block, the sources of its addresses, stored values and
//! registers, as far as its instructions determine them ([`corehop_traces::Dependence`]). This
//! module combines them over a thread's executions, whose order and addresses are in the trace. The
//! rules:
//!
//! - Loads are numbered from 1 in the order in which the thread makes them. A load that spans lines
//!   is numbered once for each line.
//! - Initially, a register comes from no load. At the end of an execution, a register that the code
//!   block writes comes from the latest load among its sources. A source is the last load that the
//!   execution made at a given instruction, or the load that a given register came from when the
//!   execution began.
//! - A store records at its address the load that the stored value comes from. Each thread
//!   remembers the last store for each of 4096 slots; the slot of an address is its quotient by 8
//!   modulo 4096. A store to another address of the same slot overwrites it.
//! - A reference waits for the latest load that its address comes from. A load from an address
//!   whose last store is remembered waits for the load that the stored value comes from, if that is
//!   later. Spilling a register to the stack and loading it again thus preserves the dependence.
//! - `address_from` is the distance back to that load, where 1 is the previous load, if it is at
//!   most 255. Otherwise it is 0, as it is if nothing is known.
//!
//! An unknown source counts as no load, so some misses appear to overlap that do not. In a trace
//! without dependences ([`corehop_traces::Trace::has_dependences`]), all misses within a window
//! overlap: the times are the shortest that misses allow, as those of
//! [`InOrder`](crate::core_model::InOrder) are the longest. The opposite rule, an unknown source
//! means the previous load, would be wrong more often: most addresses come from the stack pointer,
//! from constants, or from loads that ended long ago. Unknown are: atomic instructions, which are
//! recorded as stores; values loaded at a different address than they were stored at; changes of
//! registers by signal handlers and the kernel; and everything that was not recorded of a thread.

use corehop_traces::{Dependence, Dependent, Execution, GENERAL_REGISTERS, Kind, Source, Trace};

/// The state of all threads of a trace.
pub struct AddressSources<'t> {
    trace: &'t Trace,
    threads: Vec<Thread>,
    /// For each instruction of the current execution, its last load; 0 for none.
    loads_of: Vec<u64>,
}

/// Number of stores that a thread remembers.
const STORES: usize = 4096;

/// The state of a thread; loads are represented by their numbers, 0 for none.
#[derive(Clone)]
struct Thread {
    loads: u64,
    registers: [u64; GENERAL_REGISTERS],
    /// Addresses, and the loads that the values stored there come from.
    stores: Box<[(u64, u64)]>,
}

impl<'t> AddressSources<'t> {
    /// Creates the state before the first execution.
    pub fn new(trace: &'t Trace) -> AddressSources<'t> {
        AddressSources {
            trace,
            threads: Vec::new(),
            loads_of: Vec::new(),
        }
    }

    /// Processes the next execution of the trace. Appends to `address_from` a number for each line
    /// that it references, in order: [`crate::core_model::Reference::address_from`]. Returns the
    /// number of its instructions.
    pub fn execution(&mut self, execution: &Execution<'_>, address_from: &mut Vec<u8>) -> u32 {
        let block = &self.trace.code_blocks()[execution.code_block as usize];
        let place = execution.thread.index();
        if place >= self.threads.len() {
            self.threads.resize(place + 1, Thread::new());
        }
        let thread = &mut self.threads[place];
        let count = block.instructions.len();
        self.loads_of.clear();
        self.loads_of.resize(count, 0);
        let all = &block.dependences;
        let of_address = |one: &Dependence| matches!(one.of, Dependent::Address(_));
        let of_access = |one: &Dependence| !matches!(one.of, Dependent::Register(_));
        let (mut addresses, rest) = all.split_at(all.partition_point(of_address));
        let (mut values, registers) = rest.split_at(rest.partition_point(of_access));
        let mut instruction = 0;
        for access in execution.accesses {
            let lines = access.lines().count();
            if access.kind == Kind::Fetch {
                address_from.extend(std::iter::repeat_n(0, lines));
                continue;
            }
            let offset = access.pc.wrapping_sub(block.start);
            while instruction + 1 < count
                && u64::from(block.instructions[instruction].offset) < offset
            {
                instruction += 1;
            }
            let own = of(&mut addresses, instruction);
            let source = latest(own, &thread.registers, &self.loads_of);
            if access.kind == Kind::Load {
                let source = source.max(thread.stored_at(access.address));
                for _ in 0..lines {
                    address_from.push(thread.back_to(source));
                    thread.loads += 1;
                }
                self.loads_of[instruction] = thread.loads;
            } else {
                address_from.extend(std::iter::repeat_n(thread.back_to(source), lines));
                let own = of(&mut values, instruction);
                let value = latest(own, &thread.registers, &self.loads_of);
                thread.store(access.address, value);
            }
        }
        thread.end(registers, &self.loads_of);
        count as u32
    }
}

/// Returns the dependences of one kind of the instruction at this index, and skips those of earlier
/// instructions.
fn of<'d>(rest: &mut &'d [Dependence], instruction: usize) -> &'d [Dependence] {
    let place = |one: &Dependence| match one.of {
        Dependent::Address(place) | Dependent::Stored(place) => usize::from(place),
        Dependent::Register(_) => usize::MAX,
    };
    while let Some((first, others)) = rest.split_first()
        && place(first) < instruction
    {
        *rest = others;
    }
    let own = rest.iter().take_while(|one| place(one) == instruction);
    &rest[..own.count()]
}

/// Returns the latest load of these sources, in an execution that began with these registers and
/// has made these loads.
fn latest(
    dependences: &[Dependence],
    registers: &[u64; GENERAL_REGISTERS],
    loads_of: &[u64],
) -> u64 {
    let load = |one: &Dependence| match one.from {
        Source::Nothing => 0,
        Source::Load(place) => loads_of[usize::from(place)],
        Source::Register(register) => registers[usize::from(register)],
    };
    dependences.iter().map(load).max().unwrap_or(0)
}

impl Thread {
    fn new() -> Thread {
        Thread {
            loads: 0,
            registers: [0; GENERAL_REGISTERS],
            stores: vec![(0, 0); STORES].into(),
        }
    }

    /// Returns the distance from the next load back to `load`.
    fn back_to(&self, load: u64) -> u8 {
        match load {
            0 => 0,
            load => u8::try_from(self.loads + 1 - load).unwrap_or(0),
        }
    }

    fn stored_at(&self, address: u64) -> u64 {
        match self.stores[place_of(address)] {
            (there, load) if there == address => load,
            _ => 0,
        }
    }

    fn store(&mut self, address: u64, load: u64) {
        self.stores[place_of(address)] = (address, load);
    }

    /// Ends the execution; `dependences` are those of its registers.
    fn end(&mut self, dependences: &[Dependence], loads_of: &[u64]) {
        let before = self.registers;
        for own in dependences.chunk_by(|one, next| one.of == next.of) {
            if let Dependent::Register(register) = own[0].of {
                self.registers[usize::from(register)] = latest(own, &before, loads_of);
            }
        }
    }
}

fn place_of(address: u64) -> usize {
    (address >> 3) as usize % STORES
}
