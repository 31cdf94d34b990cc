//! Dependences: the loads or registers that the addresses of a code block's accesses come from.
//!
//! An out-of-order processor overlaps independent misses, but not two misses if one loads the
//! address of the other. One pass over the block finds the source of each instruction's address: a
//! load of the block, or the registers at the start of the block. It also finds the source of each
//! written register's value at the end, and of each stored value. A caller that knows the order of
//! blocks joins these: between blocks through registers, and through memory by addresses.
//!
//! It follows the general registers and, within a block, the vector registers and the flags, which
//! are assumed to have no source at the start. An instruction's results come from its load if it
//! makes one, and otherwise from all registers that it reads. Of several loads, the latest
//! represents all: it also replaces registers. The stack pointer never comes from a load. A taken
//! jump is not a dependence, because processors predict it; a conditional move is one.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register, RflagsBits, UsedMemory,
};

/// One source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dependence {
    /// The value.
    pub of: Dependent,
    /// Its source; one value may come from several registers.
    pub from: Source,
}

/// A value that may come from a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependent {
    /// The address of the accesses of the instruction with this index.
    Address(u16),
    /// The value that the instruction with this index stores.
    Stored(u16),
    /// The value of this general register at the end, if the block writes it; the number is that of
    /// x86's encoding.
    Register(u8),
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// No load.
    Nothing,
    /// The load that the instruction with this index has made.
    Load(u16),
    /// The source of this general register's value at the start.
    Register(u8),
}

/// Maximum number of registers recorded as sources of a value: those with the lowest numbers.
const MOST_REGISTERS: usize = 4;

/// Finds the dependences of the code block at `start` with these instructions: addresses, then
/// stored values, then registers, in order. Addresses and stored values without a source are
/// omitted.
pub fn dependences<'b>(
    start: u64,
    instructions: impl Iterator<Item = &'b [u8]>,
) -> Vec<Dependence> {
    let mut flow = Flow::new();
    let mut factory = InstructionInfoFactory::new();
    let mut address = start;
    for (place, bytes) in (0..).zip(instructions) {
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        address = address.wrapping_add(bytes.len() as u64);
        if instruction.is_invalid() || instruction.len() != bytes.len() {
            flow.holds = [Sources::default(); HOLDERS];
        } else {
            flow.execute(place, &instruction, factory.info(&instruction));
        }
    }
    flow.finish()
}

/// The sources of a value, with only the latest load.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sources {
    load: Option<u16>,
    /// One bit for each general register's initial value.
    registers: u16,
}

impl Sources {
    fn and(self, other: Sources) -> Sources {
        let load = self.load.max(other.load);
        let registers = match load {
            Some(_) => 0,
            None => self.registers | other.registers,
        };
        Sources { load, registers }
    }

    /// Appends each source to `all`.
    fn push(self, of: Dependent, all: &mut Vec<Dependence>) {
        let load = self.load.map(Source::Load);
        let is_set = |number: &u8| self.registers >> number & 1 == 1;
        let registers = (0..GENERAL as u8).filter(is_set).take(MOST_REGISTERS);
        let origins = load.into_iter().chain(registers.map(Source::Register));
        all.extend(origins.map(|from| Dependence { of, from }));
    }
}

const GENERAL: usize = 16;
const FLAGS: usize = 2 * GENERAL;
const HOLDERS: usize = FLAGS + 1;
const RSP: usize = 4;

/// The flags that contain the result of a computation.
const RESULT_FLAGS: u32 = RflagsBits::OF
    | RflagsBits::SF
    | RflagsBits::ZF
    | RflagsBits::AF
    | RflagsBits::CF
    | RflagsBits::PF;

/// The state between two instructions.
struct Flow {
    /// General registers, vector registers, flags.
    holds: [Sources; HOLDERS],
    addresses: Vec<Dependence>,
    stored: Vec<Dependence>,
}

impl Flow {
    fn new() -> Flow {
        let holds = std::array::from_fn(|number| match number {
            RSP | GENERAL.. => Sources::default(),
            general => Sources {
                load: None,
                registers: 1 << general,
            },
        });
        Flow {
            holds,
            addresses: Vec::new(),
            stored: Vec::new(),
        }
    }

    fn execute(&mut self, place: u16, instruction: &Instruction, info: &InstructionInfo) {
        let memory = info.used_memory();
        let accessed = memory.iter().filter(|used| is_accessed(used));
        let addresses = accessed.flat_map(|used| [used.base(), used.index()]);
        let address = addresses.fold(Sources::default(), |all, one| all.and(self.of(one)));
        address.push(Dependent::Address(place), &mut self.addresses);
        let result = match memory.iter().any(|used| reads(used.access())) {
            true => Sources {
                load: Some(place),
                registers: 0,
            },
            false => self.operands(instruction, info),
        };
        // The value that a call stores is known in advance.
        let is_call = instruction.mnemonic() == Mnemonic::Call;
        if !is_call && memory.iter().any(|used| writes(used.access())) {
            result.push(Dependent::Stored(place), &mut self.stored);
        }
        self.write(instruction, info, result);
    }

    /// Returns the sources of the instruction's results if it makes no load.
    fn operands(&self, instruction: &Instruction, info: &InstructionInfo) -> Sources {
        let is_operand = |register: Register| {
            let operands = 0..instruction.op_count();
            let mut registers = operands
                .filter(|&operand| instruction.op_kind(operand) == OpKind::Register)
                .map(|operand| instruction.op_register(operand).full_register());
            registers.any(|operand| operand == register)
        };
        let accessed = info.used_memory().iter().filter(|used| is_accessed(used));
        let mut all = Sources::default();
        for used in info
            .used_registers()
            .iter()
            .filter(|used| reads(used.access()))
        {
            let register = used.register().full_register();
            if register == Register::RCX && instruction.is_string_instruction() {
                continue;
            }
            let is_address = accessed.clone().any(|used| is_address_of(used, register));
            if !is_address || is_operand(register) {
                all = all.and(self.of(register));
            }
        }
        match instruction.rflags_read() & RESULT_FLAGS {
            0 => all,
            _ => all.and(self.holds[FLAGS]),
        }
    }

    /// Stores the result's sources for the registers and flags that the instruction writes.
    fn write(&mut self, instruction: &Instruction, info: &InstructionInfo, result: Sources) {
        let memory = info.used_memory();
        for used in info
            .used_registers()
            .iter()
            .filter(|used| writes(used.access()))
        {
            let (written, register) = (used.register(), used.register().full_register());
            let Some(number) = holder(register) else {
                continue;
            };
            // The address and count registers of a string instruction.
            let moves_on = instruction.is_string_instruction()
                && (memory.iter().any(|used| is_address_of(used, register))
                    || register == Register::RCX);
            if number == RSP || moves_on {
                continue;
            }
            let is_conditional =
                matches!(used.access(), OpAccess::CondWrite | OpAccess::ReadCondWrite);
            let keeps_some = written.is_gpr8() || written.is_gpr16() || is_conditional;
            self.holds[number] = match keeps_some {
                true => result.and(self.holds[number]),
                false => result,
            };
        }
        if instruction.mnemonic() == Mnemonic::Syscall {
            self.holds[0] = Sources::default();
        }
        if instruction.rflags_modified() & RESULT_FLAGS != 0 {
            self.holds[FLAGS] = result;
        }
    }

    fn of(&self, register: Register) -> Sources {
        holder(register.full_register()).map_or(Sources::default(), |number| self.holds[number])
    }

    fn finish(self) -> Vec<Dependence> {
        let mut all = self.addresses;
        all.extend(self.stored);
        let at_first = Flow::new().holds;
        for number in (0..GENERAL).filter(|&number| self.holds[number] != at_first[number]) {
            let of = Dependent::Register(number as u8);
            match self.holds[number] == Sources::default() {
                true => all.push(Dependence {
                    of,
                    from: Source::Nothing,
                }),
                false => self.holds[number].push(of, &mut all),
            }
        }
        all
    }
}

/// Returns the index in `holds` for a register.
fn holder(register: Register) -> Option<usize> {
    if register.is_gpr64() {
        return Some(register.number());
    }
    let is_vector = register.is_vector_register() && register.number() < GENERAL;
    is_vector.then(|| GENERAL + register.number())
}

/// LEA and similar instructions have memory operands that they do not access.
fn is_accessed(used: &UsedMemory) -> bool {
    reads(used.access()) || writes(used.access())
}

fn is_address_of(used: &UsedMemory, register: Register) -> bool {
    [used.base(), used.index()]
        .iter()
        .any(|of| *of != Register::None && of.full_register() == register)
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

#[cfg(test)]
mod tests;
