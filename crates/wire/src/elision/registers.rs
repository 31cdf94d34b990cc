//! Symbolic registers: each register of a code block holds an unknown origin plus a distance.

use iced_x86::{Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind, Register, UsedMemory};

/// A value that is only known relative to others.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Value {
    /// Equal numbers are the same unknown.
    unknown: u32,
    distance: i64,
}

/// The sixteen general registers.
pub struct Registers {
    values: [Value; COUNT],
    /// Number of unknowns.
    unknowns: u32,
}

const COUNT: usize = 16;

/// The address of an access, relative to an origin. Addresses with the same origin can be compared.
#[derive(Clone, Copy)]
pub struct RelativeAddress {
    /// `None` for an absolute address.
    pub origin: Option<Origin>,
    /// Distance from the origin.
    pub distance: i64,
}

/// A sum of unknowns: of a base and of a scaled index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    base: Option<u32>,
    index: Option<(u32, u32)>,
}

impl Origin {
    /// Returns the general register with this initial value, if there is one.
    pub fn register(&self) -> Option<u8> {
        let base = self.base.filter(|_| self.index.is_none())?;
        u8::try_from(base)
            .ok()
            .filter(|&base| usize::from(base) < COUNT)
    }
}

impl Registers {
    /// Creates registers with unknown values.
    pub fn new() -> Registers {
        Registers {
            values: std::array::from_fn(|number| Value {
                unknown: number as u32,
                distance: 0,
            }),
            unknowns: COUNT as u32,
        }
    }

    /// Returns the address of an access of the next instruction; `None` if it depends on more than
    /// general registers.
    pub fn place(&self, memory: &UsedMemory) -> Option<RelativeAddress> {
        let mut place = RelativeAddress {
            origin: None,
            distance: memory.displacement().cast_signed(),
        };
        if matches!(memory.segment(), Register::FS | Register::GS) {
            return None;
        }
        let (mut base, mut index) = (None, None);
        if !matches!(memory.base(), Register::None | Register::RIP) {
            let value = self.values[number(memory.base())?];
            base = Some(value.unknown);
            place.distance = place.distance.wrapping_add(value.distance);
        }
        if memory.index() != Register::None {
            let value = self.values[number(memory.index())?];
            index = Some((value.unknown, memory.scale()));
            let scaled = value.distance.wrapping_mul(i64::from(memory.scale()));
            place.distance = place.distance.wrapping_add(scaled);
        }
        if base.is_some() || index.is_some() {
            place.origin = Some(Origin { base, index });
        }
        Some(place)
    }

    /// Executes an instruction; `info` describes it.
    pub fn execute(&mut self, instruction: &Instruction, info: &InstructionInfo) {
        let known = self.known_result(instruction);
        let stack_pointer = self.stack_pointer_after(instruction);
        let is_written = |access| {
            matches!(
                access,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
        };
        for used in info.used_registers() {
            let register = used.register().full_register();
            if is_written(used.access())
                && let Some(number) = number(register)
            {
                self.forget(number);
            }
        }
        if let Some(value) = stack_pointer {
            self.values[RSP] = value;
        }
        if let Some((number, value)) = known {
            self.values[number] = value;
        }
    }

    /// Sets all registers to unknown values.
    pub fn forget_all(&mut self) {
        (0..COUNT).for_each(|number| self.forget(number));
    }

    /// Returns the register whose initial value a register is derived from, and the distance;
    /// `None` if there is none.
    pub fn holds(&self, number: u8) -> Option<(u8, i64)> {
        let value = self.values[usize::from(number)];
        let first = u8::try_from(value.unknown).ok();
        let first = first.filter(|&first| usize::from(first) < COUNT)?;
        Some((first, value.distance))
    }

    fn forget(&mut self, number: usize) {
        self.values[number] = Value {
            unknown: self.unknowns,
            distance: 0,
        };
        self.unknowns += 1;
    }

    /// Returns the stack pointer after an instruction of the stack.
    fn stack_pointer_after(&self, instruction: &Instruction) -> Option<Value> {
        let pushes_or_pops = || {
            let distance = i64::from(instruction.stack_pointer_increment());
            Some(self.values[RSP].moved(distance))
        };
        match instruction.mnemonic() {
            Mnemonic::Leave => Some(self.values[RBP].moved(8)),
            Mnemonic::Pop if instruction.op0_register() == Register::RSP => None,
            Mnemonic::Push | Mnemonic::Pop | Mnemonic::Call | Mnemonic::Ret => pushes_or_pops(),
            _ => None,
        }
    }

    /// Returns the register that an instruction writes, and its value, if it is known.
    fn known_result(&self, instruction: &Instruction) -> Option<(usize, Value)> {
        if instruction.op0_kind() != OpKind::Register {
            return None;
        }
        let target = number(instruction.op0_register())?;
        let by = |distance: i64| Some((target, self.values[target].moved(distance)));
        let immediate = || match instruction.op1_kind() {
            OpKind::Immediate8to64 | OpKind::Immediate32to64 => {
                Some(instruction.immediate(1).cast_signed())
            }
            _ => None,
        };
        match instruction.mnemonic() {
            Mnemonic::Add => by(immediate()?),
            Mnemonic::Sub => by(immediate()?.wrapping_neg()),
            Mnemonic::Inc => by(1),
            Mnemonic::Dec => by(-1),
            Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => {
                let source = number(instruction.op1_register())?;
                Some((target, self.values[source]))
            }
            Mnemonic::Lea if instruction.memory_index() == Register::None => {
                let base = number(instruction.memory_base())?;
                let distance = instruction.memory_displacement64().cast_signed();
                Some((target, self.values[base].moved(distance)))
            }
            _ => None,
        }
    }
}

const RSP: usize = 4;
const RBP: usize = 5;

impl Value {
    fn moved(self, distance: i64) -> Value {
        Value {
            distance: self.distance.wrapping_add(distance),
            ..self
        }
    }
}

/// Returns the number of a 64-bit general register.
fn number(register: Register) -> Option<usize> {
    register.is_gpr64().then(|| register.number())
}
