//! Where addresses come from: for each reference of a thread, the load that it has to wait for.
//!
//! A trace says of each code block what its addresses, stored values and registers come from, as
//! far as its instructions tell ([`corehop_traces::Dependence`]). This joins these over a thread's
//! executions, whose order and addresses the trace has. The rules:
//!
//! - Loads are numbered from 1 as the thread makes them, a load that spans lines once for each.
//! - A register comes from no load at first. At the end of an execution, one that the code block
//!   writes comes from the latest load that its sources say: the last load that the execution made
//!   at the instruction named, or what the register named came from when the execution began.
//! - A store leaves at its address what the stored value comes from. Each thread remembers the last
//!   store for each of 4096 places, where the place of an address is its quotient by 8 modulo 4096;
//!   what was stored at another address of the same place is forgotten.
//! - A reference waits for the latest load that its address comes from. A load of an address whose
//!   last store is remembered waits for what that value comes from, if that is later: to spill a
//!   register to the stack and to load it again loses nothing.
//! - `address_from` is how many loads back that load is, where 1 is the last one before, if it is
//!   at most 255. Else it is 0, as it is where nothing is known.
//!
//! What is not known counts as coming from no load, so misses seem to overlap that do not. In a
//! trace that says nothing of dependences ([`corehop_traces::Trace::has_dependences`]) all misses
//! within a window do: times by it are the shortest that misses allow, as those of
//! [`InOrder`](crate::core_model::InOrder) are the longest. The opposite rule, that what is not
//! known depends on the load before, would be wrong more often: most addresses come from the stack
//! pointer, from constants, or from loads that are long done. Not known are atomic instructions,
//! which are recorded as stores; values loaded at another address than they were stored at; what
//! signal handlers and the kernel do to registers; and all of a thread that was not recorded.

use corehop_traces::{Dependence, Dependent, Execution, GENERAL_REGISTERS, Kind, Source, Trace};

/// What all threads of a trace have done so far.
pub struct AddressSources<'t> {
    trace: &'t Trace,
    threads: Vec<Thread>,
    /// Of each instruction of the current execution, its last load; 0 for none.
    loads_of: Vec<u64>,
}

/// Stores that a thread remembers.
const STORES: usize = 4096;

/// What a thread has done so far; loads are meant by their numbers, 0 for none.
#[derive(Clone)]
struct Thread {
    loads: u64,
    registers: [u64; GENERAL_REGISTERS],
    /// Addresses, and what was stored there.
    stores: Box<[(u64, u64)]>,
}

impl<'t> AddressSources<'t> {
    /// Nothing has been executed.
    pub fn new(trace: &'t Trace) -> AddressSources<'t> {
        AddressSources {
            trace,
            threads: Vec::new(),
            loads_of: Vec::new(),
        }
    }

    /// Takes the next execution of the trace. Appends to `address_from` a number for each line that
    /// it references, in order: [`crate::core_model::Reference::address_from`]. Gives the number of
    /// its instructions.
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

/// The dependences of the instruction at this place, all of one kind; those of earlier ones are
/// left out from now on.
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

/// The latest load of these sources, in an execution that began with these registers and has made
/// these loads.
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

    /// How many loads back that load is from the next.
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

    /// The execution ends; `dependences` are those of its registers.
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
